"""Real servers that are told to end while they are busy."""

import http.client
import json
import threading
import time

import pytest

from . import wire
from .served import served

pytestmark = pytest.mark.integration

SERVERS = ("granian", "hypercorn", "uvicorn")
STOP_LIMIT = 60
CALL = {"name": "slow", "arguments": {"seconds": 40}}


@pytest.mark.parametrize("server", SERVERS)
def test_server_ends_in_time_while_a_tool_runs(server):
    """SHUTDOWN_GRACE holds for a call whose client still waits.

    Daphne drops its connections at once, and hypercorn those that are open after its own three seconds.
    """
    with served(server) as site:
        stream = wire.open_stream(wire.open_session(site.port))
        assert stream.getresponse().status == 200
        answers = []
        caller = threading.Thread(target=lambda: answers.append(_call(site.port)))
        caller.start()
        time.sleep(2)
        began = time.monotonic()
        site.process.terminate()
        site.process.wait(STOP_LIMIT)
        assert time.monotonic() - began < STOP_LIMIT
        caller.join(STOP_LIMIT)
        stream.close()
    if server != "hypercorn":
        status, body = answers[0]
        assert (status, json.loads(body)["error"]["code"]) == (503, -32603)


def _call(port):
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, "_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "slow",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=wire.LIMIT)
    connection.request("POST", "/bugs", json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, answer
