"""What is decided before a message is read: methods, hosts, origins, sizes and paths."""

import pytest
from django.db import OperationalError
from django.test import override_settings

from django_mcp.models import Session
from tests.wire.client import META, MODERN, WireClient
from tests.wire.doors import consumer

ORIGIN = "https://app.example"


def mcp(**settings):
    return override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", **settings})


def test_a_foreign_origin_is_refused_before_anything_happens(client, caplog):
    """S231, MH-02, LH-02, BL-011, SEC-06."""
    for origin in ("http://evil.example", "null", "https://testserver", "http://testserver:8443", "http://[", "x"):
        answer = client.initialize(headers={"Origin": origin})
        assert (answer.status, answer.error["code"]) == (403, -32600), origin
        assert "ALLOWED_ORIGINS" in answer.error["message"]
        assert f"the origin {origin!r} was refused: the site's own is 'http://testserver'" in caplog.text
        assert answer.header("Access-Control-Allow-Origin") is None
    assert not Session.objects.exists()


@pytest.mark.parametrize("origin", [None, "http://testserver", "http://testserver:80", "HTTP://TESTSERVER"])
def test_no_origin_and_the_own_one_pass(client, origin):
    """S231, BL-011."""
    assert client.initialize(headers={"Origin": origin}).status == 200


def test_an_origin_that_comes_twice_is_refused(door):
    pairs = [("Host", "testserver"), ("Origin", "http://testserver"), ("Origin", "http://testserver")]
    assert door.send("POST", "/mcp", [*pairs, ("Content-Type", "application/json")], b"{}").status == 403


def test_allowed_origins_are_answered_with_cors_headers(client):
    """S231, BL-010: also on errors."""
    with mcp(ALLOWED_ORIGINS=[ORIGIN]):
        for answer in (
            client.initialize(headers={"Origin": ORIGIN}),
            client.post(b"garbage", {"Origin": ORIGIN}),
            client.send("GET", headers={"Origin": ORIGIN}),
        ):
            assert answer.header("Access-Control-Allow-Origin") == ORIGIN
            assert "Origin" in answer.header("Vary")
            assert answer.header("Access-Control-Expose-Headers") == "Mcp-Session-Id, WWW-Authenticate"
            assert answer.header("Access-Control-Allow-Credentials") is None


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken", "ALLOWED_ORIGINS": [ORIGIN]})
def test_a_preflight_needs_no_credentials(client):
    """BL-010, MH-38."""
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    answer = client.send("OPTIONS", headers=asked)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.header("Access-Control-Allow-Origin") == ORIGIN
    methods = answer.header("Access-Control-Allow-Methods")
    assert {"GET", "POST", "DELETE"} <= set(methods.split(", "))
    allowed = {name.lower() for name in answer.header("Access-Control-Allow-Headers").split(", ")}
    needed = "content-type,authorization,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name,last-event-id"
    assert {*needed.split(","), "mcp-param-clinic"} <= allowed


def test_options_without_an_origin_names_the_methods(client):
    answer = client.send("OPTIONS")
    assert (answer.status, answer.header("Allow")) == (204, "GET, POST, DELETE, OPTIONS")


@override_settings(DEBUG=True, ALLOWED_HOSTS=[])
@pytest.mark.parametrize("origin", ["http://localhost:5173", "http://127.0.0.1:6274", "http://[::1]:1"])
def test_a_loopback_origin_may_call_a_loopback_host_while_debugging(client, origin):
    headers = {"Host": "localhost:8000", "Origin": origin}
    answer = client.initialize(headers=headers)
    assert answer.status == 200
    assert answer.header("Access-Control-Allow-Origin") == origin
    assert client.initialize(headers={**headers, "Origin": "http://evil.example"}).status == 403


def test_a_loopback_origin_is_foreign_without_debugging(client):
    answer = client.initialize(headers={"Host": "localhost:8000", "Origin": "http://localhost:5173"})
    assert answer.status == 403


@pytest.mark.parametrize("host", ["evil.example", "", "testserver.evil.example", "testserver:port"])
def test_a_foreign_host_is_refused(client, door, host):
    """S230, BL-011, SEC-06: JSON also where Django would answer with a page."""
    answer = client.initialize(headers={"Host": host})
    assert answer.status == 400
    assert not Session.objects.exists()


def test_whoever_forgot_a_host_is_told_the_setting(db, caplog):
    """SEC-06: the consumer says and logs it, as Django does in front of the view."""
    answer = WireClient(consumer()).initialize(headers={"Host": "evil.example"})
    assert "ALLOWED_HOSTS" in answer.error["message"]
    assert "the host 'evil.example' was refused: ALLOWED_HOSTS" in caplog.text


def test_without_a_host_the_name_of_the_server_counts(client):
    """As in Django, whose test client sends none."""
    assert client.initialize(headers={"Host": None}).status == 200
    with override_settings(ALLOWED_HOSTS=["mcp.example"]):
        assert client.initialize(headers={"Host": None}).status == 400


def test_an_allowed_host_may_have_a_port(client):
    """S230, W24, BL-011."""
    assert client.initialize(headers={"Host": "testserver:8443"}).status == 200


def test_a_forwarded_host_counts_where_the_site_trusts_it(client):
    """BL-011."""
    headers = {"Host": "testserver", "X-Forwarded-Host": "mcp.example", "Origin": "http://mcp.example"}
    with override_settings(ALLOWED_HOSTS=["mcp.example", "testserver"]):
        assert client.initialize(headers=headers).status == 403
        with override_settings(USE_X_FORWARDED_HOST=True):
            assert client.initialize(headers=headers).status == 200


@override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
@pytest.mark.parametrize(("forwarded", "status"), [("https", 200), ("http", 403), (None, 403)])
def test_the_scheme_behind_a_trusted_proxy_is_the_one_it_names(client, forwarded, status):
    headers = {"X-Forwarded-Proto": forwarded, "Origin": "https://testserver"}
    assert client.initialize(headers=headers).status == status


def test_the_public_url_is_an_origin_of_its_own(client):
    with mcp(PUBLIC_URL="https://mcp.example/mcp"):
        assert client.initialize(headers={"Origin": "https://mcp.example"}).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE"])
def test_other_methods_are_not_allowed(client, method):
    """S204, LH-41."""
    answer = client.send(method)
    assert (answer.status, answer.header("Allow")) == (405, "GET, POST, DELETE, OPTIONS")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_modern_clients_have_only_post(client, method):
    """S235, MH-33, row 21, BL-023, BL-097."""
    answer = client.send(method, headers={"MCP-Protocol-Version": MODERN, "Accept": "text/event-stream"})
    assert (answer.status, answer.error["code"]) == (405, -32600)
    assert "POST" in answer.header("Allow")


def test_a_body_over_the_limit_is_refused(client):
    """S209, SEC-12, BL-088."""
    with mcp(MAX_BODY=1000):
        answer = client.post(b"x" * 1001)
        assert (answer.status, answer.error["code"]) == (413, -32600)
        assert client.post(b" " * 1000).status == 400
        assert client.post(b"{}", {"Content-Length": "1001"}).status in (400, 413)


def test_a_body_in_chunks_is_put_together_and_counted(client, door):
    """BL-088: a character may straddle two chunks, and the limit needs no Content-Length."""
    if not hasattr(door, "send_chunks"):
        pytest.skip("this door gets the body in one piece")
    meta = f'{{"{META}protocolVersion":"{MODERN}","{META}clientCapabilities":{{}}}}'
    text = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","_meta":{meta},'
    body = (text + '"arguments":{"text":"\u20ac"}}}').encode()
    cut = body.index("\u20ac".encode()) + 1
    pairs = [
        ("Host", "testserver"),
        ("Content-Type", "application/json"),
        ("MCP-Protocol-Version", MODERN),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "echo"),
    ]
    answer = door.send_chunks("POST", "/mcp", pairs, [body[:cut], body[cut:]])
    assert answer.result["content"][0]["text"] == "\u20ac"
    with mcp(MAX_BODY=1000):
        assert door.send_chunks("POST", "/mcp", pairs, [b"x" * 600, b"x" * 600]).status == 413


@override_settings(APPEND_SLASH=True, DEBUG=True)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp?x=1"])
def test_both_spellings_of_the_path_answer_without_a_redirect(client, path):
    """BL-050."""
    client.path = path
    answer = client.initialize()
    assert answer.status == 200
    assert answer.header("Location") is None


def test_every_refusal_is_json(client):
    """S208, VER-16, attention to the whole kind: no refusal is empty or a page."""
    client.initialize()
    refusals = [
        client.post(b""),
        client.post(b"{}", {"Content-Type": "text/plain"}),
        client.post(b"{}", {"Accept": "text/html"}),
        client.send("PATCH"),
        client.send("GET"),
        client.legacy("tools/list", headers={"Mcp-Session-Id": "unknown"}),
        client.modern("no/such"),
        client.send("POST", b"{}", {"Origin": "http://evil.example"}),
    ]
    for answer in refusals:
        assert 400 <= answer.status < 500
        assert set(answer.json) <= {"jsonrpc", "id", "error"}
        assert answer.error["message"]


def test_a_database_that_is_not_there_is_a_reason_to_try_again(client, monkeypatch):
    """Our own rows may be locked for a moment: no internal error, and no page."""

    def locked(**kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr("django_mcp.transports.handshake_http.open_session", locked)
    answer = client.initialize()
    assert (answer.status, answer.header("Retry-After")) == (503, "1")
    assert answer.error == {"code": -32603, "message": "The database is not available"}


def test_a_body_of_unknown_length_is_refused_where_it_would_be_read_as_empty(client, door):
    answer = client.initialize(headers={"Transfer-Encoding": "chunked"})
    assert answer.status == (200 if door.can_stream else 411)
