"""Streams of legacy calls break while several workers serve them, and workers end (LH-14, LH-24, LH-26).

Runs on the database of DATABASE_URL, on SQLite without it. Thousands of streams take a while:
python -m tests.conformance.breaks --streams 2000
"""

import asyncio
import os
import random
import signal
import time
from typing import Any

import mcp_types as wire
import pytest
from mcp.client import Client as OfficialClient
from mcp.shared.message import ClientMessageMetadata

from . import breaks, streams
from .breaks import LIMIT, WORKERS, Client, open_session
from .served import served

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def site():
    with served("uvicorn", WORKERS) as found:
        yield found


def test_every_event_comes_once_however_often_a_stream_breaks(site):
    """Half of the breaks go unnoticed. BL-053"""
    found: dict[str, int] = {}

    async def steps() -> None:
        found.update(await breaks.run_all(site.port, 30, seed=int(time.time())))

    streams.run(steps())
    print(found)
    assert found["streams"] == 30
    assert not found.get("bad")


def test_of_two_who_come_back_at_once_one_gets_the_rest(site):
    async def steps() -> None:
        session = await open_session(site.port)
        client = Client(site.port, session, 1, random.Random(1))
        stream = await client.call(events=80, pause=0.1)
        assert await client.read(stream, 3)
        opened = await asyncio.gather(*(streams.get(site.port, session, client.last) for _ in range(4)))
        ends = await asyncio.gather(*(one.end() for one in opened))
        answers = [end[-1].data for end in ends if end and "result" in end[-1].data]
        assert len(answers) == 1
        [whole] = [end for end in ends if end and end[-1].data in answers]
        assert [event.data["params"]["progress"] for event in whole[:-1]] == list(range(4, 81))
        assert [event.data for event in await stream.end() if "result" in event.data] == []

    streams.run(steps())


async def come_back(client: Client) -> streams.SSE:
    """To a worker that is there: one that is ending takes its connections along."""
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                return await client.come_back()
            except (OSError, EOFError, IndexError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "seconds", "message"),
    [
        (signal.SIGKILL, 20, "The worker that ran this call is gone."),
        (signal.SIGTERM, 20, "The server is shutting down"),
        (signal.SIGTERM, 3, None),
    ],
    ids=["killed", "told to end", "told to end, with time to finish"],
)
@pytest.mark.parametrize("is_broken", [True, False], ids=["broken", "live"])
def test_a_call_whose_worker_ends_has_an_end(site, number, seconds, message, is_broken):
    """Everything that was written comes first: with SIGTERM that is all there was."""
    events = seconds * 10

    async def steps() -> None:
        client = Client(site.port, await open_session(site.port), 1, random.Random(1))
        stream = await client.call(events, pause=0.1)
        assert await client.read(stream, 5)
        if is_broken:
            await stream.close()
            stream = await come_back(client)
        assert await client.read(stream, 6)
        [worker] = client.workers
        os.kill(int(worker), number)
        async with asyncio.timeout(LIMIT):
            while client.answer is None:
                if not await client.read(stream, events) and client.answer is None:
                    stream = await come_back(client)
        if message is None:
            assert client.answer["result"]["content"][0]["text"] == f"{events} events"
            assert client.progress == list(range(1, events + 1))
        else:
            assert client.answer["error"] == {"code": -32603, "message": message}
            assert client.progress == list(range(1, len(client.progress) + 1))
            assert len(client.progress) >= 11

    streams.run(steps())


def test_the_official_client_is_sent_away_and_comes_back(site):
    """LH-09, LH-10"""
    reported: list[float] = []

    async def advance(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    async def steps() -> Any:
        async with OfficialClient(site.url, mode="legacy") as client:
            arguments = {"events": 4, "pause": 0.1, "closes": 1}
            return await client.call_tool("test_breaking_stream", arguments, progress_callback=advance)

    result = asyncio.run(asyncio.wait_for(steps(), LIMIT))
    assert (result.content[0].text, reported) == ("4 events", [1, 2, 3, 4])


def test_the_official_client_resumes_by_a_token(site):
    """LH-24: the call goes on without it meanwhile."""

    async def steps() -> Any:
        tokens: asyncio.Queue[str] = asyncio.Queue()
        params = wire.CallToolRequestParams(
            name="test_breaking_stream", arguments={"events": 20, "pause": 0.1, "closes": 0}
        )
        params.meta = {"progress_token": "t"}
        request = wire.CallToolRequest(params=params)
        async with OfficialClient(site.url, mode="legacy") as client:

            def send(**hints: Any) -> Any:
                metadata = ClientMessageMetadata(**hints)
                return client.session.send_request(request, wire.CallToolResult, metadata=metadata)

            first = asyncio.create_task(send(on_resumption_token_update=tokens.put))
            for _ in range(3):
                token = await tokens.get()
            first.cancel()
            await asyncio.wait({first})
            return await send(resumption_token=token)

    result = asyncio.run(asyncio.wait_for(steps(), LIMIT))
    assert result.content[0].text == "20 events"
