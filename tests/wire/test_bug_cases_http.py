"""Rows of the bug log about HTTP: messages, headers, origins, paths, sizes and challenges."""

import asyncio
from datetime import timedelta
from itertools import product

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone

from django_mcp.models import AccessToken, Session
from tests.wire.client import DEFAULT_HEADERS, META, MODERN, WireClient
from tests.wire.doors import consumer, scope_of
from tests.wire.test_headers import marked

APP = "https://app.example"
OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
SSE = {"Accept": "text/event-stream"}
BUGS = override_settings(ROOT_URLCONF="tests.wire.bugs")


@pytest.mark.parametrize("version", ["modern", "2025-11-25"])
def test_a_bad_id_is_refused_whatever_the_method_and_era(client, version):
    """BL-018, RPC-02."""
    headers = {"MCP-Protocol-Version": MODERN}
    if version != "modern":
        client.initialize(version)
        headers = client.session_headers
    for bad, method in product(("null", "true", "1.5", "{}", "[1]", "1e2"), ("ping", "tools/list")):
        answer = client.post(f'{{"jsonrpc":"2.0","id":{bad},"method":"{method}"}}'.encode(), headers)
        assert (answer.status, answer.error["code"]) == (400, -32600)
        assert "id" not in answer.json


def test_notifications_that_mean_nothing_are_accepted_silently(client):
    """S45, S214, BL-017, BL-069: and a modern notification has no header rules (MH-07)."""
    client.initialize()
    for method in ("notifications/initialized", "notifications/unknown", "notifications/cancelled"):
        answer = client.notify(method)
        assert (answer.status, answer.body) == (202, b"")
    answer = client.post({"jsonrpc": "2.0", "method": "notifications/cancelled"}, {"MCP-Protocol-Version": MODERN})
    assert (answer.status, answer.body) == (202, b"")


def test_arguments_five_thousand_deep_are_answered(client):
    """BL-008: whatever they are nested in, and the session goes on."""
    client.initialize()
    start = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":'
    for deep in (b'{"a":' * 5000 + b"1" + b"}" * 5000, b"[" * 5000 + b"]" * 5000, b'{"a":' * 100_000):
        answer = client.post(start + deep + b"}}", client.session_headers)
        assert (answer.status, answer.error["code"]) == (400, -32700)
    assert client.legacy("ping").result == {}


@pytest.mark.parametrize("body", ["[]", "[1,2]", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'])
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "modern"])
def test_no_array_is_a_message(client, version, body):
    """BL-070, RPC-14."""
    headers = {"MCP-Protocol-Version": MODERN}
    if version != "modern":
        client.initialize(version)
        headers = client.session_headers
    answer = client.post(body.encode(), headers)
    assert (answer.status, answer.error["code"]) == (400, -32600)
    assert set(answer.json) == {"jsonrpc", "error"}


def test_a_batch_of_no_messages_is_answered_in_its_shape(client):
    """BL-070: in the one revision that has batches."""
    client.initialize("2025-03-26")
    answer = client.post(b"[1,2]", client.session_headers)
    assert [one["error"]["code"] for one in answer.json] == [-32600, -32600]


@override_settings(DJANGO_MCP={"ALLOWED_ORIGINS": [APP]})
def test_a_browser_may_read_the_challenge_and_the_answer(client):
    """BL-010: the headers are there without credentials, with them, as a stream and as an error."""
    _token, value = AccessToken.objects.issue(User.objects.create(username="ann"))
    client.headers["Origin"] = APP
    refused = client.initialize()
    assert (refused.status, refused.header("WWW-Authenticate") is not None) == (401, True)
    client.headers["Authorization"] = f"Bearer {value}"
    answers = [refused, client.initialize(), client.legacy("tools/list", headers=SSE), client.legacy("no/such")]
    answers.append(client.send("DELETE", headers=client.session_headers))
    for answer in answers:
        assert answer.header("Access-Control-Allow-Origin") == APP
        assert "Origin" in answer.header("Vary")
        assert {"Mcp-Session-Id", "WWW-Authenticate"} <= set(answer.header("Access-Control-Expose-Headers").split(", "))


@override_settings(DJANGO_MCP={**OPEN, "ALLOWED_ORIGINS": [APP]})
def test_an_evil_origin_gets_nothing_not_even_a_preflight(client):
    """BL-010."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for answer in (client.send("OPTIONS", headers=asked), client.initialize(headers=asked)):
        assert answer.status == 403
        assert not [name for name, _value in answer.headers if name.lower().startswith("access-control-")]
    assert not Session.objects.exists()


@override_settings(ALLOWED_HOSTS=["mcp.example"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 400),
        ({"Host": "mcp.example:8443"}, 200),
        ({"Host": "mcp.example", "Origin": "http://evil.example"}, 403),
        ({"Host": "mcp.example", "Origin": "null"}, 403),
        ({"Host": "mcp.example"}, 200),
        ({"Host": "inner:8000", "X-Forwarded-Host": "mcp.example"}, 400),
    ],
)
def test_hosts_and_origins_of_a_public_name(client, headers, status):
    """BL-011, SEC-06."""
    assert client.initialize(headers=headers).status == status
    assert Session.objects.exists() is (status == 200)


@override_settings(ALLOWED_HOSTS=["mcp.example"], USE_X_FORWARDED_HOST=True)
def test_the_inner_name_of_the_server_is_no_matter_behind_a_trusted_proxy(client):
    """BL-011."""
    assert client.initialize(headers={"Host": "inner:8000", "X-Forwarded-Host": "mcp.example"}).status == 200
    assert client.initialize(headers={"Host": "mcp.example", "X-Forwarded-Host": "evil.example"}).status == 400


@BUGS
@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "grüße"}, "=?base64?Z3LDvMOfZQ==?="),
        ("prompts/get", {"name": "=?base64?eA==?="}, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("resources/read", {"uri": "note://a b"}, "=?base64?bm90ZTovL2EgYg==?="),
        ("resources/read", {"uri": "note://a b"}, "note://a b"),
    ],
)
def test_an_encoded_name_is_compared_decoded(client, method, params, name):
    """BL-042, MH-12: in a header whose own name is in odd case."""
    assert client.modern(method, params, headers={"Mcp-Name": None, "mcp-NAME": name}).status == 200


@pytest.mark.parametrize("name", ["grüße", "=?base64?eA==?="])
def test_an_encoded_tool_name_agrees_although_no_tool_may_have_it(client, name):
    """BL-042, BL-033: the answer is that of an unknown tool and no header mismatch."""
    answer = client.modern("tools/call", {"name": name}, headers={"Mcp-Name": marked(name)})
    assert (answer.status, answer.error["code"]) == (400, -32602)


def test_two_names_in_the_header_are_refused(client, door):
    """BL-041, MH-20: the first of the two is right."""
    meta = f'{{"{META}protocolVersion":"{MODERN}","{META}clientCapabilities":{{}}}}'
    params = f'{{"name":"make_row","arguments":{{}},"_meta":{meta}}}'
    names = [("Mcp-Method", "tools/call"), ("Mcp-Name", "make_row"), ("Mcp-Name", "add")]
    pairs = [*DEFAULT_HEADERS.items(), ("MCP-Protocol-Version", MODERN), *names]
    body = f'{{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{params}}}'
    answer = door.send("POST", "/mcp", pairs, body.encode())
    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32020, "h")
    assert not User.objects.exists()


@pytest.mark.parametrize(("debug", "append_slash"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("secure", [True, False])
def test_no_spelling_of_the_path_is_redirected(client, debug, append_slash, secure):
    """BL-050."""
    middleware = ["django.middleware.security.SecurityMiddleware", *settings.MIDDLEWARE]
    site = {"DEBUG": debug, "APPEND_SLASH": append_slash, "MIDDLEWARE": middleware}
    if secure:
        client.headers["X-Forwarded-Proto"] = "https"
        site |= {"SECURE_SSL_REDIRECT": True, "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https")}
    with override_settings(**site):
        for path in ("/mcp", "/mcp/", "/mcp?x=1", "/mcp/?x=1"):
            client.path = path
            answer = client.initialize()
            assert (answer.status, answer.header("Location")) == (200, None), path


@override_settings(FORCE_SCRIPT_NAME="/sub", ROOT_URLCONF="tests.wire.sites")
@pytest.mark.parametrize(("path", "status"), [("/sub/api/mcp", 200), ("/sub/api", 404), ("/sub/api/mcp/mcp", 404)])
@pytest.mark.django_db
def test_a_forced_prefix_leads_to_one_path(path, status):
    """BL-106."""
    assert WireClient(consumer(), path).initialize().status == status


@override_settings(ROOT_URLCONF="tests.wire.sites")
@pytest.mark.parametrize(("path", "status"), [("/sub/api/mcp", 200), ("/sub/api/mcp/mcp", 404), ("/sub/api", 404)])
@pytest.mark.django_db
def test_the_root_path_of_the_server_leads_to_one_path(path, status):
    """BL-106: as with uvicorn --root-path."""
    door = consumer()

    async def below_sub(scope, receive, send):
        await inner({**scope, "root_path": "/sub"}, receive, send)

    inner, door.application = door.application, below_sub
    assert WireClient(door, path).initialize().status == status


def test_no_length_or_an_empty_body_is_a_parse_error(client):
    """BL-088."""
    for headers in ({}, {"Content-Length": "0"}):
        answer = client.post(b"", headers)
        assert (answer.status, answer.error["code"]) == (400, -32700)


def test_a_megabyte_in_pieces_of_64_kib_arrives_whole(door):
    """BL-088: a character of three bytes lies across every border it can."""
    if not hasattr(door, "send_chunks"):
        pytest.skip("this door gets the body in one piece")
    text = "\u20ac" * 350_000
    client = WireClient(Chunked(door, 65536))
    assert client.call_tool("2025-11-25", "echo", {"text": text})["content"][0]["text"] == text


class Chunked:
    """A door that takes what it sends apart."""

    def __init__(self, door, size):
        self.door, self.size = door, size

    def send(self, method, path, headers, body=b""):
        pieces = [body[start : start + self.size] for start in range(0, len(body), self.size)]
        return self.door.send_chunks(method, path, headers, pieces or [b""])


@pytest.mark.django_db
@pytest.mark.parametrize(("length", "least"), [("52428800", 0), (None, 3), ("100", 3)])
def test_reading_stops_where_the_limit_is_passed(length, least):
    """BL-088: by its length before a byte is read, without one at the limit, and a wrong one helps nobody."""
    taken = 0

    async def scenario():
        async def receive():
            nonlocal taken
            taken += 1
            await asyncio.sleep(0)  # as a server does, this lets the others run
            return {"type": "http.request", "body": b"x" * 1_000_000, "more_body": True}

        async def send(message):
            sent.append(message)

        headers = [*DEFAULT_HEADERS.items()] + ([("Content-Length", length)] if length else [])
        async with asyncio.timeout(30):
            await consumer().application(scope_of("POST", "/mcp", headers), receive, send)

    sent: list = []
    async_to_sync(scenario)()
    assert sent[0]["status"] == 413
    # Who refuses by the length still listens for a hang-up while the refusal is sent.
    assert least <= taken <= 3


def test_a_utf_16_body_is_refused(client):
    """BL-090."""
    body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16")
    answer = client.post(body, {"Content-Type": "application/json; charset=utf-16"})
    assert (answer.status, answer.error["code"]) == (415, -32600)
    assert client.post(body).status == 400


@override_settings(MIDDLEWARE=["django.middleware.gzip.GZipMiddleware"])
def test_no_stream_is_compressed_measured_or_kept(client):
    """BL-089: a stream of one event either."""
    client.initialize()
    for answer in (
        client.modern("tools/list", headers={**SSE, "Accept-Encoding": "gzip"}),
        client.legacy("tools/list", headers={**SSE, "Accept-Encoding": "gzip"}),
    ):
        assert len(answer.events[0]["result"]["tools"]) > 5
        assert answer.header("X-Accel-Buffering") == "no"
        assert "no-cache" in answer.header("Cache-Control")
        assert [answer.header(name) for name in ("Content-Encoding", "Content-Length", "Connection")] == [None] * 3


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "modern"])
def test_the_first_data_of_a_stream_is_a_message(client, version):
    """BL-107, BL-108, MH-31: no priming event where it would not be understood, no ids in the modern era."""
    if version != "modern":
        client.initialize(version)
    send = client.modern if version == "modern" else client.legacy
    body = send("tools/call", {"name": "echo", "arguments": {"text": "a\nb\r\n\u2028c"}}, headers=SSE).body
    lines = body.decode().split("\n")
    assert lines[0] == "event: message"
    assert lines[1].startswith('data: {"jsonrpc":"2.0"')
    assert lines[2:] == ["", ""]
    assert b"\r" not in body


def test_an_expired_token_is_a_challenge(door):
    """BL-103."""
    user = User.objects.create(username="ann")
    with override_settings(DJANGO_MCP={}):
        token, value = AccessToken.objects.issue(user)
        AccessToken.objects.filter(pk=token.pk).update(expires=timezone.now() - timedelta(seconds=1))
        answer = WireClient(door, headers={"Authorization": f"Bearer {value}"}).modern("tools/list")
    assert answer.status == 401
    assert 'error="invalid_token"' in (answer.header("WWW-Authenticate") or "")


@override_settings(
    DJANGO_MCP={},
    MIDDLEWARE=[*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"],
)
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
def test_a_site_that_demands_a_login_redirects_no_client(client, verb):
    """BL-103."""
    answer = client.send(verb, b"{}")
    assert (answer.status, answer.header("Location")) == (401, None)
    assert answer.header("WWW-Authenticate") == 'Bearer realm="mcp"'


@pytest.mark.parametrize("session", [None, "abc"])
def test_a_modern_delete_breaks_nothing(client, session):
    """BL-097, BL-096."""
    answer = client.send("DELETE", headers={"MCP-Protocol-Version": MODERN, "Mcp-Session-Id": session})
    assert (answer.status, "POST" in (answer.header("Allow") or "")) == (405, True)
    after = client.modern("tools/list", headers={"Mcp-Session-Id": session})
    assert (after.status, after.header("Mcp-Session-Id")) == (200, None)
    assert not Session.objects.exists()


def test_replies_start_no_storm(client):
    """BL-100: a hundred of them, in both eras."""
    client.initialize()
    null = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}
    for number in range(50):
        reply = {"jsonrpc": "2.0", "id": f"never asked {number}", "result": {}}
        for message in (null, reply):
            assert client.post(message, client.session_headers).body == b""
            assert client.post(message, {"MCP-Protocol-Version": MODERN}).status == 400


@override_settings(ROOT_URLCONF="tests.wire.sites")
def test_what_a_server_does_not_offer_is_an_unknown_method(door, era):
    """BL-069, BL-078, RPC-09."""
    client = WireClient(door, path="/acme/mcp")
    for method in ("prompts/list", "resources/list", "resources/templates/list", "foo/bar"):
        answer = client.call(era, method)
        assert (answer.status, answer.error["code"]) == (404 if era == "modern" else 200, -32601)
