"""Connections that end early, stay open or come in crowds, through the consumer."""

import asyncio
import json
import re
from functools import wraps

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIHandler
from django.test import override_settings

from django_mcp.conf import mcp_settings
from django_mcp.models import AccessToken
from django_mcp.routing import MCPRouter
from django_mcp.transports import sweeps
from django_mcp.transports.shutdown import detached_exchanges
from django_mcp.transports.streams import open_streams
from tests.shop.mcp import gate
from tests.wire.client import META, MODERN, WireClient
from tests.wire.doors import consumer, scope_of

LIMIT = 30


def in_a_loop(test):
    """Run an async test in its own loop, below this thread, where the test's transaction is."""

    @wraps(test)
    def run(*args, **kwargs):
        async_to_sync(test)(*args, **kwargs)

    return run


class Connection:
    """One request to the consumer whose client the test plays: it may hang up at any time."""

    def __init__(self, method="POST", headers=(), body=b"", path="/mcp"):
        pairs = [("Host", "testserver"), ("Content-Type", "application/json"), *headers]
        self.scope = scope_of(method, path, pairs)
        self.sent = []
        self.changed = asyncio.Event()
        self.left = asyncio.Event()
        self.incoming = [{"type": "http.request", "body": body}]
        self.task = asyncio.create_task(MCPRouter(ASGIHandler())(self.scope, self.receive, self.send))

    async def receive(self):
        if self.incoming:
            return self.incoming.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.sent.append(message)
        self.changed.set()

    async def until_sent(self, count):
        async with asyncio.timeout(LIMIT):
            while len(self.sent) < count:
                await self.changed.wait()
                self.changed.clear()
        return self.sent[:count]

    async def ended(self):
        async with asyncio.timeout(LIMIT):
            await self.task

    def hang_up(self):
        self.left.set()


def tool_call(name, *, session=None):
    params = {"name": name, "arguments": {}}
    headers = [("Mcp-Session-Id", session)] if session else []
    if session is None:
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)]
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Connection(headers=headers, body=json.dumps(body).encode())


async def happened(event):
    """Wait for something that another thread or task tells of."""
    assert await asyncio.to_thread(event.wait, LIMIT)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert len(open_streams) == 0
    assert len(detached_exchanges) == 0


def stream_headers(session):
    return [("Mcp-Session-Id", session), ("Accept", "text/event-stream")]


@pytest.mark.django_db
@in_a_loop
async def test_a_modern_hang_up_cancels_the_call():
    """BL-001, MH-30, CAN-05."""
    connection = tool_call("wait_at_gate")
    await happened(gate.entered)
    connection.hang_up()
    await connection.ended()
    assert gate.outcome == "cancelled"
    assert connection.sent == []


@in_a_loop
async def test_a_legacy_hang_up_lets_the_call_finish(session):
    """BL-001, LH-14: the door returns at once, and the call goes on."""
    connection = tool_call("wait_at_gate", session=session)
    await happened(gate.entered)
    connection.hang_up()
    await connection.ended()
    assert (gate.outcome, len(detached_exchanges)) == (None, 1)
    gate.opened.set()
    await detached_exchanges.drain(LIMIT)
    assert (gate.outcome, len(detached_exchanges)) == ("finished", 0)


def test_more_detached_calls_than_allowed_are_cancelled(session):
    async def scenario():
        connection = tool_call("wait_at_gate", session=session)
        await happened(gate.entered)
        connection.hang_up()
        await connection.ended()
        assert gate.outcome == "cancelled"

    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "DETACHED_CALLS": 0}):
        async_to_sync(scenario)()


@pytest.mark.django_db
@in_a_loop
async def test_a_server_that_cancels_the_door_cancels_the_call():
    connection = tool_call("wait_at_gate")
    await happened(gate.entered)
    connection.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connection.ended()
    await happened(gate.ended)
    assert gate.outcome == "cancelled"


@pytest.mark.django_db
@in_a_loop
async def test_a_client_that_leaves_while_sending_is_forgotten():
    connection = Connection(body=b"{")
    connection.incoming[0]["more_body"] = True
    connection.hang_up()
    await connection.ended()
    assert connection.sent == []


@pytest.mark.django_db
@in_a_loop
async def test_calls_run_beside_each_other_and_keep_their_ids():
    """MH-39, RPC-11, BL-007: the same id many times over, each answered with its own result."""

    def call(number):
        params = {"name": "echo", "arguments": {"text": str(number)}}
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return Connection(headers=headers, body=json.dumps(body).encode())

    connections = [call(number) for number in range(12)]
    for number, connection in enumerate(connections):
        await connection.ended()
        answer = json.loads(connection.sent[1]["body"])
        assert answer["result"]["content"][0]["text"] == str(number)


@in_a_loop
async def test_a_get_stream_opens_at_once_and_ends_with_its_client(session):
    """LH-16, BL-023: the headers do not wait for the first event."""
    connection = Connection("GET", stream_headers(session))
    start, first = await connection.until_sent(2)
    assert start["status"] == 200
    assert (b"content-type", b"text/event-stream") in start["headers"]
    assert re.fullmatch(rb"id: g[0-9a-f]{16}\.\d+\nretry: 2000\ndata: \n\n", first["body"])
    assert len(open_streams) == 1
    connection.hang_up()
    await connection.ended()
    assert (len(open_streams), len(detached_exchanges)) == (0, 0)


@in_a_loop
async def test_several_get_streams_of_one_session_may_be_open(session):
    """LH-20, BL-024: a dead stream never locks out a reconnect."""
    connections = [Connection("GET", stream_headers(session)) for _ in range(3)]
    for connection in connections:
        await connection.until_sent(2)
    for connection in connections:
        connection.hang_up()
        await connection.ended()


@in_a_loop
async def test_a_quiet_stream_is_kept_alive_and_keeps_its_session(session, monkeypatch):
    """BL-059, BL-102: comments, and a session that does not count as idle."""
    monkeypatch.setattr(sweeps, "KEEP_ALIVE_SECONDS", 0.01)
    monkeypatch.setattr(sweeps, "SWEEP_EVERY", 0.01)
    monkeypatch.setattr("django_mcp.transports.upkeep.touch_interval", lambda: 0.02)
    touched = asyncio.Event()

    def touch(keys):
        loop.call_soon_threadsafe(touched.set)
        return set(keys)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr("django_mcp.transports.upkeep.touch_sessions", touch)
    connection = Connection("GET", stream_headers(session))
    messages = await connection.until_sent(6)
    assert {message["body"] for message in messages[2:]} == {b": keep-alive\n\n"}
    await asyncio.wait_for(touched.wait(), LIMIT)
    connection.hang_up()
    await connection.ended()


@in_a_loop
async def test_a_stream_ends_with_its_session(session, monkeypatch):
    """LH-15: at the latest when its use would be noted."""
    monkeypatch.setattr("django_mcp.transports.upkeep.touch_interval", lambda: 0.001)
    connection = Connection("GET", stream_headers(session))
    await connection.until_sent(2)
    ended = Connection("DELETE", stream_headers(session))
    await ended.ended()
    await connection.ended()
    assert connection.sent[-1] == {"type": "http.response.body", "body": b""}


@in_a_loop
async def test_a_stream_ends_cleanly_when_the_process_does(session):
    """BL-057."""
    connection = Connection("GET", stream_headers(session))
    await connection.until_sent(2)
    open_streams.end_all()
    await connection.ended()
    assert connection.sent[-1] == {"type": "http.response.body", "body": b""}


@pytest.mark.parametrize("limit", ["MAX_STREAMS", "MAX_STREAMS_PER_USER"])
def test_streams_beyond_the_limit_are_put_off(session, limit):
    """SEC-12, SUB-12."""

    async def scenario():
        first = Connection("GET", stream_headers(session))
        await first.until_sent(2)
        second = Connection("GET", stream_headers(session))
        await second.ended()
        assert second.sent[0]["status"] == 503
        assert (b"retry-after", b"10") in second.sent[0]["headers"]
        first.hang_up()
        await first.ended()

    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", limit: 1}):
        async_to_sync(scenario)()


@in_a_loop
async def test_a_client_that_leaves_before_the_first_frame_gives_its_place_back(session):
    """BL-058."""
    connection = Connection("GET", stream_headers(session))
    connection.hang_up()
    await connection.ended()


@in_a_loop
async def test_a_stream_gives_its_place_back_once(session):
    stream = open_streams.open("user:1", mcp_settings())
    stream.close()
    stream.close()
    assert len(open_streams) == 0


@pytest.mark.parametrize("ends", ["revoke", "delete"])
def test_a_stream_ends_with_the_token_that_opened_it(db, ends, monkeypatch):
    """AUTH-10, SUB-13: though nobody announced it, at the latest when all credentials are looked at."""
    monkeypatch.setattr("django_mcp.transports.upkeep.CHECK_EVERY", 0.001)
    token, value = AccessToken.objects.issue(User.objects.create(username="ann"))
    authorization = ("Authorization", f"Bearer {value}")

    async def scenario(session):
        connection = Connection("GET", [*stream_headers(session), authorization])
        await connection.until_sent(2)
        await sync_to_async(getattr(token, ends))()
        await connection.ended()
        assert connection.sent[-1] == {"type": "http.response.body", "body": b""}

    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}):
        client = WireClient(consumer(), headers=dict([authorization]))
        client.initialize()
        async_to_sync(scenario)(client.session)
