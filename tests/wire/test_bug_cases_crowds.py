"""Rows of the bug log about many requests at once, on real threads with connections of their own."""

import asyncio
import json
import random
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from django_mcp.models import AccessToken, Session
from django_mcp.running import close_lanes, lanes_in_use
from django_mcp.transports.shutdown import detached_exchanges
from django_mcp.transports.streams import open_streams
from tests.rows import writer
from tests.shop.mcp import gate
from tests.wire.client import WireClient
from tests.wire.doors import ASGIDoor, consumer
from tests.wire.test_connections import Connection, stream_headers, tool_call

pytestmark = pytest.mark.django_db(transaction=True)

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}


class CrowdDoor(ASGIDoor):
    """Every answer has to be awaited, so that many requests may be on their way."""

    def send(self, method, path, headers, body=b""):
        return self._send(method, path, headers, [body])


class NeverReading(Connection):
    """The client of this one holds up what is sent to it."""

    async def send(self, message):
        await super().send(message)
        await asyncio.Event().wait()


@pytest.fixture(autouse=True)
def site():
    with override_settings(ROOT_URLCONF="tests.wire.bugs", DJANGO_MCP=OPEN):
        yield
    close_lanes()
    connections.close_all()


def in_crowd(client) -> Any:
    """The same client with a session of its own, in which nothing waits for the answer before."""
    other = WireClient(CrowdDoor(consumer().application), client.path, client.headers)
    other.session, other.version = client.session, client.version
    return other


def opened(**headers):
    client = WireClient(consumer(), headers=headers)
    client.initialize()
    return client


async def comes_true(condition):
    """Threads and tasks that are through give back what they hold a moment later."""
    async with asyncio.timeout(30):
        while not condition():  # pragma: no branch - it may hold at once, or never be asked twice
            await asyncio.sleep(0.005)  # pragma: no cover - the same


def texts_of(answers):
    return [answer.result["content"][0]["text"] for answer in answers]


@pytest.mark.parametrize("era", ["modern", "2025-11-25"])
def test_requests_of_one_id_in_one_session_each_get_their_own_answer(era):
    """BL-007, RPC-11, LH-20."""
    crowd = in_crowd(opened())

    def call(number):
        arguments = {"text": str(number), "delay": random.uniform(0, 0.05)}
        send = crowd.modern if era == "modern" else crowd.legacy
        return send("tools/call", {"name": "late_echo", "arguments": arguments}, id=1)

    async def scenario():
        return await asyncio.gather(*map(call, range(12)))

    assert texts_of(asyncio.run(scenario())) == [str(number) for number in range(12)]


def test_fifty_calls_of_two_users_never_see_the_other_one():
    """BL-016, AUTH-21: sync and async tools, in the sessions of the two and without any."""
    with override_settings(DJANGO_MCP={}):
        crowds = []
        for name in ("ann", "bob"):
            _token, value = AccessToken.objects.issue(User.objects.create(username=name))
            crowds.append(in_crowd(opened(Authorization=f"Bearer {value}")))

        def call(number):
            crowd = crowds[number % 2]
            send = crowd.modern if number % 3 else crowd.legacy
            return send("tools/call", {"name": "whoami" if number % 5 else "awhoami"})

        async def scenario():
            answers = await asyncio.gather(*map(call, range(50)))
            stranger: Any = WireClient(crowds[0].door)
            return answers, await stranger.modern("tools/call", {"name": "whoami"})

        answers, refused = asyncio.run(scenario())
    assert texts_of(answers) == ["ann", "bob"] * 25
    assert refused.status == 401


@override_settings(ROOT_URLCONF="tests.urls")
def test_slow_sync_tools_delay_nobody_else():
    """BL-003: two of them wait on their threads, and ping and a list are answered meanwhile."""
    crowd = in_crowd(opened())

    async def scenario():
        blocked = [asyncio.create_task(crowd.legacy("tools/call", {"name": "block_at_gate"})) for _ in range(2)]
        await asyncio.to_thread(gate.entered.wait, 30)
        async with asyncio.timeout(2):
            others = [await crowd.legacy("ping"), await crowd.modern("tools/list"), await crowd.legacy("tools/list")]
        assert not any(task.done() for task in blocked)
        gate.opened.set()
        return others, await asyncio.gather(*blocked)

    others, blocked = asyncio.run(scenario())
    assert [answer.status for answer in others] == [200, 200, 200]
    assert texts_of(blocked) == ["through True", "through True"]


def test_calls_beside_a_writer_need_no_lock():
    """BL-087: in one session and in many, while another connection writes to their rows."""
    clients = [opened() for _ in range(6)]
    crowds = [in_crowd(client) for client in [clients[0]] * 6 + clients]

    async def scenario():
        lists = [crowd.legacy("tools/list") for crowd in crowds]
        calls = [crowd.legacy("tools/call", {"name": "to_sync"}) for crowd in crowds]
        async with asyncio.timeout(4):
            return await asyncio.gather(*lists, *calls)

    Session.objects.update(last_seen=timezone.now() - timedelta(days=1))
    with override_settings(DJANGO_MCP={**OPEN, "SESSION_IDLE": 10**9}), writer(Session.objects.all()):
        answers = asyncio.run(scenario())
    assert {answer.status for answer in answers} == {200}
    assert texts_of(answers[len(crowds) :]) == ["0"] * len(crowds)


@override_settings(ROOT_URLCONF="tests.urls")
@pytest.mark.parametrize("legacy", [True, pytest.param(False, marks=pytest.mark.repeats)])
def test_clients_that_leave_take_everything_with_them(legacy):
    """BL-058, BL-001: at once after the request, in the middle of a call, and from a stream."""
    session = opened().session

    async def scenario():
        before = len(asyncio.all_tasks())
        for number in range(60):
            name = "wait_at_gate" if number % 2 else "echo"
            call = tool_call(name, session=session if legacy else None)
            if number % 3:
                await asyncio.sleep(0)
            call.hang_up()
            await call.ended()
            stream = Connection("GET", stream_headers(session))
            if number % 2:
                await stream.until_sent(2)
            stream.hang_up()
            await stream.ended()
        gate.opened.set()
        await detached_exchanges.drain(5)
        await comes_true(lambda: len(asyncio.all_tasks()) <= before and lanes_in_use() == 0)
        return len(open_streams), len(detached_exchanges)

    assert asyncio.run(scenario()) == (0, 0)


@pytest.mark.parametrize("legacy", [True, False])
def test_a_call_that_ends_as_its_client_leaves_is_answered_once_at_most(legacy):
    """BL-027, BL-001: the two meet in every order, and the session goes on."""
    client = opened()

    async def scenario():
        for number in range(60):
            call = tool_call("awhoami", session=client.session if legacy else None)
            await asyncio.sleep(number * 0.0002)
            call.hang_up()
            await call.ended()
            started = [message for message in call.sent if message["type"] == "http.response.start"]
            assert len(started) <= 1
        await detached_exchanges.drain(5)

    asyncio.run(scenario())
    assert client.legacy("ping").result == {}


def test_an_answer_of_megabytes_is_dropped_with_its_client():
    """BL-058: whoever never reads holds the server's send, until he is gone."""
    session = opened().session
    params = {"name": "late_echo", "arguments": {"text": "x" * 2_000_000}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    async def scenario():
        call = NeverReading(headers=[("Mcp-Session-Id", session)], body=body)
        await call.until_sent(1)
        call.hang_up()
        await call.ended()
        await comes_true(lambda: lanes_in_use() == 0)
        return len(detached_exchanges)

    assert asyncio.run(scenario()) == 0
