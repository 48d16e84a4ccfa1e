"""The view behind the middleware that sites have, under ASGI and under WSGI."""

import gzip
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.test import override_settings
from django.test.client import AsyncClientHandler, FakePayload
from django.utils import timezone, translation
from django.utils.decorators import sync_and_async_middleware

from tests.conformance import view_settings
from tests.wire.client import LEGACY, WireClient
from tests.wire.doors import DOORS, scope_of

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
WHOLE_STACK = override_settings(MIDDLEWARE=view_settings.MIDDLEWARE, SESSION_ENGINE=view_settings.SESSION_ENGINE)


@pytest.fixture(params=[name for name in DOORS if name != "consumer"])
def door(request, db):
    return DOORS[request.param]()


@pytest.fixture(autouse=True)
def own_locale():
    """Middleware leaves to the next request what it activated."""
    with translation.override("en"), timezone.override(timezone.get_default_timezone()):
        yield


@pytest.fixture
def client(door):
    return WireClient(door)


def behind(*names):
    return override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, *names])


def text(client, name, era="modern"):
    return client.call_tool(era, name)["content"][0]["text"]


@WHOLE_STACK
def test_whole_stack_of_a_site_lets_every_exchange_through(client, era):
    client.headers["Accept-Encoding"] = "gzip"
    client.headers["If-None-Match"] = "*"
    for path in ("/mcp", "/mcp/"):
        client.path = path
        client.initialize(LEGACY[0] if era == "modern" else era)
        answer = client.call(era, "tools/call", {"name": "noargs"})
        assert (answer.status, answer.result["content"][0]["text"]) == (200, "ok")
        assert client.notify("notifications/initialized").status == 202
        assert client.send("DELETE", headers=client.session_headers).status == 204
        assert client.legacy("ping").status == 404


@WHOLE_STACK
def test_nothing_that_the_stack_adds_leaves_a_cookie_or_a_redirect(client):
    """SEC-07: a client sends no token of a form and keeps no cookies."""
    for answer in (client.initialize(), client.modern("tools/list"), client.send("PUT"), client.send("POST", b"{")):
        assert [answer.header(name) for name in ("Set-Cookie", "Location")] == [None, None]
        assert answer.header("X-Content-Type-Options") == "nosniff"


@WHOLE_STACK
def test_an_empty_answer_is_not_called_a_page(client):
    client.initialize()
    empty = [
        client.notify("notifications/initialized"),
        client.send("OPTIONS", headers={"Origin": "http://testserver"}),
        client.send("DELETE", headers=client.session_headers),
    ]
    assert [(answer.status, answer.header("Content-Type")) for answer in empty] == [
        (202, None),
        (204, None),
        (204, None),
    ]


@behind("django.middleware.gzip.GZipMiddleware")
def test_json_is_compressed_where_the_client_takes_it(client, era):
    plain = client.call(era, "tools/list")
    client.headers["Accept-Encoding"] = "gzip"
    packed = client.call(era, "tools/list")
    assert packed.header("Content-Encoding") == "gzip"
    assert packed.header("Content-Length") == str(len(packed.body))
    assert "Accept-Encoding" in (packed.header("Vary") or "")
    unpacked = json.loads(gzip.decompress(packed.body))
    assert unpacked["result"] == plain.result


@pytest.mark.parametrize("condition", ["If-None-Match", "If-Match", "If-Modified-Since"])
@behind("django.middleware.http.ConditionalGetMiddleware")
def test_no_condition_turns_an_answer_into_another_one(client, condition):
    client.initialize()
    refusal = client.send("GET", headers={"Accept": "text/html"})
    values = ["Mon, 30 Nov 2099 00:00:00 GMT"] if "Since" in condition else ["*", '"abc"', refusal.header("ETag")]
    for value in values:
        client.headers[condition] = value
        assert client.send("GET", headers={"Accept": "text/html"}) == refusal
        assert client.legacy("tools/list").status == 200
        answer = client.modern("tools/list")
        assert (answer.status, answer.header("ETag")) == (200, None)


@sync_and_async_middleware
def german(get_response):
    """As a site does that knows the language and the time zone of its tenant."""

    def middleware(request):
        begin(request)
        return get_response(request)

    async def async_middleware(request):
        begin(request)
        return await get_response(request)

    return async_middleware if iscoroutinefunction(get_response) else middleware


def begin(request):
    translation.activate("de")
    timezone.activate(timezone.get_fixed_timezone(90))
    request.tenant = "acme"


def sync_only(get_response):
    return lambda request: get_response(request)


@behind("tests.wire.test_view_middleware.german")
def test_what_the_middleware_activates_holds_in_the_tool(client, era):
    assert text(client, "lang", era) == "de"
    assert text(client, "zone", era) == "+0130"
    descriptions = [each["description"] for each in client.call(era, "tools/list").result["tools"]]
    assert "Nein" in descriptions


@behind("django.middleware.locale.LocaleMiddleware")
def test_a_language_that_the_site_has_chosen_wins_over_the_header(client, era):
    """The tool and the response speak the language of the cookie."""
    client.headers.update({"Cookie": "django_language=de", "Accept-Language": "fr"})
    answer = client.call(era, "tools/call", {"name": "lang"})
    assert (answer.result["content"][0]["text"], answer.header("Content-Language")) == ("de", "de")


@behind("django.middleware.locale.LocaleMiddleware")
@pytest.mark.parametrize(("accepted", "language"), [("de", "de"), ("xx, fr;q=0.5", "fr"), ("xx", "en"), (None, "en")])
def test_locale_middleware_and_the_tool_speak_one_language(client, era, accepted, language):
    client.headers["Accept-Language"] = accepted
    answer = client.call(era, "tools/call", {"name": "lang"})
    assert (answer.result["content"][0]["text"], answer.header("Content-Language")) == (language, language)
    assert answer.header("Vary") == "Accept-Language"


def about_the_request(context):
    request: Any = context.request
    assert type(request) in (ASGIRequest, WSGIRequest)
    assert request.resolver_match.kwargs == dict(context.path_params)
    request.session["seen"] = True
    return {"colour": f"{request.tenant} {request.user} {request.session['seen']}"}


@override_settings(
    ROOT_URLCONF="tests.wire.sites",
    DJANGO_MCP=OPEN | {"CONTEXT_PROCESSORS": ["tests.wire.test_view_middleware.about_the_request"]},
)
@pytest.mark.parametrize("path", ["/acme/mcp", "/acme/mcp/", "/t/acme/"])
@behind("tests.wire.test_view_middleware.german")
def test_the_request_of_the_context_is_the_one_that_the_middleware_saw(door, path):
    answer = WireClient(door, path).modern("tools/call", {"name": "tenant"})
    assert answer.result["structuredContent"] == {"tenant": "acme", "value": "acme AnonymousUser True"}
    assert "sessionid" in (answer.header("Set-Cookie") or "")


@behind("tests.wire.test_view_middleware.sync_only")
def test_middleware_without_an_async_side_changes_nothing(client, era):
    assert text(client, "noargs", era) == "ok"
    assert client.call_tool(era, "aadd", {"a": 1, "b": 2})["content"][0]["text"] == "3"
    assert client.call_tool(era, "boom")["isError"]


@override_settings(FORCE_SCRIPT_NAME="/sub")
def test_a_forced_prefix_is_part_of_the_path_that_tools_see(door, era):
    """BL-106: ASGI servers send it along, WSGI servers have taken it off."""
    path = "/sub/mcp" if door.can_stream else "/mcp"
    for slash in ("", "/"):
        about = json.loads(text(WireClient(door, path + slash), "about_the_call", era))
        assert about["path"] == f"/sub/mcp{slash}"


@WHOLE_STACK
@pytest.mark.django_db
def test_the_whole_stack_holds_no_event_of_a_stream_back():
    """BL-089."""
    client = WireClient(DOORS["view-asgi"]())
    client.initialize()
    pairs = [
        ("Host", "testserver"),
        ("Mcp-Session-Id", f"{client.session}"),
        ("Accept", "text/event-stream"),
        ("Accept-Encoding", "gzip"),
        ("If-None-Match", "*"),
    ]

    async def first_frame():
        response = await AsyncClientHandler()({**scope_of("GET", "/mcp", pairs), "_body_file": FakePayload(b"")})
        assert (response.status_code, response.streaming) == (200, True)
        assert [response.get(name) for name in ("Content-Encoding", "ETag", "Content-Length")] == [None] * 3
        frame = await anext(aiter(response))  # type: ignore[arg-type]  # the stubs know no streams here
        response.close()
        return frame

    assert async_to_sync(first_frame)().startswith(b"id: g")
