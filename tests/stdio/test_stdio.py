"""The wire of stdio: which line is answered by what."""

import asyncio
import json
from unittest.mock import patch

import pytest
from django.test import override_settings

from django_mcp import Context, default_server
from django_mcp.protocol.versions import Revision
from tests.shop.mcp import gate
from tests.wire.client import META

from .client import LEGACY, greeting, talk

UNANSWERED = [
    b"",
    b"  \t ",
    b"\r",
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    b'{"jsonrpc":"2.0","id":7,"result":{}}',
    b'{"jsonrpc":"2.0","id":null,"result":{}}',
    b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}',
    b'{"jsonrpc":"2.0","method":"tools/call","params":[1]}',
    b'{"jsonrpc":"2.0","method":"initialize"}',
    b'{"jsonrpc":"2.0","method":"no/such"}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
]
REFUSED = [
    (b"garbage", -32700, None),
    (b"\xff", -32700, None),
    (b"[" * 20000 + b"]" * 20000, -32700, None),
    (b'"text"', -32600, None),
    (b"null", -32600, None),
    (b"{}", -32600, None),
    (b"[]", -32600, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}', -32602, 2),
    (b'{"jsonrpc":"2.0","id":3,"method":"ping","result":{}}', -32600, 3),
    (b'{"jsonrpc":"2.0","id":4,"method":"notifications/initialized"}', -32600, 4),
    (None, -32600, None),
]


@pytest.mark.parametrize("line", UNANSWERED)
def test_replies_notifications_and_blank_lines_are_never_answered(line):
    """BL-017, BL-030, BL-100, RPC-07, RPC-27."""

    async def steps(client):
        client.send(line)
        assert await client.legacy("ping", id="after") == {"jsonrpc": "2.0", "id": "after", "result": {}}

    talk(steps)


@pytest.mark.parametrize(("line", "code", "id"), REFUSED)
def test_bad_lines_are_answered_once_and_survived(line, code, id):
    """BL-008, BL-018, BL-030, RPC-06, STD-11."""

    async def steps(client):
        answer = await client.ask(line)
        assert (answer["error"]["code"], answer.get("id")) == (code, id)
        assert ("id" in answer) == (id is not None)
        assert (await client.legacy("ping", id="after"))["id"] == "after"

    talk(steps)


@pytest.mark.parametrize("id", [0, "", -3, 9007199254740993, "1", "\ud800"])
def test_ids_come_back_as_they_went(id):
    """BL-018, BL-036, RPC-03."""

    async def steps(client):
        answer = await client.legacy("ping", id=id)
        assert (answer["id"], type(answer["id"])) == (id, type(id))

    talk(steps)


def test_byte_order_marks_and_carriage_returns_do_no_harm():
    """BL-030, BL-031."""

    async def steps(client):
        assert (await client.ask(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\r'))["id"] == 1

    talk(steps)


def test_text_that_utf_8_cannot_hold_is_escaped():
    """BL-036."""

    async def steps(client):
        assert await client.call("echo", text="\ud800x😀") == "\ud800x😀"
        assert b"\\ud800x\xf0\x9f\x98\x80" in client.lines[0]

    talk(steps)


def test_before_the_handshake_ping_is_all_there_is():
    """S37, BL-094, INIT-09."""

    async def steps(client):
        assert (await client.legacy("ping"))["result"] == {}
        for method in ("tools/list", "no/such"):
            assert (await client.legacy(method))["error"]["code"] == -32600

    talk(steps)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY])
def test_the_handshake_settles_the_revision(version):
    async def steps(client):
        result = (await client.initialize(version))["result"]
        assert result["protocolVersion"] == version
        assert result["capabilities"]["logging"] == {}
        listed = await client.legacy("tools/list")
        assert ("outputSchema" in json.dumps(listed)) == Revision(version).has_output_schema

    talk(steps)


def test_a_client_need_not_wait_for_the_answer_to_its_handshake():
    async def steps(client):
        with default_server.registry.override():

            @default_server.tool
            async def flags(context: Context) -> str:
                assert context.session is not None
                return f"{context.session.initialized} {context.request} {context.user.is_anonymous}"

            client.send(client.request("initialize", greeting(), 1))
            client.notify("notifications/initialized")
            client.notify("notifications/initialized")
            client.send(client.request("tools/call", {"name": "flags"}, 2))
            assert (await client.receive())["id"] == 1
            # BL-099: there is no request, and no failure
            assert (await client.receive())["result"]["content"][0]["text"] == "True None True"

    talk(steps)


def test_a_second_handshake_is_refused():
    """S36, INIT-12."""

    async def steps(client):
        await client.initialize()
        answer = await client.legacy("initialize", greeting("2025-06-18"), id="again")
        assert (answer["id"], answer["error"]["code"]) == ("again", -32600)
        assert (await client.legacy("ping"))["result"] == {}

    talk(steps)


def test_a_handshake_that_fails_leaves_room_for_another():
    async def steps(client):
        assert (await client.legacy("initialize", {}, id=5))["error"]["code"] == -32602
        with patch.object(default_server, "identity", side_effect=ValueError("secret")):
            answer = await client.initialize()
        assert answer["error"] == {"code": -32603, "message": "Internal error"}
        assert (await client.legacy("tools/list"))["error"]["code"] == -32600
        assert (await client.initialize())["result"]["protocolVersion"] == LEGACY

    talk(steps)


def test_requests_of_both_eras_may_follow_each_other_in_any_order():
    """BL-084, VER-03, VER-11, VER-25, RPC-22."""

    async def steps(client):
        assert (await client.modern("initialize"))["error"]["code"] == -32601
        assert "resultType" in (await client.modern("tools/list"))["result"]
        assert (await client.initialize("2025-06-18"))["result"]["protocolVersion"] == "2025-06-18"
        assert "resultType" in (await client.modern("tools/list"))["result"]
        assert "resultType" not in (await client.legacy("tools/list"))["result"]
        assert (await client.modern("ping"))["error"]["code"] == -32601
        assert (await client.legacy("server/discover"))["error"]["code"] == -32601

    talk(steps)


def test_a_handshake_that_proposes_a_version_is_one_whatever_else_is_in_it():
    """VER-12: on stdio there is no header that says otherwise."""

    async def steps(client):
        answer = await client.modern("initialize", greeting("2026-07-28"))
        assert answer["result"]["protocolVersion"] == LEGACY

    talk(steps)


def test_there_are_no_header_rules():
    """STD-12."""

    async def steps(client):
        assert await client.call("book", clinic="Zürich") == "Zürich|"
        envelope = {"_meta": {f"{META}protocolVersion": "2031-01-01", f"{META}clientCapabilities": {}}}
        assert (await client.legacy("tools/list", envelope))["error"]["code"] == -32022

    talk(steps)


def test_the_log_level_is_kept_in_memory():
    """LOG-02, STD-10."""

    async def steps(client):
        with default_server.registry.override():

            @default_server.tool
            async def level(context: Context) -> str:
                return f"{context.session and context.session.log_level}"

            await client.initialize()
            assert (await client.legacy("logging/setLevel", {"level": "error"}))["result"] == {}
            answer = await client.legacy("tools/call", {"name": "level"})
            assert answer["result"]["content"][0]["text"] == "error"
            assert await client.call("level") == "None"
            assert (await client.legacy("logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602

    talk(steps)


def test_what_cannot_be_encoded_is_an_internal_error(caplog):
    async def steps(client):
        with patch.object(default_server, "extensions", {"x": object()}):
            answer = await client.modern("server/discover", id="d")
        assert (answer["id"], answer["error"]) == ("d", {"code": -32603, "message": "Internal error"})

    talk(steps)
    assert "server/discover failed" in caplog.text


class Vanished:
    """A user whose row cannot be read."""

    principal = "user:1"

    async def caller(self):
        raise RuntimeError("postgres://u:secret@db")


def test_a_notification_that_cannot_be_taken_is_never_answered(caplog):
    """RPC-07: no session yet, or nobody to be."""
    caplog.set_level("INFO", "django_mcp.stdio")
    taken: list[str] = []

    async def legacy(client):
        client.notify("notifications/example/note", text="hello")
        await client.exchange.drain(5)
        assert not client.lines

    async def modern(client):
        meta = {f"{META}protocolVersion": "2026-07-28"}
        client.notify("notifications/example/note", text="hello", _meta=meta)
        await client.exchange.drain(5)
        assert not client.lines

    with default_server.registry.override():

        @default_server.notification("notifications/example/note")
        def note(text: str) -> None:
            taken.append(text)

        talk(legacy)
        talk(modern, identity=Vanished())
        assert not taken
        talk(modern)

    assert taken == ["hello"]
    assert "was not taken: 'The session is not initialized" in caplog.text
    assert "notifications/example/note failed" in caplog.text


class TestBatches:
    """S9, BL-070, RPC-12, RPC-14, STD-14."""

    def test_they_are_answered_with_an_array_in_the_revision_that_has_them(self):
        async def steps(client):
            await client.initialize("2025-03-26")
            batch = [
                client.request("ping", id=1),
                client.request("tools/call", {"name": "echo", "arguments": {"text": "x"}}, "1"),
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                {"jsonrpc": "2.0", "method": "no/such", "params": 1},
                {"jsonrpc": "2.0", "id": 5, "result": {}},
                client.request("initialize", greeting(), 2),
                7,
            ]
            answers = await client.ask(batch)
            assert [answer.get("id") for answer in answers] == [1, "1", 2, None]
            assert [answer.get("error", {}).get("code") for answer in answers] == [None, None, -32600, -32600]
            assert [answer["error"]["code"] for answer in await client.ask([1, 2])] == [-32600, -32600]
            assert (await client.ask([]))["error"]["code"] == -32600
            client.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
            assert (await client.legacy("ping", id="after"))["id"] == "after"

        talk(steps)

    @pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", LEGACY])
    def test_other_revisions_refuse_them_with_one_object(self, version):
        async def steps(client):
            await client.initialize(version)
            answer = await client.ask([client.request("ping"), client.request("ping")])
            assert answer["error"]["code"] == -32600
            assert "id" not in answer

        talk(steps)

    def test_a_cancelled_member_is_left_out(self):
        async def steps(client):
            gate.reset()
            await client.initialize("2025-03-26")
            waiting = client.request("tools/call", {"name": "wait_at_gate"}, "w")
            client.send([waiting, client.request("ping", id="p")])
            await asyncio.to_thread(gate.entered.wait, 30)
            client.notify("notifications/cancelled", requestId="w")
            assert [answer["id"] for answer in await client.receive()] == ["p"]
            gate.reset()
            client.send([waiting])
            await asyncio.to_thread(gate.entered.wait, 30)
            client.notify("notifications/cancelled", requestId="w")
            assert (await client.legacy("ping", id="after"))["id"] == "after"

        talk(steps)


@pytest.mark.parametrize(
    ("url", "told"), [(None, "/media/a.png"), ("https://x.example/mcp", "https://x.example/media/a.png")]
)
def test_addresses_are_those_of_public_url(url, told):
    """ICON-03: there is no host on stdio."""

    async def steps(client):
        assert await client.call("where") == told

    def where(context: Context) -> str:
        return context.build_absolute_uri("/media/a.png")

    settings = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "PUBLIC_URL": url}
    with default_server.registry.override(), override_settings(DJANGO_MCP=settings):
        default_server.tool(where)
        talk(steps)
