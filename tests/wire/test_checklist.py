"""Rows of the specification checklist that no other test shows over the wire."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from django_mcp import Icon
from django_mcp.models import AccessToken, Session
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.results import CacheHint
from tests.wire.bugs import bugs
from tests.wire.client import LEGACY, META, MODERN

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
BUGS = override_settings(ROOT_URLCONF="tests.wire.bugs")
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
CACHED = {*LISTS, "server/discover", "resources/read"}
GREET = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}}
EVERY_METHOD = [
    *((method, {}) for method in LISTS),
    ("server/discover", {}),
    ("resources/read", {"uri": "static://a"}),
    ("tools/call", {"name": "noargs"}),
    ("prompts/get", {"name": "plain"}),
    ("completion/complete", GREET),
]


@pytest.mark.parametrize(("method", "params"), EVERY_METHOD, ids=[method for method, _params in EVERY_METHOD])
def test_every_modern_result_is_complete(client, method, params):
    """RPC-01, RPC-04, RPC-15, RPC-17, META-06, CACHE-01, CACHE-02, DISC-09, CMP-08, BL-043."""
    message = client.modern(method, params, id=7).json
    assert (message["jsonrpc"], message["id"], set(message)) == ("2.0", 7, {"jsonrpc", "id", "result"})
    result = message["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][f"{META}serverInfo"] == {"name": "default", "version": "1"}
    assert ({"ttlMs", "cacheScope"} <= set(result)) is (method in CACHED)
    if method in CACHED:
        assert (type(result["ttlMs"]), result["cacheScope"]) == (int, "private")


@pytest.mark.parametrize("method", LISTS)
def test_all_pages_have_one_scope(client, method):
    """PAG-06, CACHE-03, BL-043: the second page has what the first one has."""
    with override_settings(DJANGO_MCP={**OPEN, "PAGE_SIZE": 1}):
        first = client.modern(method).result
        second = client.modern(method, {"cursor": first["nextCursor"]}).result
    for result in (first, second):
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
        assert set(result) - {"nextCursor"} == {LISTS[method], "resultType", "ttlMs", "cacheScope", "_meta"}


@BUGS
def test_a_site_may_promise_more_for_its_lists(client, monkeypatch):
    """CACHE-04, CACHE-06, DISC-10: what is not promised stays private."""
    monkeypatch.setattr(bugs, "cache", CacheHint(ttl_ms=5000, scope="public"))
    result = client.modern("server/discover").result
    assert (result["ttlMs"], result["cacheScope"]) == (5000, "private")  # its instructions are translated
    with override_settings(USE_I18N=False):
        result = client.modern("server/discover").result
    assert (result["ttlMs"], result["cacheScope"]) == (5000, "public")


@pytest.mark.parametrize("version", LEGACY)
def test_members_that_nobody_knows_are_tolerated(client, version):
    """RPC-28, INIT-15: in the handshake, its capabilities, params and _meta."""
    capabilities = {"extensions": {"io.modelcontextprotocol/ui": {}}, "odd": {"x": 1}, "experimental": {}}
    client_info = {"name": "c", "version": "1", "colour": "red", "icons": []}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": client_info, "more": 1}
    answer = client.post({**client.message("initialize", params), "extra": True})
    assert answer.status == 200
    assert Session.objects.get().client_capabilities == capabilities
    client.session = answer.header("Mcp-Session-Id")
    assert client.legacy("tools/list", {"filter": "x", "_meta": {"com.example/x": 1}}).result["tools"]


def test_modern_members_that_nobody_knows_are_tolerated(client):
    """RPC-28, DISC-01, META-04, META-10."""
    meta = {
        f"{META}clientCapabilities": {"odd": {"x": 1}, "extensions": {"com.example/x": {}}},
        f"{META}clientInfo": {"name": "c", "version": "1", "colour": "red"},
        f"{META}logLevel": "debug",
        "com.example/x": 1,
        "progressToken": "t",
    }
    for method in ("server/discover", "tools/list"):
        assert client.modern(method, {"more": 1}, meta=meta).status == 200


def test_nothing_is_learnt_from_the_request_before(client):
    """S243, RPC-22, META-07: a capability counts for the request that brought it."""
    params = {"name": "needs_sampling"}
    capable = {f"{META}clientCapabilities": {"sampling": {}}}
    statuses = [client.modern("tools/call", params, meta=meta).status for meta in (None, capable, None)]
    assert statuses == [400, 200, 400]


def test_error_answers_have_the_shape_of_the_schema(client):
    """S240, RPC-05, RPC-06, RPC-18, RPC-19, VER-16, VER-17, MH-14, MH-22, MH-23."""
    answers = [
        client.post(b"garbage"),
        client.modern("no/such", id=1),
        client.modern("tools/call", {"name": "nope"}, id=1),
        client.modern("tools/list", {"cursor": "x"}, id=1),
        client.modern("resources/read", {"uri": "static://none"}, id=1),
        client.modern("resources/read", {"uri": "static://broken"}, id=1),
        client.modern("tools/call", {"name": "noargs"}, id=1, headers={"Mcp-Name": "x"}),
        client.modern("tools/list", id=1, meta={f"{META}clientCapabilities": None}),
    ]
    assert [answer.status for answer in answers] == [400, 404, 400, 400, 400, 200, 400, 400]
    for answer in answers:
        error = answer.error
        assert (type(error["code"]), type(error["message"])) == (int, str)
        assert set(error) <= {"code", "message", "data"}
        assert "\n" not in error["message"]
        assert error["code"] in (-32700, -32601, -32602, -32603, -32020)
        assert answer.json.get("id") == (None if answer is answers[0] else 1)


@pytest.mark.parametrize("version", LEGACY)
def test_errors_of_legacy_handlers_ride_on_200(client, version):
    """LH-37, RPC-09."""
    client.initialize(version)
    codes = [
        client.legacy(method, params).error["code"]
        for method, params in (
            ("no/such", {}),
            ("tools/call", {"name": "nope"}),
            ("resources/read", {"uri": "static://none"}),
            ("resources/read", {"uri": "static://broken"}),
            ("tools/list", {"cursor": "x"}),
        )
    ]
    assert codes == [-32601, -32602, -32002, -32603, -32602]
    assert client.legacy("no/such").status == 200


REVISIONS = [*LEGACY, "modern"]


@BUGS
@pytest.mark.parametrize("era", REVISIONS)
def test_the_server_describes_itself_as_the_revision_allows(client, era, monkeypatch):
    """S35, S20, INIT-02, INIT-05, ICON-01, DISC-02, DISC-03, DISC-06, DISC-07, DISC-11, section 33."""
    monkeypatch.setattr(bugs, "title", "The bugs")
    monkeypatch.setattr(bugs, "description", "All of them")
    monkeypatch.setattr(bugs, "website_url", "https://bugs.example")
    monkeypatch.setattr(bugs, "icons", [Icon("https://bugs.example/i.png", "image/png", ["48x48"], "dark")])
    known = {"name", "version"}
    known |= {"title"} if era not in ("2024-11-05", "2025-03-26") else set()
    known |= {"description", "websiteUrl", "icons"} if era in ("2025-11-25", "modern") else set()
    if era == "modern":
        result = client.modern("server/discover").result
        assert "serverInfo" not in result
        info = result["_meta"][f"{META}serverInfo"]
        assert set(result["capabilities"]) <= {"tools", "resources", "prompts", "completions", "logging"}
    else:
        result = client.initialize(era).result
        assert set(result) == {"protocolVersion", "capabilities", "serverInfo", "instructions"}
        info = result["serverInfo"]
    assert result["instructions"] == "Yes"
    assert set(info) == known
    if "icons" in known:
        icon = {"src": "https://bugs.example/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}
        assert info["icons"] == [icon]


@BUGS
@pytest.mark.parametrize("era", REVISIONS)
def test_icons_and_metadata_are_shown_where_they_exist(client, era):
    """S260, ICON-01, ICON-02, META-13, section 33."""

    def shown() -> None:
        """Never called."""

    options: dict[str, Any] = {
        "icons": [Icon("data:image/png;base64,AA==")],
        "meta": {"com.example/key": [1]},
        "title": "T",
    }
    with bugs.registry.override():
        bugs.register(ToolDefinition.from_function(shown, name="shown", **options))
        bugs.register(PromptDefinition.from_function(shown, name="shown", **options))
        for method in ("tools/list", "prompts/list"):
            listed = {one["name"]: one for one in client.call(era, method).result[LISTS[method]]}["shown"]
            assert ("icons" in listed) is (era in ("2025-11-25", "modern"))
            assert (listed.get("_meta") == {"com.example/key": [1]}) is (era not in ("2024-11-05", "2025-03-26"))
            assert ("title" in listed) is (era not in ("2024-11-05", "2025-03-26"))


def test_requests_before_the_handshake_are_refused_at_once(client):
    """INIT-01, INIT-09, LH-30."""
    for method in ("tools/list", "ping", "logging/setLevel"):
        assert client.legacy(method).status == 400


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
@pytest.mark.parametrize(
    ("header", "status"), [("1999-01-01", 400), ("foo", 400), ("", 400), ("2025-06-18", 204), (None, 204)]
)
def test_the_version_header_is_checked_for_every_verb(client, verb, header, status):
    """LH-35, VER-10, VER-24, row 20 of the era table."""
    client.initialize()
    headers = {**client.session_headers, "MCP-Protocol-Version": header}
    if verb == "GET":  # which would go on for ever where it is served
        headers["Accept"] = "application/json"
        status = 400 if status == 400 else 406 if client.door.can_stream else 405
    assert client.send(verb, headers=headers).status == status


def test_answers_to_nobodys_questions_need_their_session(client):
    """S215, S227, VER-22, LH-06, LH-36: they are routed by their headers, for they have no envelope."""
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert client.post(reply).status == 400
    assert client.post(reply, {"Mcp-Session-Id": "unknown"}).status == 404
    client.initialize()
    assert client.post(reply, client.session_headers).status == 202


@pytest.mark.parametrize("value", ["1", "true", "=?base64?MQ==?=", "1.0", "01"])
def test_a_legacy_session_has_no_routing_headers(client, value):
    """Section 33: what they say is nothing to it."""
    client.initialize()
    answer = client.legacy("tools/list", headers={"Mcp-Method": value, "Mcp-Name": value, "Mcp-Param-X": value})
    assert answer.status == 200


def envelope(**members):
    return {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}, **members}


def a_call(method="tools/call", meta=None, **params):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **({"_meta": meta} if meta else {})}}


@override_settings(DJANGO_MCP={"MAX_BODY": 2000}, MIDDLEWARE=[])
def test_what_is_wrong_is_told_in_one_order(client):
    """S205, MH-34: each step mends the first fault of the request before, and the next one is told."""
    good: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "noargs"}
    faults = {
        "Host": "evil.example",
        "Origin": "http://evil.example",
        "Content-Type": "text/plain",
        "Accept": "text/html",
        "MCP-Protocol-Version": "2025-11-25",
        "Mcp-Method": "tools/list",
        "Mcp-Name": "x",
    }
    _token, token = AccessToken.objects.issue(User.objects.create(username="ann"))
    future = envelope(**{f"{META}protocolVersion": "2031-01-01", f"{META}clientCapabilities": None})
    steps: list[tuple[dict[str, str | None], Any, int, int]] = [
        ({}, b" " * 3000, 400, -32600),
        ({"Host": "testserver"}, b" " * 3000, 403, -32600),
        ({"Origin": None}, b" " * 3000, 401, -32600),
        ({"Authorization": f"Bearer {token}"}, b" " * 3000, 415, -32600),
        ({"Content-Type": "application/json"}, b" " * 3000, 406, -32600),
        ({"Accept": "*/*"}, b" " * 3000, 413, -32600),
        ({}, b"{", 400, -32700),
        ({}, {"jsonrpc": "1.0", "id": 1, "method": "tools/call"}, 400, -32600),
        ({"MCP-Protocol-Version": MODERN}, a_call(), 400, -32602),
        ({}, a_call(meta=future), 400, -32020),
        ({"MCP-Protocol-Version": "2031-01-01"}, a_call("no/such", future), 400, -32020),
        ({"Mcp-Method": "no/such"}, a_call("no/such", future), 400, -32022),
        (
            {"MCP-Protocol-Version": MODERN},
            a_call("no/such", envelope(**{f"{META}clientCapabilities": None})),
            400,
            -32602,
        ),
        ({}, a_call("no/such", envelope()), 404, -32601),
        (good, a_call(meta=envelope(), name="noargs", arguments=[]), 400, -32602),
    ]
    headers: dict[str, str | None] = dict(faults)
    for mended, body, status, code in steps:
        headers |= mended
        answer = client.post(body, headers)
        assert (answer.status, answer.error["code"]) == (status, code), json.dumps(mended)
    assert client.post(a_call(meta=envelope(), name="noargs"), headers).status == 200


@BUGS
def test_no_more_than_a_hundred_values_complete_an_argument(client):
    """CMP-04, CMP-02: and there is a word for what was left out."""

    def pick(word: str) -> None:
        """Never called."""

    with bugs.registry.override():
        everything = [f"word {number:03}" for number in range(250)]
        bugs.register(PromptDefinition.from_function(pick, name="pick", complete={"word": everything}))
        params = {"ref": {"type": "ref/prompt", "name": "pick"}, "argument": {"name": "word", "value": "word"}}
        for era in ("modern", "2024-11-05"):
            completion = client.call(era, "completion/complete", params).result["completion"]
            assert len(completion["values"]) == 100
            assert (completion["total"], completion["hasMore"]) == (250, True)


@BUGS
def test_values_that_were_chosen_before_reach_the_completer(client):
    """CMP-03."""

    def cities(value, context, arguments):
        return {"de": ["Berlin", "Bonn"], "fr": ["Paris"]}[arguments["country"]]

    def visit(country: str, city: str) -> None:
        """Never called."""

    with bugs.registry.override():
        bugs.register(PromptDefinition.from_function(visit, name="visit", complete={"city": cities}))
        params: dict[str, Any] = {
            "ref": {"type": "ref/prompt", "name": "visit"},
            "argument": {"name": "city", "value": ""},
        }
        params["context"] = {"arguments": {"country": "fr"}}
        assert client.modern("completion/complete", params).result["completion"]["values"] == ["Paris"]
