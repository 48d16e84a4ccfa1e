"""Eras and revisions told apart per message (checklist section 5 and table 32.1)."""

from typing import Any

import pytest
from django.test import override_settings

from tests.wire.client import LEGACY, META, MODERN

ALL = [MODERN, *reversed(LEGACY)]


@pytest.mark.parametrize("version", LEGACY)
def test_a_supported_version_is_echoed(client, version):
    """INIT-03, BL-047, S31, S33"""
    answer = client.initialize(version)
    assert answer.result["protocolVersion"] == version


@pytest.mark.parametrize("version", [MODERN, "9999-12-31", "abc"])
def test_any_other_version_is_answered_with_the_newest_legacy_one(client, version):
    """VER-12, BL-047, S33"""
    answer = client.initialize(version)
    assert answer.status == 200
    assert answer.result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "protocolVersion"),
        ({"protocolVersion": 20251125, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}, "protocolV"),
        ({"protocolVersion": "2025-11-25", "capabilities": None}, "capabilities"),
        ({"protocolVersion": "2025-11-25", "capabilities": {}}, "clientInfo"),
        ({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"version": "1"}}, "clientInfo"),
        ({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}, "clientInfo.version"),
    ],
)
def test_an_incomplete_handshake_names_the_field_and_opens_no_session(client, params, field):
    """S211, BL-095, S32"""
    answer = client.post(client.message("initialize", params))
    assert answer.error["code"] == -32602
    assert field in answer.error["message"]
    assert answer.header("Mcp-Session-Id") is None


def test_a_header_that_contradicts_the_handshake_is_refused(client):
    """BL-046."""
    answer = client.initialize("2025-11-25", {"MCP-Protocol-Version": "2025-03-26"})
    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32600, 1)
    assert answer.header("Mcp-Session-Id") is None


def test_a_handshake_may_carry_its_own_version_header(client):
    """Row 2 of the era table."""
    assert client.initialize("2025-11-25", {"MCP-Protocol-Version": "2025-11-25"}).status == 200


@pytest.mark.parametrize("header", ["1999-01-01", "foo", ""])
def test_an_unusable_version_header_is_refused_in_a_session(client, header):
    """S218, X23, VER-10, BL-045: and the refusal lists the versions of both eras, for the client is a legacy one."""
    client.initialize()
    answer = client.legacy("tools/list", headers={"MCP-Protocol-Version": header})
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert answer.error["data"] == {"supported": ALL, "requested": header}
    assert client.initialize(headers={"MCP-Protocol-Version": header}).error["data"]["supported"] == ALL


def test_the_session_keeps_its_version_whatever_the_header_says(client):
    """INIT-07, S218, X18, VER-09, VER-24, BL-045: header absent, or another supported one."""
    client.initialize("2025-03-26")
    for header in (None, "2025-11-25"):
        tools = client.legacy("tools/list", headers={"MCP-Protocol-Version": header}).result["tools"]
        assert not any("outputSchema" in tool or "title" in tool for tool in tools)


def _enveloped(client, version, header, method="tools/list"):
    meta = {f"{META}protocolVersion": version}
    return client.modern(method, meta=meta, headers={"MCP-Protocol-Version": header}, id=5)


def test_an_envelope_without_the_header_is_a_header_mismatch(client):
    """S236, VER-07, row 8."""
    answer = _enveloped(client, MODERN, None)
    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32020, 5)


@pytest.mark.parametrize("version", [MODERN, "2031-01-01"])
def test_header_and_envelope_that_differ_are_told_before_support(client, version):
    """S236, VER-06, row 9."""
    answer = _enveloped(client, version, "2025-11-25")
    assert (answer.status, answer.error["code"]) == (400, -32020)


@pytest.mark.parametrize("method", ["tools/list", "server/discover", "no/such"])
def test_an_unknown_version_is_told_which_there_are(client, method):
    """VER-02, row 11."""
    answer = _enveloped(client, "2031-01-01", "2031-01-01", method)
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert answer.error["data"] == {"supported": ALL, "requested": "2031-01-01"}


def test_an_envelope_that_names_a_legacy_version_is_offered_modern_ones_only(client):
    """VER-15, VER-23, row 12, BL-039: never a mixed shape."""
    answer = _enveloped(client, "2025-11-25", "2025-11-25")
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert answer.error["data"]["supported"] == [MODERN]


@pytest.mark.parametrize(
    "meta",
    [
        {f"{META}protocolVersion": 5},
        {f"{META}clientCapabilities": None},
        {f"{META}clientCapabilities": []},
        {f"{META}logLevel": "loud"},
        {f"{META}clientInfo": "me"},
    ],
)
def test_a_malformed_envelope_is_invalid_params(client, meta):
    """META-03, META-14, BL-082, S43, S44"""
    answer = client.modern("tools/list", meta=meta)
    assert (answer.status, answer.error["code"]) == (400, -32602)


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": {"progressToken": 1}}])
def test_a_modern_header_without_an_envelope_is_invalid_params(client, params):
    """VER-08, row 10."""
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
    answer = client.post(client.message("server/discover", params), headers)
    assert (answer.status, answer.error["code"]) == (400, -32602)


def test_client_info_is_not_demanded(client):
    """META-04."""
    assert client.modern("tools/list").status == 200


def test_discover_lists_what_works_and_nothing_else(client, door):
    """DISC-01..11, VER-14, BL-039, BL-078, S40."""
    result = client.modern("server/discover").result
    assert result["supportedVersions"] == ALL
    assert result["resultType"] == "complete"
    logging = {"logging"} if door.can_stream else set()
    assert set(result["capabilities"]) == {"tools", "prompts", "resources", "completions"} | logging
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert client.modern(method).status == 200
    assert client.modern("tools/list").status == 200


def test_the_handshake_offers_what_the_door_can_do(client, door):
    """INIT-06, BL-078: nothing that needs messages of the server where none can be sent."""
    capabilities = client.initialize().result["capabilities"]
    expected: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
    if door.can_stream:
        for name in ("tools", "prompts", "resources"):
            expected[name]["listChanged"] = True
        expected["resources"]["subscribe"] = True
        expected["logging"] = {}
    assert capabilities == expected
    for method, params in (
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "static://a"}),
        ("resources/unsubscribe", {"uri": "static://a"}),
    ):
        answer = client.legacy(method, params)
        assert ("result" in answer.json) is door.can_stream
        assert door.can_stream or answer.error["code"] == -32601


def test_a_door_without_streams_says_so_to_modern_clients(client, door):
    """DISC-05, SUB-14, S42: under WSGI."""
    capabilities = client.modern("server/discover").result["capabilities"]
    assert ("listChanged" in capabilities["tools"]) is door.can_stream
    if not door.can_stream:
        answer = client.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        assert (answer.status, answer.error["code"]) == (404, -32601)
        assert client.send("GET", headers=client.session_headers).status == 405


def test_a_site_may_do_without_streams(client, door):
    """STREAMS: some of its workers run under WSGI."""
    settings = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "STREAMS": False}
    with override_settings(DJANGO_MCP=settings):
        capabilities = client.initialize().result["capabilities"]
        assert capabilities == {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
        answer = client.send("GET", headers={**client.session_headers, "Accept": "text/event-stream"})
        assert (answer.status, answer.header("Allow")) == (405, "POST, DELETE, OPTIONS")


def test_old_clients_hear_nothing_of_completions_but_get_them(client):
    """CMP-01."""
    assert "completions" not in client.initialize("2024-11-05").result["capabilities"]
    params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": "An"}}
    assert client.legacy("completion/complete", params).result["completion"]["values"] == ["Ann", "Anton"]


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources", "resources/templates"])
def test_modern_lists_carry_what_the_era_wants_and_legacy_ones_do_not(client, era, kind):
    """RPC-15, RPC-16, CACHE-01, BL-043, S49"""
    result = client.call(era, f"{kind}/list").result
    extra = set(result) - {"tools", "prompts", "resources", "resourceTemplates"}
    if era == "modern":
        assert extra == {"resultType", "ttlMs", "cacheScope", "_meta"}
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        assert result["_meta"][f"{META}serverInfo"]["name"] == "default"
    else:
        assert extra == set()


def test_modern_calls_carry_a_result_type_but_no_cache_hints(client):
    """CACHE-02, BL-043, S48"""
    params = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}}
    for answer in (
        client.modern("tools/call", {"name": "noargs"}),
        client.modern("tools/call", {"name": "fail"}),
        client.modern("prompts/get", {"name": "plain"}),
        client.modern("completion/complete", params),
    ):
        assert answer.result["resultType"] == "complete"
        assert "ttlMs" not in answer.result
    read = client.modern("resources/read", {"uri": "static://a"}).result
    assert (read["ttlMs"], read["cacheScope"]) == (0, "private")


def test_a_session_header_means_nothing_to_a_modern_request(client):
    """S235, VER-21, MH-32, BL-096."""
    answer = client.modern("tools/list", headers={"Mcp-Session-Id": "abc", "Last-Event-ID": "5"})
    assert answer.status == 200
    assert answer.header("Mcp-Session-Id") is None
