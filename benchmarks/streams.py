"""What open streams cost: python -m benchmarks.streams --streams 5000 --fanout 1000

Memory and CPU of idle streams of one uvicorn process, and how long one frame takes to reach many of them,
beside an ASGI application that does nothing else. Then the time from publishing in another process to arrival.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks import targets
from tests.conformance import streams

URI = "note://watched"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
IDLE = 20  # seconds
FILTER = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
GET = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"


def memory(pid: int) -> int:
    """Bytes that are in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def cpu(pid: int) -> float:
    """Seconds of a core so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def listening() -> bytes:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"notifications": FILTER, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"
        f"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


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


async def fan_out(port: int, request: bytes, count: int, mark: bytes, trigger: bytes) -> tuple[float, float]:
    async with crowd_of(port, request, count) as crowd:
        await crowd.reached(count, mark, trigger)
        times = [await crowd.reached(count, mark, trigger) for _ in range(15)]
        return statistics.median(one[0] for one in times), statistics.median(one[1] for one in times)


async def idle(port: int, pid: int, count: int, request: bytes) -> tuple[float, float]:
    """KiB a stream, and percent of a core while nothing happens."""
    async with crowd_of(port, request, 100):
        pass
    before = memory(pid)
    async with crowd_of(port, request, count):
        await asyncio.sleep(2)
        used = (memory(pid) - before) / count / 1024
        began = cpu(pid)
        await asyncio.sleep(IDLE)
        return used, (cpu(pid) - began) / IDLE * 100


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
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "touch", "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: touch\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


BARE_SEND = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--fanout", type=int, default=1000)
    options = parser.parse_args()
    os.environ["DJANGO_MCP_BENCHMARK_STREAMS"] = str(options.streams + 500)
    with targets.Servers() as servers:
        floor = servers.get(targets.BARE_STREAMS)
        bare_memory, bare_cpu = asyncio.run(idle(floor.port, floor.pid, options.streams, GET))
        bare = asyncio.run(fan_out(floor.port, GET, options.fanout, b"xxx", BARE_SEND))
    with targets.Servers() as servers:
        own = servers.get(targets.CONSUMER)
        environment = own.site.env if own.site else {}
        used, busy = asyncio.run(idle(own.port, own.pid, options.streams, listening()))
        ours = asyncio.run(fan_out(own.port, listening(), options.fanout, b"resources/updated", tool_call()))
        times = asyncio.run(latency(own.port, environment, 200))
    print(f"{options.streams} idle streams: {used:.1f} KiB each (bare {bare_memory:.1f}), {busy:.2f} % of a core")
    print(f"(bare {bare_cpu:.2f} %)")
    print(f"one update to {options.fanout} streams, first to last: {ours[1]:.0f} ms (bare {bare[1]:.0f} ms)")
    print(f"from the request that publishes it: {ours[0]:.0f} ms (bare {bare[0]:.0f} ms)")
    print(f"publish to arrival from another process: median {times[50]:.0f} ms, longest {times[-1]:.0f} ms")


if __name__ == "__main__":
    main()
