"""Requests that stand alone: through any door, after anything, whoever the client says it is."""

import itertools
import json

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.test import override_settings

from django_mcp import MCPServer
from django_mcp.conf import known_keys
from django_mcp.models import Session
from django_mcp.running import run_store
from django_mcp.servers import _servers
from tests.shop.mcp import gate
from tests.wire.client import META, WireClient
from tests.wire.doors import DOORS, consumer
from tests.wire.test_connections import Connection, happened, in_a_loop, stream_headers, tool_call
from tests.wire.test_versions import ALL

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}


@pytest.mark.django_db
def test_what_spans_requests_is_named_in_each_of_them():
    """RPC-23, RPC-24: the pages of one list come through different doors, with other requests in between."""
    doors = itertools.cycle(door() for door in DOORS.values())
    whole = [tool["name"] for tool in WireClient(next(doors)).modern("tools/list").result["tools"]]
    with override_settings(DJANGO_MCP={**OPEN, "PAGE_SIZE": 7}):
        first = WireClient(next(doors)).modern("tools/list").result
        pages, cursor = [first["tools"]], first["nextCursor"]
        while cursor is not None:
            client = WireClient(next(doors))
            assert client.modern("tools/list").result["tools"] == first["tools"]
            page = client.modern("tools/list", {"cursor": cursor}).result
            pages.append(page["tools"])
            cursor = page.get("nextCursor")
    assert [tool["name"] for page in pages for tool in page] == whole
    assert len(pages) > 3


@pytest.mark.django_db
def test_nothing_makes_one_worker_serve_other_versions_than_the_next():
    """VER-18: clients keep what they learnt about the era. No door differs, and no setting turns an era off."""
    assert [WireClient(door()).modern("server/discover").result["supportedVersions"] for door in DOORS.values()] == (
        [ALL] * len(DOORS)
    )
    assert not [key for key in known_keys() if "VERSION" in key or "ERA" in key.split("_") or "LEGACY" in key]


@pytest.fixture
def bare_server(monkeypatch):
    """It offers nothing and says nothing about itself."""
    fresh = MCPServer("nothing")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["nothing"]


@pytest.mark.django_db
def test_discovery_needs_nothing_and_leaves_nothing(bare_server):
    """S35, S41: no handshake, no capability, and each time the same; what is not said is left out."""
    client = WireClient(consumer())
    first, second = (client.modern("server/discover", id=1) for _ in range(2))
    assert first.body == second.body
    assert set(first.result) == {"supportedVersions", "capabilities", "resultType", "ttlMs", "cacheScope", "_meta"}
    assert not Session.objects.exists()
    assert client.legacy("tools/list").status == 400
    assert "instructions" not in client.initialize().result


NAMES = [
    {"name": "wire-client", "version": "1"},
    {"name": "admin", "version": "99", "title": "root", "is_staff": True},
    {"name": "django_mcp", "version": "2026-07-28", "websiteUrl": "http://localhost"},
]
ASKED = [
    ("tools/list", {}),
    ("resources/list", {}),
    ("tools/call", {"name": "whoami", "arguments": {}}),
    ("tools/call", {"name": "staff_only", "arguments": {}}),
    ("resources/read", {"uri": "static://staff"}),
]


def test_what_a_client_says_about_itself_changes_nothing(client, era):
    """META-05: it decides neither what is shown nor what is allowed."""
    answers = []
    for name in NAMES:
        if era != "modern":
            greeting = {"protocolVersion": era, "capabilities": {}, "clientInfo": name}
            client.session = client.post(client.message("initialize", greeting)).header("Mcp-Session-Id")
        meta = {f"{META}clientInfo": name}
        answers.append(
            [
                client.modern(method, params, id=1, meta=meta).body
                if era == "modern"
                else client.legacy(method, params, id=1).body
                for method, params in ASKED
            ]
        )
    assert answers[0] == answers[1] == answers[2]


def test_the_old_name_of_a_notification_does_no_harm(client, era):
    """M15: the session serves without being told, so a bare ``initialized`` is as good."""
    if era == "modern":
        pytest.skip("the modern era has no handshake")
    client.initialize(era)
    answer = client.notify("initialized")
    assert (answer.status, answer.body) == (202, b"")
    assert client.legacy("tools/list").result["tools"]


@pytest.mark.django_db
def test_a_call_is_answered_although_its_session_has_ended():
    """X19: a DELETE in the middle of it raises nothing afterwards."""
    client = WireClient(consumer())
    client.initialize()
    end_the_session_during_a_call(client.session)
    assert client.legacy("tools/list").status == 404


@in_a_loop
async def end_the_session_during_a_call(session):
    call = tool_call("wait_at_gate", session=session)
    await happened(gate.entered)
    ended = Connection("DELETE", [("Mcp-Session-Id", session)])
    await ended.ended()
    assert ended.sent[0]["status"] == 204
    gate.opened.set()
    await call.ended()
    assert call.sent[0]["status"] == 200
    assert json.loads(call.sent[1]["body"])["result"]["content"][0]["text"] == "through"


@pytest.mark.django_db(transaction=True)
def test_an_open_stream_is_in_no_transaction():
    """SEC-13: it may be open for hours, and others write meanwhile."""
    client = WireClient(consumer())
    client.initialize()

    async def scenario():
        stream = Connection("GET", stream_headers(client.session))
        await stream.until_sent(2)
        assert not await run_store(lambda: [one.alias for one in connections.all() if one.in_atomic_block])
        await sync_to_async(User.objects.create)(username="ann")
        stream.hang_up()
        await stream.ended()

    async_to_sync(scenario)()
    assert User.objects.count() == 1
