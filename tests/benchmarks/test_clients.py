"""The clients of the benchmarks ask what they should, and take no wrong answer for a right one."""

import asyncio
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from benchmarks.apps import bare
from benchmarks.apps.catalogue import NAMES
from benchmarks.in_process import REPEATS, cost
from benchmarks.load import _script, read_wrk
from benchmarks.requests import FIRST_ID, Call, is_catalogue, modern_call, modern_list, modern_stream, read_message
from benchmarks.stdio import calls_in_turn, first_answer

CALL = modern_call("add_async")
ANSWERING = """
import sys
from benchmarks.apps.bare import answer
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(answer(line) + b"\\n")
    sys.stdout.flush()
"""
SERVER = [sys.executable, "-c", ANSWERING]


def answer(result, number=FIRST_ID):
    return {"jsonrpc": "2.0", "id": number, "result": result}


SUM = answer({"structuredContent": 5})
PROGRESS = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "p", "progress": 1}}


@pytest.mark.parametrize(
    "message",
    [
        None,
        "not JSON",
        {"jsonrpc": "2.0", "id": FIRST_ID, "error": {"code": -32603}},
        answer("no object"),
        answer({"structuredContent": 6}),
        answer({"structuredContent": 5, "isError": True}),
        answer({"structuredContent": 5}, number=1),
    ],
)
def test_a_wrong_answer_is_seen(message):
    assert not CALL.is_right_answer(message)


def test_the_sum_is_right_bare_or_wrapped():
    assert CALL.is_right_answer(answer({"structuredContent": 5}))
    assert CALL.is_right_answer(answer({"structuredContent": {"result": 5}}))


@pytest.mark.parametrize(("messages", "is_right"), [([PROGRESS, SUM], True), ([SUM], False), ([PROGRESS], False)])
def test_a_stream_is_right_if_it_tells_of_progress_and_then_the_sum(messages, is_right):
    text = "".join(f"event: message\ndata: {json.dumps(message)}\n\n" for message in messages)
    assert modern_stream().is_right_answer(read_message("text/event-stream", text.encode())) is is_right


def test_a_list_is_right_if_it_holds_every_tool_on_one_page():
    tools = [{"name": name} for name in NAMES]
    assert is_catalogue({"tools": tools})
    assert not is_catalogue({"tools": tools, "nextCursor": "more"})
    assert not is_catalogue({"tools": tools[1:]})


def test_the_numbers_of_wrk_are_read():
    calls, seconds = read_wrk("  12000 requests in 3.00s, 5MB read\nRequests/sec:   4000.00\n")
    assert (calls, seconds) == (12000, 3.0)


def test_no_requests_are_an_error():
    with pytest.raises(RuntimeError, match="counted no requests"):
        read_wrk("  0 requests in 3.00s, 0B read\nRequests/sec:      0.00\n")


def test_each_request_of_wrk_has_an_id_of_its_own():
    script = _script(modern_call("add_async", "/token", "mcp_secret"))
    assert 'wrk.headers["Authorization"] = "Bearer mcp_secret"' in script
    assert f"local before, after, id = {json.dumps(CALL.around_id[0])}" in script
    assert str(FIRST_ID) not in "".join(CALL.around_id)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        content = bare.answer(body) if self.path == "/mcp" else b"nothing here"
        self.send_response(200 if self.path == "/mcp" else 404)
        self.send_header("Content-Type", "application/json" if self.path == "/mcp" else "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *args):
        """Nowhere."""


@pytest.fixture
def port():
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(30)


def test_an_answer_over_http_is_checked(port):
    CALL.check(port)
    with pytest.raises(RuntimeError, match="answered 404 nothing here"):
        modern_list().check(port)


def test_calls_over_stdio_are_counted_with_their_cpu_time():
    calls, passed, cpu = calls_in_turn(SERVER, {}, CALL, 0.05)
    assert calls > 0
    assert passed >= 0.05
    assert cpu is not None


def test_a_start_lasts_until_the_first_answer():
    passed, cpu = first_answer(SERVER, {}, CALL)
    assert passed > 0
    assert cpu is not None


def test_a_wrong_answer_over_stdio_is_an_error():
    never = Call(CALL.headers, CALL.body, is_right=lambda result: False)
    with pytest.raises(RuntimeError, match="was the answer to"):
        first_answer(SERVER, {}, never)


def test_a_program_that_ends_is_an_error_with_what_it_said():
    with pytest.raises(RuntimeError, match=r"(?s)ended with 1 instead of an answer.*no such module"):
        first_answer([sys.executable, "-c", "raise SystemExit('no such module')"], {}, CALL)


def test_the_cost_in_process_is_measured_for_each_repeat():
    costs = asyncio.run(cost(bare.app, CALL, 3))
    assert len(costs) == REPEATS
    assert all(each >= 0 for each in costs)


def test_a_wrong_answer_in_process_is_an_error():
    never = Call(CALL.headers, CALL.body, is_right=lambda result: False)
    with pytest.raises(RuntimeError, match="The answer was 200"):
        asyncio.run(cost(bare.app, never, 1))
