"""``request_started``, ``request_finished`` and ``tool_called``: when, with what, and at whose cost."""

import asyncio
from contextlib import contextmanager, suppress

import pytest
from django.contrib.auth.models import User
from django.urls import path

from django_mcp import ProtocolError, ToolError
from django_mcp.signals import request_finished, request_started, tool_called
from django_mcp.testing import AsyncMCPClient, MCPClient, MCPError
from tests.server.around import HERE
from tests.wire.client import WireClient
from tests.wire.doors import DOORS

pytestmark = pytest.mark.django_db


@contextmanager
def connected(signal, receiver, sender=None):
    signal.connect(receiver, sender=sender)
    try:
        yield
    finally:
        assert signal.disconnect(receiver, sender=sender)


@pytest.fixture
def heard():
    """What the three signals told, in order."""
    told = []

    def listen(signal, **values):
        names = {request_started: "started", request_finished: "finished", tool_called: "tool"}
        told.append((names[signal], values))

    with connected(request_started, listen), connected(request_finished, listen), connected(tool_called, listen):
        yield told


def add_tools(desk):
    @desk.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @desk.tool
    async def fail(how: str) -> int:
        """Fail."""
        raise {"tool": ToolError("no"), "bug": RuntimeError("secret"), "protocol": ProtocolError(1234, "no")}[how]


def test_a_call_is_told_with_its_time_and_outcome(desk, heard):
    """S191, S192; the context is there before and after (S194)."""
    add_tools(desk)
    client = MCPClient(server=desk)
    client.call_tool("add", {"a": 1, "b": 2})
    (first, started), (second, tool), (third, finished) = heard
    assert [first, second, third] == ["started", "tool", "finished"]
    assert started["sender"] is tool["sender"] is finished["sender"] is desk
    assert started["context"] is tool["context"] is finished["context"]
    assert (tool["tool"], tool["arguments"]) == ("add", {"a": 1, "b": 2})
    for one in (tool, finished):
        assert (one["outcome"], one["code"]) == ("ok", None)
    assert 0 < tool["duration"] < finished["duration"] < 5


@pytest.mark.parametrize(
    ("method", "params", "outcome", "code", "tool"),
    [
        ("tools/call", {"name": "fail", "arguments": {"how": "tool"}}, "tool_error", None, "tool_error"),
        ("tools/call", {"name": "fail", "arguments": {"how": "bug"}}, "tool_error", None, "tool_error"),
        ("tools/call", {"name": "fail", "arguments": {}}, "tool_error", None, "tool_error"),
        ("tools/call", {"name": "fail", "arguments": {"how": "protocol"}}, "error", 1234, "error"),
        ("tools/call", {"name": "unknown"}, "error", -32602, None),
        ("unknown/method", {}, "error", -32601, None),
        ("tools/list", {}, "ok", None, None),
    ],
)
def test_each_outcome_has_its_name(desk, heard, method, params, outcome, code, tool):
    """S193: refusals are told as well."""
    add_tools(desk)
    with suppress(MCPError):
        MCPClient(server=desk).request(method, params)
    assert (heard[-1][0], heard[-1][1]["outcome"], heard[-1][1]["code"]) == ("finished", outcome, code)
    assert [values["outcome"] for name, values in heard if name == "tool"] == ([tool] if tool else [])


def test_the_tool_of_a_middleware_that_answers_by_itself_was_not_called(desk, heard, set_around):
    set_around(MIDDLEWARE=[f"{HERE}.never_calls"])
    add_tools(desk)
    MCPClient(server=desk).call_tool("add", {"a": 1, "b": 2})
    assert [name for name, _ in heard] == ["started", "finished"]


@pytest.mark.parametrize("door", DOORS)
def test_receivers_of_both_kinds_may_use_the_database(desk, settings, door):
    """Outside the transaction of the call: what they write stays, whatever becomes of the tool."""
    settings.ROOT_URLCONF = (path("mcp", desk.urls),)
    add_tools(desk)

    def write(context, tool, **values):
        User.objects.create(username=f"{tool} {values['outcome']}")

    async def awrite(context, **values):
        await User.objects.acreate(username=f"async {values['outcome']}")

    with connected(tool_called, write), connected(request_finished, awrite, sender=desk):
        WireClient(DOORS[door]()).call_tool("modern", "fail", {"how": "bug"})
    assert {user.username for user in User.objects.all()} == {"fail tool_error", "async tool_error"}


def test_a_receiver_that_raises_changes_no_answer(desk, caplog):
    add_tools(desk)

    def raises(**values):
        raise RuntimeError("broken receiver")

    async def araises(**values):
        raise RuntimeError("broken receiver")

    with connected(request_started, raises), connected(tool_called, araises), connected(request_finished, raises):
        assert MCPClient(server=desk).call_tool("add", {"a": 1, "b": 2}).structured == 3


@pytest.mark.parametrize("is_async", [True, False])
def test_a_receiver_that_exits_ends_neither_the_request_nor_the_process(desk, is_async, caplog):
    add_tools(desk)
    told = []

    def exits(**values):
        raise SystemExit("from a receiver")

    async def aexits(**values):
        raise SystemExit("from a receiver")

    async def listen(**values):
        told.append(values["outcome"])

    async def ask():
        client = AsyncMCPClient(server=desk)
        with connected(request_started, receiver), connected(tool_called, receiver):
            reply = await client.call_tool("add", {"a": 1, "b": 2})
            return reply.structured, (await client.list_tools())[0]["name"]

    receiver = aexits if is_async else exits
    with connected(request_finished, listen):
        assert asyncio.run(ask()) == (3, "add")
    assert told == ["ok", "ok"]


def test_only_the_server_that_was_asked_for_is_heard(desk, heard):
    told = []

    def listen(sender, **values):
        told.append(sender)

    add_tools(desk)
    for sender in (object(), desk):
        with connected(request_finished, listen, sender=sender):
            MCPClient(server=desk).list_tools()
    assert told == [desk]
    assert len(heard) == 4


def test_calls_at_the_same_time_do_not_mix(desk):
    """X8: each call is told with its own data, although the first to begin is the last to end."""
    gates = {name: asyncio.Event() for name in "abc"}
    told = []

    @desk.tool
    async def wait(name: str) -> str:
        """Wait for the next one."""
        await gates[name].wait()
        return name

    async def listen(context, tool, arguments, duration, **values):
        told.append((context.params["arguments"]["name"], arguments["name"], context.request_id, duration))

    async def ask():
        client = AsyncMCPClient(server=desk)
        async with asyncio.timeout(30):
            calls = [asyncio.create_task(client.call_tool("wait", {"name": name})) for name in "abc"]
            for name, call in reversed(list(zip("abc", calls, strict=True))):
                gates[name].set()
                await call

    with connected(tool_called, listen):
        asyncio.run(ask())
    assert [entry[:3] for entry in told] == [("c", "c", 3), ("b", "b", 2), ("a", "a", 1)]
    assert told[2][3] > told[0][3] > 0


def test_a_call_that_was_given_up_is_told(desk):
    """S153, S191"""
    entered, told = asyncio.Event(), []

    @desk.tool
    async def wait() -> None:
        """Wait for ever."""
        entered.set()
        await asyncio.Event().wait()

    async def listen(signal, outcome, code, **values):
        told.append((outcome, code))

    async def ask():
        client = AsyncMCPClient(server=desk)
        async with asyncio.timeout(30):
            call = asyncio.create_task(client.call_tool("wait"))
            await entered.wait()
            call.cancel()
            await asyncio.wait([call])
            await client.notify("notifications/example/unknown")  # and wait until nothing runs

    with connected(tool_called, listen), connected(request_finished, listen):
        asyncio.run(ask())
    assert told == [("cancelled", None)] * 2
