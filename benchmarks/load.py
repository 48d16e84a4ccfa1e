"""Two load generators, each one process on the load's core: wrk where it is installed, else sockets in a loop.

python -m benchmarks.load PORT CONNECTIONS SECONDS < REQUEST       prints how many calls were answered, and seconds
"""

import itertools
import json
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from .processes import LOAD_CORE, ROOT, pinned_to
from .requests import FIRST_ID, Call

CONNECTIONS = 16


def generator() -> str:
    return "wrk" if shutil.which("wrk") else "sockets"


def put_load(call: Call, port: int, seconds: float) -> tuple[int, float]:
    """How many calls were answered in how many seconds, on 16 connections kept alive.

    Raises ``RuntimeError`` for any answer but 200.
    """
    run = _wrk if generator() == "wrk" else _sockets
    return run(call, port, seconds, pinned_to(LOAD_CORE))


def _wrk(call: Call, port: int, seconds: float, pinned: list[str]) -> tuple[int, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_script(call))
        script.flush()
        options = ["--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{max(1, round(seconds))}s"]
        command = [*pinned, "wrk", *options, "--script", script.name, f"http://127.0.0.1:{port}{call.path}"]
        output = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(f"wrk saw errors:\n{output}")
    return read_wrk(output)


def read_wrk(output: str) -> tuple[int, float]:
    """The calls and the seconds that wrk tells of."""
    calls = re.search(r"(\d+) requests in ", output)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if calls is None or rate is None or float(rate[1]) == 0:
        raise RuntimeError(f"wrk counted no requests:\n{output}")
    return int(calls[1]), int(calls[1]) / float(rate[1])


def _script(call: Call) -> str:
    before, after = (json.dumps(part) for part in call.around_id)
    lines = ['wrk.method = "POST"']
    lines += [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in call.headers.items()]
    lines += [
        f"local before, after, id = {before}, {after}, {FIRST_ID}",
        "request = function()",
        "  id = id + 1",
        '  return wrk.format(nil, nil, nil, before .. string.format("%d", id) .. after)',
        "end",
    ]
    return "\n".join(lines)


def _sockets(call: Call, port: int, seconds: float, pinned: list[str]) -> tuple[int, float]:
    head = [f"POST {call.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(call.body)}\r\n"]
    head += [f"{name}: {value}\r\n" for name, value in call.headers.items()]
    request = "".join([*head, "\r\n"]).encode() + call.body
    command = [*pinned, sys.executable, "-m", "benchmarks.load", str(port), str(CONNECTIONS), str(seconds)]
    run = subprocess.run(command, input=request, cwd=ROOT, capture_output=True, timeout=seconds + 60, check=True)
    calls, passed = run.stdout.split()
    return int(calls), float(passed)


def _loop(port: int, connections: int, seconds: float, request: bytes) -> tuple[int, float]:
    before, _, after = request.partition(b"%d" % FIRST_ID)
    ids = itertools.count(FIRST_ID)
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"%b%d%b" % (before, next(ids), after))
        selector.register(connection, selectors.EVENT_READ, data=(connection, bytearray()))
    calls = 0
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        for key, _ in selector.select(timeout=1):
            connection, answer = key.data
            answer.extend(connection.recv(65536))
            if _is_whole(answer):
                calls += 1
                answer.clear()
                connection.sendall(b"%b%d%b" % (before, next(ids), after))
    for key in list(selector.get_map().values()):
        key.data[0].close()
    return calls, passed


def _is_whole(answer: bytearray) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"Not answered with 200: {bytes(answer[:200])!r}")
    head = bytes(answer[:end]).lower()
    if b"chunked" in head:
        return answer.endswith(b"0\r\n\r\n")
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    return len(answer) >= end + 4 + length


if __name__ == "__main__":
    print(*_loop(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.stdin.buffer.read()))
