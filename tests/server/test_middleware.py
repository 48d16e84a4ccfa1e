"""MIDDLEWARE: around every request, sync or async, and no result is lost by accident (S190, X2)."""

import asyncio

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.urls import path

from django_mcp import Context, MCPServer, ProtocolError
from django_mcp.middleware import load_middleware
from django_mcp.servers import _servers
from django_mcp.testing import AsyncMCPClient, MCPClient, MCPError
from tests.server.around import HERE
from tests.wire.client import WireClient
from tests.wire.doors import DOORS

pytestmark = pytest.mark.django_db

ERAS = ("2026-07-28", "2025-11-25")


def add_tools(desk):
    @desk.tool
    def count() -> int:
        """Count the users."""
        return User.objects.count()

    @desk.tool
    async def acount() -> int:
        """Count the users in async code."""
        return await User.objects.acount()

    @desk.tool
    def write_and_fail() -> int:
        """Write a row and fail."""
        User.objects.create(username="lost")
        raise RuntimeError("late")

    @desk.tool
    async def awrite_and_fail() -> int:
        """Write a row in async code and fail."""
        await User.objects.acreate(username="lost")
        raise RuntimeError("late")

    @desk.tool
    def tenant(context: Context) -> str:
        """Tell the tenant."""
        return context.tenant  # type: ignore[attr-defined, no-any-return]


CHAINS = [["outer"], ["inner"], ["outer", "inner"], ["inner", "outer"], ["inner", "inner"]]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(chain))
@pytest.mark.parametrize("door", DOORS)
def test_a_call_is_the_same_behind_any_chain_and_any_door(desk, set_around, settings, seen, chain, door):
    """Sync in async and async in sync, with tools of both kinds; a failed call leaves nothing behind."""
    settings.ROOT_URLCONF = (path("mcp", desk.urls),)
    set_around(MIDDLEWARE=[f"{HERE}.{name}" for name in chain])
    add_tools(desk)
    client = WireClient(DOORS[door]())
    for name in ("count", "acount"):
        result = client.call_tool("modern", name)
        assert result["structuredContent"] == 0
        assert all(result[layer] for layer in chain)
        assert result["resultType"] == "complete"
    for name in ("write_and_fail", "awrite_and_fail"):
        assert client.call_tool("2025-11-25", name)["isError"]
    assert not User.objects.exists()


@pytest.mark.parametrize("revision", ERAS)
def test_the_first_one_is_outermost_and_all_requests_pass(desk, set_around, seen, revision):
    set_around(MIDDLEWARE=[f"{HERE}.outer", f"{HERE}.inner", f"{HERE}.ByClass", f"{HERE}.not_used"])
    add_tools(desk)
    client = MCPClient(server=desk, revision=revision)
    client.list_tools()
    last = ["outer before tools/list", "inner before, 0 users", "class", "inner after", "outer after"]
    assert seen[-5:] == last
    if revision == "2025-11-25":
        assert seen[0] == "outer before initialize"


def test_what_a_middleware_puts_on_the_context_is_there_for_the_tool(desk, set_around, seen):
    set_around(MIDDLEWARE=[f"{HERE}.outer"])
    add_tools(desk)
    assert MCPClient(server=desk).call_tool("tenant").text == "acme"


def test_an_error_passes_through_as_the_client_will_get_it(desk, set_around, seen):
    """Unknown methods included, which Ruby's hooks see without their answer (S193)."""
    set_around(MIDDLEWARE=[f"{HERE}.outer"])
    add_tools(desk)
    client = MCPClient(server=desk)
    with pytest.raises(MCPError, match="Unknown tool"):
        client.call_tool("nope")
    with pytest.raises(MCPError, match="Method not found"):
        client.request("nope/nope")
    assert [entry for entry in seen if "met" in entry] == ["outer met -32602", "outer met -32601"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("returns_none", "returned NoneType and not a result"),
        ("returns_none_in_sync", "returned NoneType and not a result"),
        ("forgets_await", "returned coroutine and not a result"),
        ("raises", "RuntimeError: postgres"),
        ("exits", "SystemExit left the code that was called"),
    ],
)
def test_a_lost_result_is_an_internal_error_that_the_log_explains(desk, set_around, seen, caplog, name, told):
    """X2, RPC-29"""
    set_around(MIDDLEWARE=[f"{HERE}.outer", f"{HERE}.{name}"], EXCEPTION_REPORTER=f"{HERE}.report_async")
    add_tools(desk)
    with pytest.raises(MCPError) as raised:
        MCPClient(server=desk).call_tool("count")
    assert (raised.value.code, raised.value.message, raised.value.data) == (-32603, "Internal error", None)
    assert f"The middleware {HERE}.{name}" in caplog.text
    assert told in caplog.text
    assert seen[1][1] == "tools/call"
    assert seen[2] == "outer met -32603"


def test_a_middleware_may_answer_by_itself(desk, set_around):
    set_around(MIDDLEWARE=[f"{HERE}.never_calls"])
    add_tools(desk)
    assert MCPClient(server=desk).call_tool("count").cached is True


def test_a_middleware_may_refuse(desk, set_around):
    add_tools(desk)
    for name, error in (
        ("refuses", MCPError(-32603, "Not on Sundays.")),
        ("refuses_by_code", MCPError(1234, "Closed", {"until": "Monday"})),
    ):
        set_around(MIDDLEWARE=[f"{HERE}.{name}"])
        with pytest.raises(MCPError) as raised:
            MCPClient(server=desk).call_tool("count")
        assert raised.value.args == error.args


@pytest.mark.parametrize("name", ["nowhere", "no_callable", "no_function"])
def test_a_chain_that_cannot_be_built_is_an_internal_error(desk, set_around, caplog, name):
    set_around(MIDDLEWARE=[f"{HERE}.{name}"])
    with pytest.raises(MCPError, match="Internal error"):
        MCPClient(server=desk).list_tools()
    assert f"{HERE}.{name}" in caplog.text


def test_the_message_says_what_a_middleware_is():
    for name, text in (("nowhere", "cannot be imported"), ("no_callable", "which is 5")):
        with pytest.raises(ImproperlyConfigured, match=text):
            load_middleware(f"{HERE}.{name}")


def test_a_server_may_have_its_own(set_around, seen):
    """S27"""
    own = MCPServer("own", settings={"MIDDLEWARE": [f"{HERE}.outer"]})
    try:
        add_tools(own)
        assert MCPClient(server=own).call_tool("tenant").outer is True
    finally:
        del _servers["own"]


@pytest.mark.django_db(transaction=True)
def test_a_sync_middleware_on_a_lane_leaves_the_loop_free(desk, set_around, seen):
    """Calls at the same time, as under a server, with transactions of their own."""
    set_around(MIDDLEWARE=[f"{HERE}.inner"])
    add_tools(desk)
    User.objects.create(username="here")

    async def ask():
        client = AsyncMCPClient(server=desk)
        async with asyncio.timeout(30):
            calls = [client.call_tool(name) for name in ("count", "acount", "awrite_and_fail") * 3]
            return [reply.structured for reply in await asyncio.gather(*calls)]

    assert asyncio.run(ask()) == [1, 1, None] * 3
    assert User.objects.count() == 1


def test_a_protocol_error_of_a_tool_keeps_its_code_and_is_no_fault(desk, set_around, seen):
    """RPC-21: a site's own codes are its own affair."""
    set_around(EXCEPTION_REPORTER=f"{HERE}.report")

    @desk.tool
    def closed() -> str:
        """Refuse."""
        raise ProtocolError(1234, "Closed") from ValueError("the reason")

    with pytest.raises(MCPError, match=r"Closed \(1234\)"):
        MCPClient(server=desk).call_tool("closed")
    assert not seen
