"""The page for browsers, through each door."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from django_mcp import default_server
from django_mcp.models import AccessToken
from django_mcp.protocol.headers import Headers
from django_mcp.transports.messages import HTTPRequest
from django_mcp.transports.page import public_url
from tests.wire.client import MODERN
from tests.wire.test_identity import client_of

BROWSER = {
    "Host": "localhost",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Content-Type": None,
}
OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
BEARER = {"AUTHENTICATION": "django_mcp.auth.BearerToken"}


def page(client, **headers):
    return client.send("GET", headers={**BROWSER, **headers})


def is_page(answer):
    return answer.status == 200 and answer.header("Content-Type") == "text/html; charset=utf-8"


@pytest.fixture
def debug():
    with override_settings(DEBUG=True, DJANGO_MCP=BEARER):
        yield


@pytest.mark.usefixtures("debug")
def test_a_developer_sees_how_to_connect(client):
    answer = page(client)
    assert is_page(answer)
    text = unescape(answer.body.decode())
    assert "<h1>localhost</h1>" in text
    header = '--header "Authorization: Bearer TOKEN"'
    assert f"claude mcp add --transport http localhost http://localhost/mcp {header}" in text
    assert '"mcpServers": {\n    "localhost": {\n      "url": "http://localhost/mcp"' in text
    assert "npx @modelcontextprotocol/inspector@latest --cli http://localhost/mcp " in text
    assert "manage.py mcp_token USER" in text


@pytest.mark.usefixtures("debug")
def test_the_page_loads_nothing_and_is_kept_by_nobody(client):
    answer = page(client)
    assert answer.header("Content-Security-Policy").startswith("default-src 'none'")
    assert answer.header("Cache-Control") == "no-store"
    assert answer.header("X-Content-Type-Options") == "nosniff"
    assert not re.search(rb"(src|href|action)\s*=|<script|@import|url\(", answer.body)


@override_settings(DEBUG=True, DJANGO_MCP=OPEN)
def test_an_open_server_asks_for_no_token(client):
    text = page(client).body.decode()
    assert "The server is open" in text
    assert "TOKEN" not in text


@override_settings(DEBUG=True, DJANGO_MCP={**OPEN, "PUBLIC_URL": "https://site.example/mcp"})
def test_the_page_says_what_the_server_says_about_itself_and_escapes_it(client, monkeypatch):
    monkeypatch.setattr(default_server, "title", "<b>Help & desk</b>")
    monkeypatch.setattr(default_server, "description", "<script>x</script>")
    text = page(client).body.decode()
    assert "&lt;b&gt;Help &amp; desk&lt;/b&gt;" in text
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "<pre>https://site.example/mcp</pre>" in text


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "text/event-stream"},
        {"Accept": "*/*"},
        {"Accept": None},
        {"Accept": "text/event-stream, text/html"},
        {"Mcp-Session-Id": "deadbeef"},
        {"MCP-Protocol-Version": MODERN},
        {"Host": "testserver"},  # not this machine's own name
    ],
)
def test_a_client_gets_the_protocols_answer(client, headers):
    """BL-051: never HTML."""
    answer = page(client, **headers)
    assert (answer.status, answer.header("Content-Type")) == (401, "application/json")


@pytest.mark.usefixtures("debug")
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_other_methods_show_no_page(client, method):
    assert client.send(method, headers=BROWSER).status == 401


@override_settings(DEBUG=True, ALLOWED_HOSTS=["site.example"], DJANGO_MCP=BEARER)
def test_a_host_that_is_not_allowed_sees_no_page(client):
    assert page(client).status == 400


@override_settings(DJANGO_MCP=BEARER)
def test_outside_debug_nobody_sees_it_without_credentials(client):
    assert page(client).status == 401


@override_settings(DJANGO_MCP=OPEN)
def test_outside_debug_anonymous_callers_get_the_protocols_answer(client):
    answer = page(client)
    assert answer.status in (400, 405)  # no session, and no streams under WSGI
    assert answer.header("Content-Type") == "application/json"


@override_settings(DJANGO_MCP=BEARER)
def test_outside_debug_staff_sees_it_and_others_do_not(door):
    staff, other = client_of(door, "ann", staff=True), client_of(door, "bob")
    assert is_page(page(staff, Host="testserver"))
    assert not is_page(page(other, Host="testserver"))
    User.objects.filter(username="ann").update(is_active=False)
    AccessToken.objects.all().delete()
    assert page(staff, Host="testserver").status == 401


@pytest.mark.parametrize(
    ("configured", "path", "url"),
    [
        (None, "/mcp", "http://localhost:8000/mcp"),
        (None, "/größe mcp", "http://localhost:8000/gr%C3%B6%C3%9Fe%20mcp"),
        ("https://site.example", "/mcp", "https://site.example/mcp"),
        ("https://site.example/", "/mcp", "https://site.example/mcp"),
        ("https://site.example/mcp", "/mcp", "https://site.example/mcp"),
        ("https://site.example/sub", "/mcp", "https://site.example/sub/mcp"),
        ("https://site.example/sub", "/sub/mcp", "https://site.example/sub/mcp"),
    ],
)
def test_the_address_is_the_public_one_with_its_path_once(configured, path, url):
    """BL-106."""
    headers = Headers([(b"host", b"localhost:8000")])
    request = HTTPRequest(method="GET", path=path, scheme="http", headers=headers)
    assert public_url(request, configured) == url


@override_settings(DEBUG=True, SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_the_address_is_https_behind_a_trusted_proxy(client):
    """BL-105."""
    answer = page(client, **{"X-Forwarded-Proto": "https"})
    assert b"<pre>https://localhost/mcp</pre>" in answer.body
