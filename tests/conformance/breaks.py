"""Proves that streams which break lose nothing: clients hang up at random, half of them without the server noticing.

    DATABASE_URL=postgres://postgres@127.0.0.1:5432/breaks python -m tests.conformance.breaks --streams 2000

A break that goes unnoticed is a connection that stays open and that nobody reads. Every client goes on at whichever
worker it meets, and has to get every event once, in order, and the answer.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from . import streams
from .served import served

WORKERS = 3
AT_ONCE = 20
EVENTS = 12
PAUSE = 0.05
RETRY = 0.3  # seconds at most until a client comes back
LIMIT = 120  # seconds that a stream may take


class Client:
    """One call, from the request to the answer."""

    def __init__(self, port: int, session: dict[str, str], number: int, chance: random.Random) -> None:
        self.port = port
        self.session = session
        self.number = number
        self.chance = chance
        self.progress: list[int] = []
        self.workers: set[str] = set()
        self.breaks: Counter[str] = Counter()
        self.answer: Any = None
        self.last = ""
        self.begun: Any = ""

    async def call(self, events: int = EVENTS, pause: float = PAUSE, closes: int = 0) -> streams.SSE:
        arguments = {"events": events, "pause": pause, "closes": closes}
        params = {"name": "test_breaking_stream", "arguments": arguments, "_meta": {"progressToken": self.number}}
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.session}
        stream = await streams.SSE.open(self.port, "POST", headers, json.dumps(message).encode())
        assert stream.headers["content-type"].startswith("text/event-stream"), stream.headers
        return stream

    async def come_back(self) -> streams.SSE:
        stream = await streams.get(self.port, self.session, self.last)
        self.begun = stream.seen
        return stream

    async def read(self, stream: streams.SSE, most: int) -> bool:
        """Read at most so many events; whether the stream goes on."""
        try:
            for _ in range(most):
                event = await stream.event()
                self.take(event)
                if self.answer is not None:
                    return False
        except (EOFError, OSError, asyncio.IncompleteReadError):
            if stream.seen:
                self.last = stream.seen[-1].id or self.last
            return False
        return True

    def take(self, event: streams.Event) -> None:
        self.last = event.id
        if "method" not in event.data:
            assert event.data["id"] == self.number
            self.answer = event.data
        else:
            self.progress.append(event.data["params"]["progress"])
            self.workers.add(event.data["params"]["message"])

    async def break_off(self, stream: streams.SSE) -> None:
        """The server sees half of it."""
        kind = self.chance.choice(["seen", "unseen"])
        self.breaks[kind] += 1
        if kind == "seen":
            await stream.close()
        await asyncio.sleep(self.chance.uniform(0, RETRY))

    async def run(self, events: int = EVENTS) -> None:
        stream = await self.call(events, closes=self.chance.choice([0, 0, 2]))
        while self.answer is None:
            if await self.read(stream, self.chance.randint(1, 8)):
                await self.break_off(stream)
            elif self.answer is None:
                self.breaks["closed"] += 1
            if self.answer is None:
                stream = await self.come_back()
        # Once more, from where it had got to and from the beginning.
        key = self.last.partition(".")[0]
        assert await (await self.come_back()).end() == []
        self.last = f"{key}.0"
        again = Client(self.port, self.session, self.number, self.chance)
        await again.read(await self.come_back(), events + 1)
        assert (again.progress, again.answer) == (self.progress, self.answer), (again.progress, again.answer)


async def run_all(port: int, count: int, seed: int) -> Counter[str]:
    """What happened, and what went wrong."""
    sessions = [await open_session(port) for _ in range(5)]
    found: Counter[str] = Counter()

    async def one_by_one(numbers: Iterator[int]) -> None:
        for number in numbers:
            client = Client(port, sessions[number % len(sessions)], number, random.Random(seed * 1_000_003 + number))
            try:
                async with asyncio.timeout(LIMIT):
                    await client.run()
            except TimeoutError:
                print(
                    f"{number} hangs after {client.last}: {client.progress} {client.breaks} {client.begun}", flush=True
                )
                found["hung"] += 1
                continue
            found.update(client.breaks, streams=1, breaks=client.breaks.total())
            good = "result" in client.answer and client.progress == list(range(1, EVENTS + 1))
            if not good:
                found["bad"] += 1
                print(number, client.progress, client.answer, client.breaks, flush=True)

    numbers = iter(range(1, count + 1))
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_by_one(numbers))
    return found


async def open_session(port: int) -> dict[str, str]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "breaks", "version": "1"}}
    headers, _ = await streams.ask(port, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, {})
    return {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--server", default="uvicorn")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    found: Counter[str] = Counter()

    async def steps() -> None:
        found.update(await run_all(site.port, options.streams, options.seed))

    with served(options.server, WORKERS) as site:
        streams.run(steps())
    print(f"seed {options.seed} {os.environ.get('DATABASE_URL', 'sqlite')}: {dict(found)}")
    sys.exit(1 if found["bad"] or found["hung"] or found["streams"] != options.streams else 0)


if __name__ == "__main__":
    main()
