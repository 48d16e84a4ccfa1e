"""The stdio door as a process: what only pipes, signals and file descriptors show."""

import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from .stdio_process import ROOT, StdioProcess

pytestmark = pytest.mark.integration

NOISY = "tests.conformance.noisy.settings"
BUGS = ("--server", "bugs")
NOISY_SERVER = ("--server", "noisy")


def ended_within(process, seconds):
    began = time.monotonic()
    code = process.wait()
    took = time.monotonic() - began
    assert took < seconds, f"It took {took:.1f} s"
    return code


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nothing_but_messages_reaches_standard_output(unbuffered):
    """STD-03, BL-029, STD-01, STD-02."""
    environment = {"PYTHONUNBUFFERED": unbuffered, "PYTHONWARNINGS": "default"}
    with StdioProcess(*NOISY_SERVER, "--verbosity", "2", settings=NOISY, **environment) as process:
        process.initialize()
        assert process.call("noisy") == "done"
        assert process.call("noisy", modern=True) == "done"
        assert process.close() == 0
        assert len(process.lines) == 3
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in process.lines)
        strays = (
            "ready, mcp.py, print 😀, sys.stdout.write, buffer, os.write, stderr, logging, warnings, subprocess, system"
        )
        for stray in strays.split(", "):
            assert f"stray: {stray}\n" in process.errors, stray
        assert "stray: check" not in process.errors


def test_tools_and_their_children_cannot_read_what_the_client_sends():
    """BL-029."""
    with StdioProcess(*NOISY_SERVER, settings=NOISY) as process:
        process.send(
            process.request("tools/call", {"name": "eat_stdin"}, 1, modern=True),
            process.request("server/discover", None, 2, modern=True),
        )
        answers = {answer["id"]: answer["result"] for answer in (process.receive(), process.receive())}
        assert answers[1]["content"][0]["text"] == repr(("", b"", b""))
        assert answers[2]["supportedVersions"]


@pytest.mark.parametrize("locale", [{"PYTHONIOENCODING": "cp1252"}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_lines_are_utf_8_with_bare_line_feeds_whatever_the_locale(locale):
    """BL-031, BL-036."""
    with StdioProcess(*NOISY_SERVER, settings=NOISY, **locale) as process:
        first, second = process.request("ping"), process.request("ping")
        process.write(json.dumps(first).encode() + b"\r\n" + json.dumps(second).encode() + b"\r\n")
        assert [process.receive()["result"], process.receive()["result"]] == [{}, {}]
        text = json.dumps(process.request("tools/call", {"name": "odd_text"}, "z😀", modern=True)).encode()
        for start in range(0, len(text), 50):
            process.write(text[start : start + 50])
        process.write(b"\n")
        answer = process.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"][1:]) == ("z😀", "😀")
        assert process.call("noisy", modern=True) == "done"
        assert process.close() == 0
        assert not any(b"\r" in line for line in process.lines)


def test_bad_lines_are_answered_once_and_survived():
    """BL-008, BL-018, BL-030, BL-100."""
    deep = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + '{"a":' * 5000 + "1" + "}" * 5001
    answered = {
        b"garbage": -32700,
        b'"str"': -32600,
        b"42": -32600,
        b"null": -32600,
        b"{}": -32600,
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}': -32600,
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":null}': -32602,
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}': -32600,
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}': -32600,
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': -32600,
        b"\xff\xfe": -32700,
        b"[" * 20000 + b"]" * 20000: -32700,
        deep.encode(): -32700,
        b"[]": -32600,
        b'{"jsonrpc":"2.0","id":4,"method":"no/such"}': -32600,
    }
    silent = [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":8,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"make_user","arguments":{"name":"x"}}}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":[]}',
        b'{"jsonrpc":"2.0","method":"initialize"}',
        b'{"jsonrpc":"2.0","method":"ping"}',
    ]
    with StdioProcess(*BUGS) as process:
        for line, code in answered.items():
            process.write(line + b"\n")
            assert process.receive()["error"]["code"] == code, line[:80]
        process.write(b"\n".join(silent) + b"\n" + b"garbage\n" * 100)
        assert {process.receive()["error"]["code"] for _ in range(100)} == {-32700}
        process.write(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        assert process.receive() == {"jsonrpc": "2.0", "id": 9, "result": {}}
        process.write(b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}')  # the end of the line is missing
        assert process.close() == 0
        assert process.receive()["id"] == 9007199254740993
        assert process.receive() is None


def test_ten_thousand_calls_keep_memory_flat():
    with StdioProcess(*BUGS) as process:
        process.manage("migrate", "--verbosity", "0", "--skip-checks")
        process.initialize()

        def measure():
            answer = process.ask("tools/call", {"name": "process"}, modern=True)
            return answer["result"]["structuredContent"]

        def call(times):
            for _ in range(times // 100):
                process.send(*(process.request("tools/call", {"name": "count_users"}) for _ in range(100)))
                texts = {process.receive()["result"]["content"][0]["text"] for _ in range(100)}
                assert len(texts) == 1

        call(1000)
        before = measure()
        began = time.monotonic()
        call(10_000)
        seconds = time.monotonic() - began
        after = measure()
        assert after["memory"] - before["memory"] < 2_000_000
        assert after["tasks"] == before["tasks"]
        # A second thread of the store may have met the database: its file and two of the log.
        assert after["files"] <= before["files"] + 3
        assert after["threads"] <= before["threads"] + 1
        print(f"{10_000 / seconds:.0f} calls/s, {(after['memory'] - before['memory']) / 1024:.0f} KiB more")
        assert process.close() == 0


def test_two_hundred_concurrent_calls_are_answered_with_their_own_ids():
    """STD-09, RPC-03."""
    with StdioProcess(*BUGS) as process:
        process.manage("migrate", "--verbosity", "0", "--skip-checks")
        process.initialize()
        tools = ("count_users", "acount_users", "to_async", "to_sync", "own_block")  # BL-086
        ids = [index if index % 2 else str(index) for index in range(200)]
        process.send(
            *(
                process.request("tools/call", {"name": tools[index % 5]}, id, modern=index % 3 == 0)
                for index, id in enumerate(ids)
            )
        )
        answers = [process.receive() for _ in ids]
        assert sorted((answer["id"] for answer in answers), key=str) == sorted(ids, key=str)
        assert len({answer["result"]["content"][0]["text"] for answer in answers}) == 1
        assert process.close() == 0


def test_sleeping_calls_run_side_by_side():
    with StdioProcess(*BUGS) as process:
        began = time.monotonic()
        process.send(
            *(
                process.request("tools/call", {"name": "slow", "arguments": {"seconds": 2}}, modern=True)
                for _ in range(8)
            )
        )
        assert all(process.receive()["result"]["content"][0]["text"] == "slept" for _ in range(8))
        assert time.monotonic() - began < 16  # one after the other


def test_calls_that_end_as_they_are_cancelled_leave_the_process_well():
    """BL-027."""
    with StdioProcess(*BUGS) as process:
        process.initialize()
        for index in range(300):
            arguments = {"label": str(index), "seconds": 0.05}
            process.send(process.request("tools/call", {"name": "aslow", "arguments": arguments}, f"c{index}"))
            time.sleep(0.045 + index % 11 / 1000)
            process.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"c{index}"}})
        process.send(process.request("ping", id="last"))
        while process.receive()["id"] != "last":
            pass
        ids = [json.loads(line)["id"] for line in process.lines]
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize("tool", ["slow", "aslow"])
def test_the_end_of_input_ends_the_process_though_a_tool_sleeps(tool):
    """BL-098, STD-04."""
    with StdioProcess(*BUGS) as process:
        arguments = {"seconds": 60, **({"label": "x"} if tool == "aslow" else {})}
        process.send(process.request("tools/call", {"name": tool, "arguments": arguments}, modern=True))
        assert process.ask("tools/call", {"name": "outcome", "arguments": {"label": "y"}}, modern=True)
        process.stdin.close()
        assert ended_within(process, 30) == 0
        assert "Traceback" not in process.errors


def test_work_that_ends_soon_is_answered_after_the_end_of_input():
    with StdioProcess(*BUGS) as process:
        process.send(process.request("tools/call", {"name": "slow", "arguments": {"seconds": 1}}, "w", modern=True))
        process.stdin.close()
        assert process.receive()["id"] == "w"
        assert ended_within(process, 30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_signals_end_the_process(number, busy):
    """BL-098, STD-05."""
    with StdioProcess(*BUGS) as process:
        if busy:
            process.send(process.request("tools/call", {"name": "slow", "arguments": {"seconds": 60}}, modern=True))
        process.ask("server/discover", modern=True)
        process.process.send_signal(number)
        if busy:  # and a second one at once
            time.sleep(0.2)
            process.process.send_signal(number)
        assert ended_within(process, 4.5) == 0
        assert "Traceback" not in process.errors


def test_a_client_that_reads_no_more_ends_the_process():
    """BL-098."""
    command = [sys.executable, "-m", "django", "mcp_stdio", "--settings", "tests.conformance.settings"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
    process.stdin.flush()
    assert process.wait(5) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_files_and_sockets_will_do(tmp_path):
    """STD-15."""
    command = [sys.executable, "-m", "django", "mcp_stdio", "--settings", "tests.conformance.settings"]
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(ping * 5000)
    command[-1] = NOISY
    with source.open("rb") as stdin, target.open("wb") as stdout:
        assert subprocess.run(command, cwd=ROOT, stdin=stdin, stdout=stdout, timeout=30, check=False).returncode == 0
    assert target.read_bytes() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n' * 5000
    command[-1] = "tests.conformance.settings"
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen(command, cwd=ROOT, stdin=theirs.fileno(), stdout=theirs.fileno()) as process:
        theirs.setblocking(False)  # the mode is shared, so the process has to cope
        theirs.close()
        ours.settimeout(20)
        ours.sendall(ping)
        assert ours.recv(1000) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(20) == 0


def test_two_processes_serve_at_the_same_time():
    with StdioProcess(*BUGS) as one, StdioProcess(*BUGS) as other, ThreadPoolExecutor() as pool:
        assert all(pool.map(lambda each: each.initialize()["result"], (one, other)))
        assert (one.close(), other.close()) == (0, 0)


def test_the_user_of_the_command_line_is_the_caller():
    """BL-099."""
    process = StdioProcess("--user", "alice", *NOISY_SERVER, settings=NOISY)
    process.manage("migrate", "--verbosity", "0", "--skip-checks")
    set_alice = "from django.contrib.auth.models import User; User.objects.update_or_create({}, username='alice')"
    process.manage("shell", "--verbosity", "0", "-c", set_alice.replace("{}", "{'is_active': True}"))
    with process:
        process.initialize()
        assert process.call("about") == "alice None True {}"
        assert process.call("about", modern=True) == "alice None False {}"
        process.manage("shell", "--verbosity", "0", "-c", set_alice.replace("{}", "{'is_active': False}"))
        time.sleep(1.1)
        assert process.ask("tools/list")["error"]["code"] == -32600
        assert process.close() == 0


@pytest.mark.parametrize("options", [("--user", "nobody"), ("--server", "nowhere")])
def test_a_command_line_that_cannot_be_served_fails_in_plain_words(options):
    process = StdioProcess(*options)
    process.manage("migrate", "--verbosity", "0", "--skip-checks")
    with process:
        assert process.wait() == 1
        assert process.lines == []
        assert process.errors.startswith("CommandError: ")
        assert len(process.errors.splitlines()) == 1
