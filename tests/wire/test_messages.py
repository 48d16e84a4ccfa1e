"""What counts as a message, and how its id comes back."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.wire.client import META, MODERN


@pytest.mark.parametrize("bad", [None, True, 1.5, {}, [1]])
def test_a_bad_id_is_an_invalid_request_and_nothing_runs(client, bad):
    """BL-018, RPC-02, S3"""
    message = {"jsonrpc": "2.0", "id": bad, "method": "tools/call", "params": {"name": "make_row"}}
    answer = client.post(message)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert "id" not in answer.json
    assert not User.objects.exists()


@pytest.mark.parametrize("good", [0, "", -3, 9007199254740993, "1", "007", "1.0", "ключ"])
def test_an_id_comes_back_with_its_value_and_type(client, era, good):
    """RPC-03, BL-018, BL-093, X14"""
    if era != "modern":
        client.initialize(era)
    send = client.modern if era == "modern" else client.legacy
    for method in ("tools/list", "no/such"):
        answer = send(method, id=good)
        assert answer.json["id"] == good
        assert type(answer.json["id"]) is type(good)


@pytest.mark.parametrize("method", ["tools/call", "initialize", "ping", "no/such"])
def test_a_request_without_an_id_is_a_notification_that_does_nothing(client, era, method):
    """S211, BL-017, RPC-07: no reply, no effect. S4"""
    message = {"jsonrpc": "2.0", "method": method, "params": {"name": "make_row", "arguments": {}}}
    headers = {"MCP-Protocol-Version": MODERN}
    if era != "modern":
        client.initialize(era)
        headers = client.session_headers
    answer = client.post(message, headers)
    assert (answer.status, answer.body) == (202, b"")
    assert not User.objects.exists()


def test_a_notification_with_an_id_is_a_request_for_an_unknown_method(client, era):
    """BL-017, S11"""
    assert client.call(era, "notifications/initialized").error["code"] == -32601


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"[" * 20000 + b"]" * 20000,
        b'{"a":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 6000 + b',"method":"ping"}',
    ],
)
def test_what_is_no_json_is_a_parse_error(client, body):
    """S210, BL-008, BL-036, BL-090, RPC-30: always a JSON answer, never a 500. S7"""
    answer = client.post(body)
    assert (answer.status, answer.error["code"]) == (400, -32700)


@pytest.mark.parametrize("value", [b"42", b'"text"', b"null", b"{}", b'{"jsonrpc":"1.0","id":1,"method":"ping"}'])
def test_what_is_no_message_is_an_invalid_request(client, value):
    """RPC-08, S2, S8"""
    answer = client.post(value)
    assert (answer.status, answer.error["code"]) == (400, -32600)


def test_deep_arguments_are_answered_and_the_next_request_works(client, era):
    """S209, BL-008."""
    deep: Any = "x"
    for _ in range(500):
        deep = {"a": deep}
    answer = client.call(era, "tools/call", {"name": "echo", "arguments": {"text": deep}})
    assert (answer.status, answer.error["code"]) == (400, -32700)
    assert client.call_tool(era, "echo", {"text": "still here"})["content"][0]["text"] == "still here"


@pytest.mark.parametrize("params", [[], "text", 5, None])
def test_params_that_are_no_object_are_invalid_params(client, params):
    """BL-065, S6"""
    answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32602, 1)


def test_a_byte_order_mark_is_accepted(client):
    """BL-090."""
    body = b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    assert client.post(body).error["code"] == -32602


def test_a_modern_reply_is_refused_and_a_legacy_one_dropped(client):
    """RPC-27, LH-36, BL-100, rows 16 and 17 of the era table."""
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    answer = client.post(reply, {"MCP-Protocol-Version": MODERN})
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert "id" not in answer.json
    client.initialize()
    for message in (reply, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}):
        answer = client.post(message, client.session_headers)
        assert (answer.status, answer.body) == (202, b"")


def test_what_a_client_tells_of_its_own_requests_is_accepted_and_means_nothing(client):
    """S138: progress of something that nobody asked of it."""
    client.initialize()
    params = {"progressToken": "nobody's", "progress": 1}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    answer = client.post(message, client.session_headers)
    assert (answer.status, answer.body) == (202, b"")


def test_unknown_methods_are_404_for_modern_clients_alone(client, era):
    """MH-22, VER-17, BL-069, S10"""
    answer = client.call(era, "foo/bar")
    assert answer.error["code"] == -32601
    assert answer.status == (404 if era == "modern" else 200)


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
def test_removed_methods_do_not_exist_for_modern_clients(client, method):
    """VER-11, PING-03, RES-10, S17, S47, BL-084"""
    answer = client.modern(method, id="x")
    assert (answer.status, answer.error["code"], answer.json["id"]) == (404, -32601, "x")


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/update"])
def test_modern_methods_do_not_exist_for_legacy_clients(client, method):
    """VER-13, S17."""
    client.initialize()
    answer = client.legacy(method)
    assert (answer.status, answer.error["code"]) == (200, -32601)


def test_requests_of_both_eras_may_follow_each_other_in_any_order(client):
    """MH-01, S234, BL-084, VER-04, S53"""
    assert client.modern("initialize").status == 404
    assert client.modern("tools/list").status == 200
    assert client.initialize().status == 200
    assert client.modern("tools/list").status == 200
    assert client.legacy("tools/list").status == 200


def test_the_meta_of_a_legacy_request_does_not_make_it_modern(client):
    """BL-039, VER-05, RPC-16."""
    client.initialize()
    result = client.legacy("tools/list", {"_meta": {"progressToken": 1}}).result
    assert set(result) == {"tools"}


def test_ping_is_answered_with_nothing_at_all(client, era):
    """PING-01, BL-038, S39"""
    if era == "modern":
        pytest.skip("the modern era has no ping")
    assert client.call(era, "ping").result == {}


def test_the_context_tells_what_the_call_brought(client):
    """S50"""
    meta = {"example.com/trace": "t", f"{META}clientInfo": {"name": "c", "version": "1"}}
    params = {"name": "about_the_call", "arguments": {}}
    about = client.modern("tools/call", params, id="seven", meta=meta).result["structuredContent"]
    assert about["version"] == MODERN
    assert about["id"] == "seven"
    assert about["client"] == {"name": "c", "version": "1"}
    assert about["meta"]["example.com/trace"] == "t"
    assert (about["path"], about["server"], about["session"]) == ("/mcp", "default", False)
