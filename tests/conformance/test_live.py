"""Live data over several workers: every stream gets every event once, whoever published it and whoever died.

Runs on the database of DATABASE_URL, on SQLite without it; with a channel layer where REDIS_URL names one.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from . import streams
from .postgres import database
from .publisher import LONG, URI
from .served import served
from .test_workers import _children, _workers_of

pytestmark = pytest.mark.integration

WORKERS = 4
FLOOD = 4000  # large events: more than the buffers of a connection hold
STREAMS = int(os.environ.get("LIVE_STREAMS", "50"))  # of each kind
EVENTS = int(os.environ.get("LIVE_EVENTS", "500"))  # of all publishers together
KINDS = ("tools.list_changed", "prompts.list_changed", "resources.updated")
FILTER = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [URI]}
# uvicorn runs uvloop's loop where that is installed
SERVERS = pytest.mark.parametrize(
    "server",
    ["uvicorn", "uvicorn-asyncio", "daphne", "hypercorn", "granian", "gunicorn-asgi", "gunicorn-uvicorn"],
)


def publishing(url, what, count):
    """A process of its own that publishes: not one of the site's."""
    command = [sys.executable, "-m", "tests.conformance.publisher", what, str(count)]
    environment = {**os.environ, "DATABASE_URL": url}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def kinds_of(events):
    return [event.data["method"].split("/", 1)[1] for event in events]


def is_whole(events, count):
    """Every event once, and each publisher's in its order."""
    kinds = kinds_of(events)
    lists = [kind for kind in kinds if kind.endswith("list_changed")]
    expected = ["tools/list_changed", "prompts/list_changed"] * count
    return len(events) == count and lists == expected[: len(lists)] and len(lists) == count // 2


@pytest.fixture
def url(tmp_path):
    return os.environ.get("DATABASE_URL") or f"sqlite:///{tmp_path}/live.sqlite3"


def test_every_stream_gets_every_event_once(url):
    """Acceptance of live data: two publishers outside the site, streams of both eras over four workers."""

    async def scenario(port):
        sessions = await asyncio.gather(*(streams.open_session(port, URI) for _ in range(STREAMS)))
        gets = await asyncio.gather(*(streams.get(port, session) for session in sessions))
        listens = await asyncio.gather(*(streams.listen(port, FILTER) for _ in range(STREAMS)))
        publishers = [publishing(url, what, EVENTS // 2) for what in ("lists", "resource")]
        received = await asyncio.gather(*(stream.until(EVENTS) for stream in (*gets, *listens)))
        await asyncio.gather(*(asyncio.to_thread(one.wait, 60) for one in publishers))
        for events in received:
            assert is_whole(events, EVENTS)
        ids = {tuple(int(event.id.partition(".")[2]) for event in events) for events in received[:STREAMS]}
        assert [list(one) == sorted(set(one)) for one in ids] == [True]

    with served("uvicorn", WORKERS, DATABASE_URL=url) as site:
        streams.run(scenario(site.port))


class Follower:
    """A client that comes back with its last id whenever its stream breaks."""

    def __init__(self, port, session):
        self.found = []
        self.breaks = 0
        self.is_open = asyncio.Event()
        self._port = port
        self._session = session

    @property
    def numbers(self):
        return [int(event.id.partition(".")[2]) for event in self.found]

    async def follow(self):
        stream, last = None, ""
        while True:
            try:
                stream = await streams.get(self._port, self._session, last)
                self.is_open.set()
                while True:
                    self.found.append(await stream.event())
            except (OSError, EOFError, asyncio.IncompleteReadError, ValueError, IndexError, AssertionError):
                self.breaks += 1
                await asyncio.sleep(0.1)
            if stream is not None and stream.seen:
                last = stream.seen[-1].id


async def until(condition):
    async with asyncio.timeout(streams.LIMIT):
        while not condition():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def following(port):
    """Clients that follow what is published, all of them connected."""
    sessions = await asyncio.gather(*(streams.open_session(port, URI) for _ in range(STREAMS)))
    followers = [Follower(port, session) for session in sessions]
    tasks = [asyncio.create_task(one.follow()) for one in followers]
    try:
        await asyncio.gather(*(one.is_open.wait() for one in followers))
        yield followers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def test_a_worker_that_is_killed_costs_no_event(url):
    """Clients come back to another worker with their last id and get exactly what they missed."""

    async def scenario(site):
        async with following(site.port) as followers:
            publishers = [publishing(url, what, EVENTS // 2) for what in ("lists", "resource")]
            await until(lambda: all(len(one.found) > EVENTS // 20 for one in followers))
            for worker in _workers_of(site.process.pid, "uvicorn"):
                os.kill(worker, signal.SIGKILL)
                await asyncio.sleep(0.1)
                if any(one.breaks for one in followers):  # it had streams
                    break
            await until(lambda: all(len(one.found) >= EVENTS for one in followers))
            await asyncio.gather(*(asyncio.to_thread(one.wait, 60) for one in publishers))
        for one in followers:
            assert is_whole(one.found, EVENTS), len(one.found)
            assert len(set(one.numbers)) == EVENTS
        assert any(one.breaks for one in followers)

    with served("uvicorn", WORKERS, DATABASE_URL=url) as site:
        streams.run(scenario(site))


def test_a_restart_of_the_database_costs_no_event():
    """What committed reaches everybody, once and in order; the streams go on, or come back.

    LIVE_RESTART is a command that restarts the PostgreSQL server of DATABASE_URL. Without it all connections
    to the database are cut, again and again.
    """

    async def disturb(postgres):
        if command := os.environ.get("LIVE_RESTART"):
            process = await asyncio.create_subprocess_shell(command, stdout=subprocess.DEVNULL)
            assert await process.wait() == 0
            return
        for _ in range(10):
            await asyncio.to_thread(postgres.cut)
            await asyncio.sleep(0.1)

    async def scenario(site, postgres):
        async with following(site.port) as followers:
            listens = [await streams.listen(site.port, FILTER) for _ in range(10)]
            listening = [asyncio.create_task(stream.end()) for stream in listens]
            publishers = [publishing(postgres.url, what, EVENTS // 2) for what in ("lists", "resource")]
            await until(lambda: all(len(one.found) > EVENTS // 20 for one in followers))
            await disturb(postgres)
            await asyncio.gather(*(asyncio.to_thread(one.wait, 60) for one in publishers))
            query = f"SELECT seq FROM django_mcp_event WHERE kind IN {KINDS} ORDER BY seq"
            committed = [number for (number,) in postgres.rows(query)]
            assert len(committed) >= EVENTS
            await until(lambda: all(one.numbers[-1:] == committed[-1:] for one in followers))
            await until(
                lambda: all(
                    task.done() or len(stream.seen) > len(committed)
                    for stream, task in zip(listens, listening, strict=True)
                )
            )
            for task in listening:
                task.cancel()
        assert [one.numbers == committed for one in followers] == [True] * STREAMS
        for stream in listens:  # the first is the acknowledgement
            ended = stream.seen[-1].data.get("result", {}).get("resultType") == "complete"
            assert ended or len(stream.seen) == 1 + len(committed)

    with database() as postgres, served("uvicorn", WORKERS, DATABASE_URL=postgres.url) as site:
        streams.run(scenario(site, postgres))


def test_a_reader_that_is_slow_is_closed_and_delays_nobody(url):
    """SUB-12: while it reads nothing the others get everything, and nothing piles up for it."""

    async def read_slowly(port):
        """A subscription whose client takes nothing but the acknowledgement."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(streams.listening(port, {"resourceSubscriptions": [LONG]}))
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(streams.LIMIT):
            received = b""
            while not received.endswith(b"\n\n\r\n"):  # of the acknowledgement
                received += await loop.sock_recv(connection, 1000)
        return connection

    async def rest_of(connection):
        loop, size = asyncio.get_running_loop(), 0
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        async with asyncio.timeout(streams.LIMIT):
            with suppress(ConnectionError):
                while piece := await loop.sock_recv(connection, 65536):
                    size += len(piece)
        connection.close()
        return size

    def memory(site):
        [worker] = _children(site.process.pid)
        pages = int(Path(f"/proc/{worker}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    async def scenario(site):
        quick = [await streams.listen(site.port, {"resourceSubscriptions": [LONG]}) for _ in range(3)]
        slow = [await read_slowly(site.port) for _ in range(5)]
        before = memory(site)
        publisher = publishing(url, "many", FLOOD)
        received = await asyncio.gather(*(stream.until(FLOOD) for stream in quick))
        grown = memory(site) - before
        assert {len(events) for events in received} == {FLOOD}
        everything = FLOOD * len(json.dumps(received[0][0].data))
        assert all(size < everything for size in await asyncio.gather(*map(rest_of, slow)))
        assert grown < everything * len(slow) / 2, grown
        await asyncio.to_thread(publisher.wait, 60)

    with served("uvicorn", 1, DATABASE_URL=url) as site:
        streams.run(scenario(site))


@SERVERS
def test_a_server_ends_in_time_and_closes_its_subscriptions(server, url):
    """BL-057, SUB-08"""

    async def scenario(site):
        session = await streams.open_session(site.port, URI)
        gets = [await streams.get(site.port, session) for _ in range(5)]
        listens = [await streams.listen(site.port, FILTER, id=f"n{number}") for number in range(STREAMS)]
        began = time.monotonic()
        site.process.terminate()
        ended = await asyncio.gather(*(stream.end() for stream in (*listens, *gets)))
        for number, events in enumerate(ended[:STREAMS]):
            assert events, number
            assert events[-1].data["id"] == f"n{number}"
            assert events[-1].data["result"]["resultType"] == "complete"
        await asyncio.to_thread(site.process.wait, streams.LIMIT)
        print(f"{server} took {time.monotonic() - began:.1f} s to end")

    with served(server, 1, DATABASE_URL=url) as site:
        streams.run(scenario(site))
