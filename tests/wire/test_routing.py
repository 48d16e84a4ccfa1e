"""Which path leads to which server, through the consumer and through Django."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from channels.routing import ProtocolTypeRouter
from channels.testing import HttpCommunicator
from django.core.handlers.asgi import ASGIHandler
from django.test import override_settings
from django.urls import URLResolver, include, path, re_path
from django.urls.resolvers import RegexPattern

from django_mcp.asgi import get_asgi_application
from django_mcp.consumers import MCPConsumer
from django_mcp.routing import MCPRouter, find_endpoint, without_prefix
from django_mcp.servers import default_server
from django_mcp.urlconf import EndpointTable, endpoint_table, find_mounts
from django_mcp.views import Endpoint
from tests.wire.client import WireClient
from tests.wire.doors import consumer, scope_of

SITES = override_settings(ROOT_URLCONF="tests.wire.sites")


def found(path, **scope):
    endpoint = find_endpoint(scope_of("POST", path, [], **scope))
    return endpoint and (endpoint[0].name, endpoint[1])


def test_paths_of_the_site_are_found():
    assert found("/mcp") == found("/mcp/") == ("default", {})
    assert found("/admin/") is None
    assert found("/mcpx") is None


@SITES
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/mcp", ("default", {})),
        ("/api/mcp/", ("default", {})),
        ("/", ("default", {})),
        ("/acme/mcp", ("tenants", {"tenant": "acme"})),
        ("/acme/mcp/", ("tenants", {"tenant": "acme"})),
        ("/t/acme/", ("tenants", {"tenant": "acme"})),
        ("/t/acme", ("tenants", {"tenant": "acme"})),
        ("/acme", None),
        ("/api/mcp/mcp", None),
    ],
)
def test_mounts_of_every_kind_are_found(path, expected):
    """S263, BL-050, BL-106: with and without slash, below a prefix, with parameters, at the root."""
    assert found(path) == expected


def test_an_endpoint_without_our_urls_is_found_at_its_own_path():
    """It must not be taken for the root of the site."""
    endpoint = Endpoint(default_server)
    urls: list[Any] = [
        path("api/mcp", endpoint),
        path("slash/", endpoint),
        re_path(r"^regex$", endpoint),
        path("<slug:tenant>/mcp", endpoint),
        path("in/", include([path("", endpoint)])),
    ]
    table = EndpointTable()
    for mount in find_mounts(URLResolver(RegexPattern(r"^/"), urls)):
        table.add(mount)
    found_at = {text: table.find(text) for text in ("/", "/api/mcp", "/slash", "/regex", "/acme/mcp", "/in")}
    assert found_at == {
        "/": None,
        "/api/mcp": (default_server, {}),
        "/slash": (default_server, {}),
        "/regex": (default_server, {}),
        "/acme/mcp": (default_server, {"tenant": "acme"}),
        "/in": (default_server, {}),
    }


def test_another_urlconf_is_read_anew():
    assert found("/api/mcp") is None
    with SITES:
        assert found("/api/mcp") is not None
    assert found("/api/mcp") is None
    assert endpoint_table("tests.urls") is endpoint_table("tests.urls")


@pytest.mark.parametrize("path", ["/sub/mcp", "/mcp"])
def test_a_root_path_may_be_left_on_or_taken_off(path):
    """BL-106: servers differ in which of the two they send."""
    assert found(path, root_path="/sub") == ("default", {})


@override_settings(FORCE_SCRIPT_NAME="/sub")
def test_a_forced_script_name_is_taken_off():
    assert found("/sub/mcp") == ("default", {})


@pytest.mark.parametrize(
    ("path", "prefix", "expected"),
    [
        ("/sub/mcp", "/sub", "/mcp"),
        ("/sub/mcp", "/sub/", "/mcp"),
        ("/sub", "/sub", "/"),
        ("/subway/mcp", "/sub", "/subway/mcp"),
        ("/mcp", "", "/mcp"),
    ],
)
def test_a_prefix_ends_on_the_border_of_a_segment(path, prefix, expected):
    assert without_prefix(path, prefix) == expected


@pytest.mark.django_db
@SITES
def test_path_parameters_and_settings_belong_to_the_server():
    """Two endpoints of a site share neither tools nor settings."""
    client = WireClient(consumer(), path="/acme/mcp")
    assert client.call_tool("modern", "tenant")["structuredContent"] == {"tenant": "acme", "value": "none"}
    assert len(client.modern("tools/list").result["tools"]) == 1
    assert client.call_tool("modern", "second")["content"][0]["text"] == "second"
    default = WireClient(consumer(), path="/api/mcp")
    assert default.modern("tools/call", {"name": "tenant"}).error["code"] == -32602


@pytest.mark.django_db
@SITES
def test_sessions_of_one_server_are_unknown_to_another():
    """BL-106."""
    client = WireClient(consumer(), path="/acme/mcp")
    client.initialize()
    assert client.legacy("tools/list").status == 200
    client.path = "/api/mcp"
    assert client.legacy("tools/list").status == 404


def colour(context):
    return {"colour": f"{context.request.path} {context.user}"}


async def acolour(context):
    return {"colour": "async"}


@pytest.mark.django_db
@SITES
@pytest.mark.parametrize(("processor", "value"), [("colour", "/acme/mcp AnonymousUser"), ("acolour", "async")])
def test_context_processors_fill_the_context(processor, value):
    settings = {
        "AUTHENTICATION": "django_mcp.auth.AllowAny",
        "CONTEXT_PROCESSORS": [f"tests.wire.test_routing.{processor}"],
    }
    with override_settings(DJANGO_MCP=settings):
        client = WireClient(consumer(), path="/acme/mcp")
        assert client.call_tool("modern", "tenant")["structuredContent"]["value"] == value


def stamped(application):
    async def wrapper(scope, receive, send):
        async def stamp(message):
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-stamp", b"1"))
            await send(message)

        await application(scope, receive, stamp)

    return wrapper


@pytest.mark.django_db
def test_consumer_middleware_wraps_the_consumer():
    settings = {
        "AUTHENTICATION": "django_mcp.auth.AllowAny",
        "CONSUMER_MIDDLEWARE": ["tests.wire.test_routing.stamped"],
    }
    with override_settings(DJANGO_MCP=settings):
        assert WireClient(consumer()).initialize().header("X-Stamp") == "1"


@pytest.mark.django_db
def test_everything_else_goes_to_django():
    door = consumer()
    door.application = get_asgi_application()
    answer = door.send("GET", "/nowhere", [("Host", "testserver")])
    assert answer.status == 404
    assert b"<html" in answer.body.lower()


@async_to_sync
async def _talk(application, scope, messages):
    incoming, sent = list(messages), []

    async def receive():
        return incoming.pop(0)

    async def send(message):
        sent.append(message["type"])

    async with asyncio.timeout(30):
        await application(scope, receive, send)
    return sent


def test_lifespan_is_used_where_it_is_offered():
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent = _talk(MCPRouter(ASGIHandler()), {"type": "lifespan"}, messages)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_other_connections_go_to_the_inner_application():
    async def inner(scope, receive, send):
        await send({"type": f"{scope['type']}.close"})

    assert _talk(MCPRouter(inner), {"type": "websocket", "path": "/mcp"}, []) == ["websocket.close"]


@pytest.mark.django_db
def test_the_router_may_stand_below_the_one_of_channels():
    door = consumer()
    door.application = ProtocolTypeRouter({"http": MCPRouter(ASGIHandler())})
    assert WireClient(door).initialize().status == 200


@pytest.mark.django_db
def test_the_consumer_may_be_mounted_by_hand():
    door = consumer()
    door.application = MCPConsumer.as_asgi()
    assert WireClient(door).initialize().status == 200


@async_to_sync
async def _ask_with_communicator():
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    headers = [(b"host", b"testserver"), (b"content-type", b"application/json")]
    communicator = HttpCommunicator(MCPConsumer.as_asgi(), "POST", "/mcp", body=body, headers=headers)
    return await communicator.get_response(timeout=30)


@pytest.mark.django_db
def test_the_communicator_of_channels_reaches_the_consumer():
    response = _ask_with_communicator()
    assert response["status"] == 200
    assert b"-32602" in response["body"]
