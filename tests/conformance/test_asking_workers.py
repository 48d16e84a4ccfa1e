"""Questions to legacy clients while several workers serve them: the reply may meet any of them (S2C-04).

With a channel layer too, in the Redis of REDIS_URL.
"""

import asyncio
import json
import os
import random
import signal
import time
from typing import Any

import httpx
import pytest
import redis

from .served import served
from .test_workers import _workers_of

pytestmark = pytest.mark.integration

WORKERS = 4
CLIENTS = 50
CALLS = 4  # of each client at once
LIMIT = 120
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Asked:
    """One call whose question has arrived, and the id of the last event."""

    def __init__(self, session: str, number: int, response: httpx.Response) -> None:
        self.session = session
        self.number = number
        self.response = response
        self.last = ""
        self.events = self._read()

    async def _read(self) -> Any:
        async for line in self.response.aiter_lines():
            if line.startswith("id: "):
                self.last = line[4:]
            if line.startswith("data: {"):  # the first event gives an id and nothing else
                yield json.loads(line[6:])


class Crowd:
    def __init__(self, url: str) -> None:
        self.url = url
        # Every request on a connection of its own, so that any worker may get it.
        limits = httpx.Limits(max_keepalive_connections=0, max_connections=None)
        self.http = httpx.AsyncClient(limits=limits, timeout=LIMIT, headers=HEADERS)

    async def post(self, session: str | None, message: dict[str, Any]) -> httpx.Response:
        headers = {"Mcp-Session-Id": session} if session else {}
        return await self.http.post(self.url, json={"jsonrpc": "2.0", **message}, headers=headers)

    async def open_session(self) -> str:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "crowd", "version": "1"},
        }
        answer = await self.post(None, {"id": 0, "method": "initialize", "params": params})
        session: str = answer.headers["mcp-session-id"]
        return session

    async def call(self, session: str, number: int) -> tuple[Asked, str]:
        """The call and the id of its question."""
        params = {"name": "test_elicitation", "arguments": {"message": f"Who is {number}?"}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        request = self.http.build_request("POST", self.url, json=message, headers={"Mcp-Session-Id": session})
        asked = Asked(session, number, await self.http.send(request, stream=True))
        question = await anext(asked.events)
        assert question["params"]["message"] == f"Who is {number}?"
        return asked, question["id"]

    async def reply(self, asked: Asked, ref: str) -> None:
        content = {"username": f"user-{asked.number}", "email": "u@example.com"}
        answer = await self.post(asked.session, {"id": ref, "result": {"action": "accept", "content": content}})
        assert answer.status_code == 202

    async def come_back(self, asked: Asked) -> dict[str, Any]:
        """What a client gets that lost the stream of its call."""
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": asked.session, "Last-Event-ID": asked.last}
        request = self.http.build_request("GET", self.url, headers=headers)
        resumed = Asked(asked.session, asked.number, await self.http.send(request, stream=True))
        return await finish(resumed)


async def finish(asked: Asked) -> dict[str, Any]:
    message: dict[str, Any] = await anext(asked.events)
    await asked.response.aclose()
    return message


def is_own_answer(asked: Asked, message: dict[str, Any]) -> bool:
    return message["id"] == asked.number and f"user-{asked.number}" in message["result"]["content"][0]["text"]


@pytest.fixture(params=["database", "redis"])
def layer(request):
    """The variables of a site whose workers call each other through the database alone, or through a channel layer."""
    if request.param == "database":
        return {"REDIS_URL": ""}
    url = os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379/0"
    try:
        with redis.Redis.from_url(url) as server:
            server.ping()
    except redis.ConnectionError as error:
        pytest.skip(f"No Redis: {error}")
    return {"REDIS_URL": url}


def test_every_one_of_two_hundred_questions_gets_its_own_reply(database, layer):
    async def steps(url):
        crowd = Crowd(url)
        sessions = await asyncio.gather(*(crowd.open_session() for _ in range(CLIENTS)))
        numbers = range(CLIENTS * CALLS)
        calls = await asyncio.gather(*(crowd.call(sessions[number % CLIENTS], number) for number in numbers))
        while database.connections()["idle in transaction"]:  # of what is written meanwhile
            await asyncio.sleep(0.05)
        shuffled = random.sample(calls, len(calls))
        began = time.monotonic()
        await asyncio.gather(*(crowd.reply(asked, ref) for asked, ref in shuffled))
        messages = await asyncio.gather(*(finish(asked) for asked, _ in calls))
        await crowd.http.aclose()
        print(f"{len(calls)} replies took {time.monotonic() - began:.2f} s")
        assert all(is_own_answer(asked, message) for (asked, _), message in zip(calls, messages, strict=True))

    with served("uvicorn", WORKERS, DATABASE_URL=database.url, **layer) as site:
        asyncio.run(asyncio.wait_for(steps(site.url), LIMIT))
    assert database.rows("SELECT count(*) FROM django_mcp_pendingrequest") == [(0,)]


def test_a_worker_that_dies_takes_its_own_calls_alone(database, layer):
    """Its callers see their connections end, and an error when they come back. All others get their answers."""

    async def steps(site):
        crowd = Crowd(site.url)
        session = await crowd.open_session()
        # One after the other: a worker accepts a whole burst of connections by itself.
        calls = [await crowd.call(session, number) for number in range(40)]
        while database.rows("SELECT count(*) FROM django_mcp_callstream") != [(len(calls),)]:
            await asyncio.sleep(0.05)
        os.kill(_workers_of(site.process.pid, "uvicorn")[0], signal.SIGKILL)
        await asyncio.gather(*(crowd.reply(asked, ref) for asked, ref in calls), return_exceptions=True)
        ended = await asyncio.gather(*(finish(asked) for asked, _ in calls), return_exceptions=True)
        asked, ref = await crowd.call(session, 100)
        await crowd.reply(asked, ref)
        assert is_own_answer(asked, await finish(asked))
        gone = [asked for (asked, _), end in zip(calls, ended, strict=True) if not isinstance(end, dict)]
        errors = await asyncio.gather(*(crowd.come_back(asked) for asked in gone))
        assert [(each["id"], each["error"]["code"]) for each in errors] == [(asked.number, -32603) for asked in gone]
        await crowd.http.aclose()
        answered = [(asked, end) for (asked, _), end in zip(calls, ended, strict=True) if isinstance(end, dict)]
        print(f"{len(calls) - len(answered)} of {len(calls)} calls were on the worker that died")
        assert all(is_own_answer(asked, message) for asked, message in answered)
        lost = [error for error in ended if not isinstance(error, dict)]
        assert all(isinstance(error, httpx.HTTPError | StopAsyncIteration) for error in lost), lost

    with served("uvicorn", WORKERS, DATABASE_URL=database.url, **layer) as site:
        asyncio.run(asyncio.wait_for(steps(site), LIMIT))
