"""A served channel from the first line to the end, with pipes of this process in place of a client."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from django.apps import AppConfig
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

import django_mcp
from django_mcp import default_server
from django_mcp.apps import SimpleMCPConfig
from django_mcp.transports import stdio_process
from django_mcp.transports.stdio_identity import UnusableUser
from django_mcp.transports.stdio_process import serve
from django_mcp.transports.stdio_streams import Channel
from tests.shop.mcp import gate

LIMIT = 30
COMMAND = "django_mcp.management.commands.mcp_stdio"


class Served:
    """Serves on this thread, for a client that runs on another one."""

    def __init__(self):
        self.stdin, self._stdin = (
            os.fdopen(fd, mode, 0) for fd, mode in zip(os.pipe()[::-1], ("wb", "rb"), strict=True)
        )
        self._stdout, self.stdout = (
            os.fdopen(fd, mode) for fd, mode in zip(os.pipe()[::-1], ("wb", "rb"), strict=True)
        )
        self.codes = []
        self.seconds = 0.0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for stream in (self.stdin, self._stdin, self._stdout, self.stdout):
            stream.close()

    def send(self, method, id=1, **params):
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
        self.stdin.write(json.dumps(message).encode() + b"\n")

    def receive(self):
        return json.loads(self.stdout.readline())

    def run(self, client, username=None):
        channel = Channel(stdin=self._stdin.fileno(), stdout=self._stdout.fileno())
        with ThreadPoolExecutor(1) as pool:
            played = pool.submit(client)
            # A client that fails must not be waited for.
            played.add_done_callback(lambda future: future.exception() and self.stdin.close())
            began = time.monotonic()
            with patch("logging.shutdown"):
                asyncio.run(serve(default_server, username, channel, self.codes.append))
            self.seconds = time.monotonic() - began
            played.result(LIMIT)


@pytest.fixture
def served():
    gate.reset()
    with Served() as served:
        yield served
    gate.opened.set()


@pytest.fixture
def short_grace():
    with override_settings(DJANGO_MCP={"SHUTDOWN_GRACE": 0.2}):
        yield


def call(served, tool, id=1):
    served.send("tools/call", id, name=tool, arguments={})


def test_it_ends_with_its_input(served):
    """STD-04, BL-098."""

    def client():
        call(served, "noargs", "a")
        assert served.receive()["id"] == "a"
        served.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
        served.stdin.close()
        assert served.receive()["id"] == 2

    served.run(client)
    assert served.codes == [0]


def test_work_that_ends_in_time_is_answered(served):
    def client():
        call(served, "block_at_gate")
        assert gate.entered.wait(LIMIT)
        served.stdin.close()
        gate.opened.set()
        assert served.receive()["result"]["content"][0]["text"] == "through True"

    served.run(client)


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("tool", ["wait_at_gate", "block_at_gate"])
def test_work_that_does_not_end_is_given_up(served, tool):
    """BL-098."""

    def client():
        call(served, tool)
        assert gate.entered.wait(LIMIT)
        served.stdin.close()

    served.run(client)
    assert (served.codes, gate.outcome) == ([0], "cancelled" if tool == "wait_at_gate" else None)
    assert served.seconds < 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_by_a_signal_and_a_second_one_cuts_the_grace_short(served, number):
    """STD-05, BL-098."""

    def client():
        call(served, "wait_at_gate")
        assert gate.entered.wait(LIMIT)
        os.kill(os.getpid(), number)
        served.send("server/discover", "still")
        assert served.receive()["id"] == "still"
        os.kill(os.getpid(), number)

    served.run(client)
    assert (served.codes, gate.outcome) == ([0], "cancelled")
    assert served.seconds < 2


def test_it_ends_when_nobody_reads_its_output(served):
    """BL-098."""

    def client():
        served.stdout.close()
        served.send("server/discover")

    served.run(client)
    assert served.codes == [0]


def test_it_works_where_signals_cannot_be_handled(served):
    def client():
        served.send("server/discover", 7)
        assert served.receive()["id"] == 7
        served.stdin.close()

    with patch("asyncio.SelectorEventLoop.add_signal_handler", side_effect=NotImplementedError):
        served.run(client)


def test_a_writer_that_breaks_after_the_end_disturbs_nobody():
    async def main():
        return stdio_process._Process()

    process = asyncio.run(main())
    process.end_soon()
    assert not process.ending.is_set()


@pytest.mark.django_db(transaction=True)
def test_an_unknown_user_is_told_before_anything_is_served(served):
    with pytest.raises(UnusableUser):
        served.run(served.stdin.close, "nobody")


class TestCommand:
    def run(self, *arguments):
        async def serve(*arguments):
            self.served = arguments

        with (
            patch(f"{COMMAND}.take_over", return_value="channel"),
            patch("django_mcp.transports.stdio_process.serve", serve),
        ):
            call_command("mcp_stdio", *arguments, stdout=StringIO(), stderr=StringIO())
        return self.served

    def test_it_serves_the_default_server_to_nobody_in_particular(self):
        assert self.run() == (default_server, None, "channel")

    def test_it_takes_a_user(self):
        assert self.run("--user", "alice") == (default_server, "alice", "channel")

    def test_a_server_may_be_made_where_it_is_mounted(self, monkeypatch):
        server = object()

        def mount(name):
            monkeypatch.setitem(sys.modules["django_mcp.servers"]._servers, "mounted", server)
            return ModuleType(name)

        with patch("django_mcp.discovery.import_module", side_effect=mount):
            assert self.run("--server", "mounted") == (server, None, "channel")

    def test_an_unknown_server_is_told_with_the_known_ones(self):
        with pytest.raises(CommandError, match=r"No server is named 'nowhere'\. Known: default"):
            self.run("--server", "nowhere")

    def test_a_site_need_not_have_urls(self):
        with override_settings():
            del settings.ROOT_URLCONF
            assert self.run() == (default_server, None, "channel")
            with pytest.raises(CommandError, match="No server is named"):
                self.run("--server", "nowhere")

    def test_an_unknown_user_is_told(self):
        with (
            patch("django_mcp.transports.stdio_process.serve", side_effect=UnusableUser("No user.")),
            patch(f"{COMMAND}.take_over"),
            pytest.raises(CommandError, match=r"No user\."),
        ):
            call_command("mcp_stdio", stdout=StringIO(), stderr=StringIO())

    @pytest.mark.parametrize(
        ("arguments", "times"), [(["manage.py", "mcp_stdio"], 1), (["manage.py", "migrate"], 0), ([], 0)]
    )
    def test_the_app_takes_the_streams_before_anything_else_starts(self, arguments, times, monkeypatch):
        """BL-029, STD-02."""
        monkeypatch.setattr(sys, "argv", arguments)
        with patch("django_mcp.apps.take_over") as taken:
            assert isinstance(SimpleMCPConfig("django_mcp", django_mcp), AppConfig)
        assert taken.call_count == times


def test_as_a_process_it_answers_and_ends():
    command = [sys.executable, "-m", "django", "mcp_stdio", "--settings", "tests.settings"]
    ping = b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\ngarbage\n'
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(command, cwd=root, input=ping, capture_output=True, timeout=30, check=False)
    assert (run.returncode, run.stderr) == (0, b"")
    assert [json.loads(line).get("id") for line in run.stdout.splitlines()] == [None, 1]
