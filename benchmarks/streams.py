"""What open streams cost: python -m benchmarks.streams --streams 5000 --fanout 1000

Memory, CPU and queries of idle streams of one uvicorn process, and how long one frame takes to reach many of them,
beside an ASGI application that does nothing else, and the official Python SDK. Then the time from publishing in
another process to arrival. A machine that is busy makes all of it dearer, CPU time too.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks import targets
from benchmarks.environments import Unavailable
from django_mcp.events.tail import POLL, WITH_BELL
from tests.conformance import streams

URI = "note://watched"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
ROUNDS = 50
WARM_UP = 5
SETTLE = 2  # seconds until what opening the streams has left is over
FILTER = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
GET = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"


def memory(pid: int) -> int:
    """Bytes that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def cpu(pid: int) -> float:
    """Seconds of a core so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def post(method: str, accept: str, params: dict[str, Any], name: str = "") -> bytes:
    """The bytes of a request of the modern era."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\nAccept: {accept}\r\n"
        f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nContent-Length: {len(body)}\r\n"
    )
    return f"{head}Mcp-Name: {name}\r\n\r\n".encode() + body if name else f"{head}\r\n".encode() + body


def listening() -> bytes:
    return post("subscriptions/listen", "application/json, text/event-stream", {"notifications": FILTER})


class Crowd:
    """Many connections that count what reaches them."""

    def __init__(self, port: int, request: bytes) -> None:
        self.port = port
        self.request = request
        self.times: list[float] = []
        self.mark = b"\0"
        self.transports: list[asyncio.Transport] = []
        self.opened = 0

    async def grow(self, count: int) -> None:
        loop = asyncio.get_running_loop()
        for start in range(0, count, 100):
            size = min(100, count - start)
            made = (loop.create_connection(lambda: _Client(self), "127.0.0.1", self.port) for _ in range(size))
            self.transports += [transport for transport, _ in await asyncio.gather(*made)]
            await until(lambda: self.opened >= start + size)  # noqa: B023 - awaited at once

    async def reached(self, count: int, mark: bytes, trigger: bytes) -> tuple[float, float]:
        """Milliseconds from the trigger until so many have what is marked, and from the first of them on."""
        self.times.clear()
        self.mark = mark
        began = time.perf_counter()
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(trigger)
        await until(lambda: len(self.times) >= count)
        writer.close()
        last = max(self.times)
        return (last - began) * 1000, (last - min(self.times)) * 1000

    def close(self) -> None:
        for transport in self.transports:
            transport.close()


class _Client(asyncio.Protocol):
    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(self.crowd.request)  # type: ignore[attr-defined]  # a base class of those that can

    def data_received(self, data: bytes) -> None:
        if not self.is_open and (b"acknowledged" in data or b": open" in data):
            self.is_open = True
            self.crowd.opened += 1
        if self.crowd.mark in data:
            self.crowd.times.append(time.perf_counter())


async def until(condition) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.002)


@asynccontextmanager
async def crowd_of(port: int, request: bytes, count: int) -> AsyncIterator[Crowd]:
    crowd = Crowd(port, request)
    try:
        await crowd.grow(count)
        yield crowd
    finally:
        crowd.close()
        await asyncio.sleep(0.5)


@dataclass(frozen=True, slots=True)
class Side:
    """Streams to a server, and what sends a frame with this mark to all of them."""

    port: int
    request: bytes
    mark: bytes
    trigger: bytes


async def fan_out(count: int, sides: Sequence[Side]) -> list[tuple[float, float]]:
    """Of each side, in turn again and again: the medians of what ``Crowd.reached`` gives."""
    async with AsyncExitStack() as stack:
        crowds = [await stack.enter_async_context(crowd_of(side.port, side.request, count)) for side in sides]
        rounds = []
        for _ in range(WARM_UP + ROUNDS):
            pairs = zip(crowds, sides, strict=True)
            rounds.append([await crowd.reached(count, side.mark, side.trigger) for crowd, side in pairs])
    return [
        (statistics.median(one[0] for one in times), statistics.median(one[1] for one in times))
        for times in zip(*rounds[WARM_UP:], strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Idle:
    """What streams cost while nothing happens: KiB each, percent of a core, and queries of the process."""

    used: float
    busy: float
    queries: int

    def __str__(self) -> str:
        return f"{self.used:.1f} KiB each, {self.busy:.2f} % of a core"


async def idle(server: targets.Server, request: bytes, options: argparse.Namespace) -> Idle:
    async with crowd_of(server.port, request, 100):
        pass
    before = memory(server.pid)
    async with crowd_of(server.port, request, options.streams):
        await asyncio.sleep(SETTLE)
        used = (memory(server.pid) - before) / options.streams / 1024
        sent, began = queries(server), cpu(server.pid)
        await asyncio.sleep(options.seconds)
        busy = (cpu(server.pid) - began) / options.seconds * 100
        return Idle(used, busy, queries(server) - sent)


def queries(server: targets.Server) -> int:
    """How many a site of ours has sent so far."""
    if server.site is None:
        return 0
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        connection.request("GET", "/queries")
        return int(connection.getresponse().read())


async def latency(port: int, site: Mapping[str, str], count: int) -> list[float]:
    """Milliseconds from publishing in another process to arrival, sorted."""
    stream = await streams.listen(port, {"toolsListChanged": True})
    environment = {**os.environ, **site}
    command = [sys.executable, "-m", "tests.conformance.publisher", "lists", str(count), "0.05"]
    publisher = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    arrived = []
    for _ in range(count // 2):  # every other one is about prompts
        await stream.event()
        arrived.append(time.time())
    published = [float(line) for line in publisher.communicate()[0].split()]
    await stream.close()
    return sorted((there - here) * 1000 for here, there in zip(published[::2], arrived, strict=True))


def tool_call() -> bytes:
    return post("tools/call", "application/json", {"name": "touch", "arguments": {}}, name="touch")


BARE_SEND = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"


def additions() -> float:
    """Seconds of ten million of them, which say how fast and how busy the machine is."""
    began, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--fanout", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60, help="for which idle streams are watched")
    options = parser.parse_args()
    os.environ["DJANGO_MCP_BENCHMARK_STREAMS"] = str(max(options.streams, options.fanout) + 500)
    print(f"ten million additions: {additions():.2f} s")
    print(f"{options.streams} idle streams for {options.seconds} s:")
    with targets.Servers() as servers:
        floor = servers.get(targets.BARE_STREAMS)
        print(f"  bare: {asyncio.run(idle(floor, GET, options))}", flush=True)
    with targets.Servers() as servers:
        own = servers.get(targets.OUR_STREAMS)
        show("ours on SQLite", asyncio.run(idle(own, listening(), options)), POLL["sqlite"], options)
        sides = (
            Side(own.port, listening(), b"resources/updated", tool_call()),
            Side(servers.get(targets.BARE_STREAMS).port, GET, b"xxx", BARE_SEND),
        )
        ours, bare = asyncio.run(fan_out(options.fanout, sides))
        times = asyncio.run(latency(own.port, own.site.env if own.site else {}, 200))
    with targets.Servers() as servers:
        try:
            on_postgres = servers.get(targets.OUR_STREAMS_POSTGRES)
            show("ours on PostgreSQL", asyncio.run(idle(on_postgres, listening(), options)), WITH_BELL, options)
            sdk = servers.get(targets.SDK_STREAMS)
            print(f"  official SDK: {asyncio.run(idle(sdk, listening(), options))}", flush=True)
        except Unavailable as error:
            print(f"  {error}")
    print(f"one update to {options.fanout} streams, first to last: {beside(ours[1], bare[1])}")
    print(f"from the request that publishes it: {beside(ours[0], bare[0])}")
    print(f"publish to arrival from another process: median {times[50]:.0f} ms, longest {times[-1]:.0f} ms")


def beside(own: float, bare: float) -> str:
    return f"{own:.1f} ms (bare {bare:.1f} ms, {own / bare:.2f}x)"


def show(name: str, cost: Idle, interval: float, options: argparse.Namespace) -> None:
    looks = options.seconds / interval
    print(f"  {name}: {cost}, {cost.queries} queries in {looks:.0f} looks at the log", flush=True)


if __name__ == "__main__":
    main()
