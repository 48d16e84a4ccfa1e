"""What the dispatcher does when something of ours, or a permission, is broken."""

import pytest

from django_mcp import CacheHint, InvalidPrimitive, MCPServer
from django_mcp.exceptions import ToolError
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.servers import _servers
from tests.wire.client import WireClient
from tests.wire.doors import consumer

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(monkeypatch):
    """A fresh server behind the endpoint of the suite."""
    fresh = MCPServer("fresh", instructions="Be kind.")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["fresh"]


@pytest.fixture
def client(server):
    return WireClient(consumer())


def say(word: str = "x") -> str:
    """Say it."""
    return word


def say_hello() -> str:
    """Say hello."""
    return "hello"


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources", "resources/templates"])
@pytest.mark.parametrize("era", ["modern", "2025-11-25"])
def test_what_is_not_offered_does_not_exist(client, era, kind):
    """S22, S24, TOOL-01, RPC-09, DISC-05, BL-069, BL-078."""
    answer = client.call(era, f"{kind}/list")
    assert (answer.status, answer.error["code"]) == (404 if era == "modern" else 200, -32601)
    assert client.call(era, "completion/complete").error["code"] == -32601


def test_instructions_are_told_in_both_eras(client):
    """INIT-02, DISC-02."""
    assert client.modern("server/discover").result["instructions"] == "Be kind."
    assert client.initialize().result["instructions"] == "Be kind."


def test_the_identity_may_be_left_out_of_results(client, server):
    """META-06."""
    server.tool(say)
    assert client.modern("tools/list").result["_meta"]
    server.sends_server_info = False
    assert "_meta" not in client.modern("tools/list").result


def test_a_primitive_may_be_built_by_hand(client, server):
    server.register(ToolDefinition.from_function(say, name="said"))
    assert client.call_tool("modern", "said")["content"][0]["text"] == "x"


def refuse(context):
    raise RuntimeError("broken permission")


async def arefuse(context):
    raise RuntimeError("broken permission")


async def allow(context):
    return True


@pytest.mark.parametrize("permission", [refuse, arefuse])
def test_a_broken_permission_counts_as_refused(client, server, permission, caplog):
    """Nobody comes in because a check failed, and the rest of the list is unharmed."""
    server.tool(permission=permission)(say)
    server.tool(name="other")(say)
    assert [tool["name"] for tool in client.modern("tools/list").result["tools"]] == ["other"]
    assert client.modern("tools/call", {"name": "say"}).error["code"] == -32602
    assert "counts as refused" in caplog.text


def test_a_filtered_list_is_never_public(client, server):
    """CACHE-07: what one user may keep of it, another must not get; CACHE-03: on each page."""
    server.cache = CacheHint(ttl_ms=5, scope="public")
    server.page_size = 1
    server.tool(say)
    server.tool(name="open")(say)
    result = client.modern("tools/list").result
    assert (result["ttlMs"], result["cacheScope"]) == (5, "public")
    server.tool(name="closed", permission=allow)(say)
    first = client.modern("tools/list").result
    second = client.modern("tools/list", {"cursor": first["nextCursor"]}).result
    for result in (first, second):
        assert (result["ttlMs"], result["cacheScope"]) == (5, "private")
    assert set(client.call("2025-11-25", "tools/list").result) == {"tools", "nextCursor"}


def test_a_resource_may_say_how_long_it_keeps(client, server):
    """CACHE-04: its own hint wins over the server's; legacy clients see neither."""
    server.cache = CacheHint(ttl_ms=5)
    server.resource("note://a", cache=CacheHint(ttl_ms=9, scope="public"))(say_hello)
    server.resource("note://b")(say_hello)
    hints = {}
    for uri in ("note://a", "note://b"):
        result = client.modern("resources/read", {"uri": uri}).result
        hints[uri] = (result["ttlMs"], result["cacheScope"])
    assert hints == {"note://a": (9, "public"), "note://b": (5, "private")}
    assert set(client.call("2025-11-25", "resources/read", {"uri": "note://a"}).result) == {"contents"}


def test_a_permission_may_be_async(client, server):
    server.tool(permission=allow)(say)
    assert client.call_tool("modern", "say")["content"][0]["text"] == "x"


def test_a_fault_of_ours_is_an_internal_error_without_details(client, server, monkeypatch, caplog):
    """RPC-29."""
    server.tool(say)
    monkeypatch.setattr(type(server), "listing_page_size", lambda self: 1 / 0)
    answer = client.modern("tools/list")
    assert (answer.status, answer.error) == (200, {"code": -32603, "message": "Internal error"})
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_of_the_door_is_answered_in_json(client, monkeypatch, caplog):
    """S221, VER-16: never a page."""
    monkeypatch.setattr("django_mcp.transports.http.decode", lambda body, max_depth: 1 / 0)
    answer = client.modern("tools/list")
    assert (answer.status, answer.error) == (500, {"code": -32603, "message": "Internal error"})
    assert "ZeroDivisionError" in caplog.text


def test_a_prompt_may_say_why_it_fails(client, server):
    def moody() -> str:
        """Fail politely."""
        raise ToolError("not today")

    server.prompt(moody)
    assert client.modern("prompts/get", {"name": "moody"}).error == {"code": -32603, "message": "not today"}


@pytest.mark.parametrize("decorator", ["resource", "resource_template"])
def test_a_decorator_without_its_uri_says_what_to_write(server, decorator):
    with pytest.raises(InvalidPrimitive, match=rf'write @{decorator}\("'):
        getattr(server, decorator)(say)


def test_a_log_level_without_a_session_is_accepted_and_dropped(client, server):
    """On stdio there is no row: the level then lives with the process."""
    batch = client.initialize("2025-03-26")
    assert batch.status == 200
    assert client.legacy("logging/setLevel", {"level": "info"}).result == {}
