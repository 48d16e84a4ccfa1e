"""Legacy sessions over the wire (checklist section 8)."""

import pytest
from django.test import override_settings
from django.utils import timezone

from django_mcp.models import Session
from tests.wire.client import LEGACY, MODERN, WireClient


@pytest.mark.parametrize("version", LEGACY)
def test_the_handshake_opens_a_session_that_serves_at_once(client, version):
    """S37, S211, S222, INIT-02, INIT-09, LH-28, LH-29, BL-094: also before notifications/initialized."""
    answer = client.initialize(version)
    assert all(0x21 <= ord(letter) <= 0x7E for letter in client.session)
    assert answer.result["serverInfo"]["name"] == "default"
    assert client.legacy("tools/list").status == 200
    assert client.notify("notifications/initialized").status == 202
    assert client.notify("notifications/initialized").body == b""
    assert Session.objects.get().initialized


def test_the_id_is_not_what_is_stored(client):
    client.initialize()
    assert client.session not in str(Session.objects.values().get())


def test_a_request_without_a_session_is_told_so_and_gets_none(client):
    """S227, LH-30, BL-052."""
    for method in ("tools/call", "tools/list", "ping"):
        answer = client.legacy(method, id=3)
        assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32600, 3)
        assert answer.header("Mcp-Session-Id") is None
    assert client.notify("notifications/initialized").status == 400
    assert not Session.objects.exists()


@pytest.mark.parametrize("session", ["deadbeef", "../etc", "x" * 10_000, "\xff\xfe", " "])
def test_an_unknown_session_is_not_found(client, session):
    """S227, LH-31, BL-051: for every verb, and for ping too, in JSON."""
    headers = {"Mcp-Session-Id": session}
    for method in ("tools/list", "ping"):
        answer = client.legacy(method, headers=headers, id=4)
        assert (answer.status, answer.json["id"]) == (404, 4)
    for verb in ("GET", "DELETE"):
        if verb == "GET" and not client.door.can_stream:
            continue
        answer = client.send(verb, headers={**headers, "Accept": "text/event-stream"})
        assert (answer.status, answer.header("Content-Type")) == (404, "application/json")


def test_delete_ends_the_session(client):
    """S217, LH-32, INIT-13."""
    client.initialize()
    headers = client.session_headers
    answer = client.send("DELETE", headers=headers)
    assert (answer.status, answer.body) == (204, b"")
    assert client.legacy("tools/list").status == 404
    assert client.send("DELETE", headers=headers).status == 404
    assert not Session.objects.exists()


def test_delete_without_a_session_is_a_bad_request(client):
    assert client.send("DELETE").status == 400


def test_an_expired_session_is_not_found(client):
    """LH-33."""
    client.initialize()
    Session.objects.update(expires=timezone.now())
    assert client.legacy("tools/list").status == 404


def test_an_old_id_is_no_way_to_choose_the_new_one(client):
    """S212, BL-052: no fixation."""
    answer = client.initialize(headers={"Mcp-Session-Id": "chosen-by-me"})
    assert answer.status == 200
    assert client.session != "chosen-by-me"


def test_a_second_handshake_inside_a_live_session_is_refused(client):
    """S36, S212, INIT-12."""
    client.initialize()
    answer = client.initialize(headers=client.session_headers)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert Session.objects.count() == 1


def test_a_session_header_that_comes_twice_is_refused(client, door):
    client.initialize()
    pairs = [
        ("Host", "testserver"),
        ("Content-Type", "application/json"),
        ("Mcp-Session-Id", client.session),
        ("Mcp-Session-Id", client.session),
    ]
    answer = door.send("POST", "/mcp", pairs, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert answer.status in ((400,) if door.can_stream else (400, 404))


def test_two_version_headers_that_differ_are_refused(client, door):
    """BL-045."""
    client.initialize()
    pairs = [
        ("Host", "testserver"),
        ("Content-Type", "application/json"),
        ("Mcp-Session-Id", client.session),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "2025-06-18"),
    ]
    assert door.send("POST", "/mcp", pairs, b'{"jsonrpc":"2.0","id":1,"method":"ping"}').status == 400
    assert door.send("DELETE", "/mcp", pairs).status == 400


@pytest.mark.parametrize("level", ["debug", "emergency"])
def test_a_log_level_is_kept_in_the_session(client, door, level):
    """LOG-02, BL-082."""
    if not door.can_stream:
        pytest.skip("no logging where nothing can be sent")
    client.initialize()
    assert client.legacy("logging/setLevel", {"level": level}).result == {}
    assert Session.objects.get().log_level == level


@pytest.mark.parametrize("params", [{"level": "verbose"}, {"level": "ERROR"}, {}])
def test_an_unknown_log_level_is_invalid_params(client, door, params):
    """LOG-05, BL-082."""
    if not door.can_stream:
        pytest.skip("no logging where nothing can be sent")
    client.initialize()
    assert client.legacy("logging/setLevel", params).error["code"] == -32602


def test_too_many_young_anonymous_sessions_are_put_off(client):
    settings = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "ANONYMOUS_SESSIONS": 2}
    with override_settings(DJANGO_MCP=settings):
        assert [client.initialize().status for _ in range(3)] == [200, 200, 429]
        answer = client.initialize()
    assert int(answer.header("Retry-After")) > 0
    assert answer.error["code"] == -32600


def test_each_session_knows_its_own_client(door):
    """S38."""
    first, second = WireClient(door), WireClient(door)
    first.initialize("2025-06-18")
    second.initialize("2025-11-25")
    params = {"name": "about_the_call", "arguments": {}}
    assert first.legacy("tools/call", params).result["structuredContent"]["version"] == "2025-06-18"
    assert second.legacy("tools/call", params).result["structuredContent"]["version"] == "2025-11-25"


@pytest.mark.parametrize("version", [None, "2025-03-26"])
def test_a_batch_is_answered_with_an_array_of_answers(client, version):
    """S9, RPC-12, RPC-13, BL-070, row 18."""
    client.initialize("2025-03-26")
    headers = {**client.session_headers, "MCP-Protocol-Version": version}
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "2", "method": "tools/call", "params": {"name": "make_row"}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {}},
        1,
    ]
    answers = client.post(batch, headers).json
    assert [answer.get("id") for answer in answers] == [1, "2", 3, 4, None]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [None, None, -32601, -32600, -32600]


def test_a_batch_without_requests_is_accepted_silently(client):
    client.initialize("2025-03-26")
    batch = [{"jsonrpc": "2.0", "method": "notifications/x"}, {"jsonrpc": "2.0", "id": 1, "result": {}}]
    answer = client.post(batch, client.session_headers)
    assert (answer.status, answer.body) == (202, b"")


def test_an_empty_batch_is_an_invalid_request(client):
    client.initialize("2025-03-26")
    answer = client.post([], client.session_headers)
    assert (answer.status, answer.error["code"]) == (400, -32600)


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-06-18", "2025-11-25", MODERN])
def test_batches_are_refused_everywhere_else(client, version):
    """LH-04, S210, RPC-14, MH-04, BL-070, row 19: and nothing of them runs."""
    headers = {"MCP-Protocol-Version": MODERN}
    if version != MODERN:
        if version is not None:
            client.initialize(version)
        headers = client.session_headers
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "make_row"}}]
    answer = client.post(batch, headers)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert "id" not in answer.json
    assert client.modern("tools/call", {"name": "count_rows"}).result["structuredContent"] == 0


def test_get_needs_a_session_a_stream_and_an_accept(client, door):
    """LH-16, BL-023: always an answer, at once."""
    headers = {"Accept": "text/event-stream"}
    if not door.can_stream:
        client.initialize()
        answer = client.send("GET", headers={**headers, **client.session_headers})
        assert (answer.status, answer.header("Allow")) == (405, "POST, DELETE, OPTIONS")
        return
    assert client.send("GET", headers=headers).status == 400
    client.initialize()
    refused = {**client.session_headers, "Accept": "application/json"}
    assert client.send("GET", headers=refused).status == 406
    unknown = {**client.session_headers, **headers, "MCP-Protocol-Version": "1999-01-01"}
    assert client.send("GET", headers=unknown).status == 400
