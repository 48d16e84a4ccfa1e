"""Rules of talking to clients that no feature stands for alone: levels, streams, and who may be cancelled."""

import logging
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.urls import path
from django.utils.translation import gettext_lazy

from django_mcp import Context, MCPServer
from django_mcp.protocol.envelope import LOG_LEVELS
from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from django_mcp.servers import _servers
from django_mcp.signals import request_finished
from django_mcp.testing import MCPClient
from tests.shop.mcp import gate
from tests.stdio.client import talk
from tests.wire.client import META, MODERN, WireClient
from tests.wire.doors import WSGIDoor, consumer

from .asking_site import site as asking
from .legacy_client import open_session
from .live import Live, happened, legacy, modern, notices
from .rounds import CAPABILITIES
from .site import site as talking

MESSAGE = "notifications/message"


@pytest.fixture
def client(db):
    client = WireClient(consumer())
    client.initialize()
    return client


@pytest.fixture
def waiting(settings):
    """A server of which everything that runs the site's code waits until the test lets it go."""
    server = MCPServer("waiting")

    async def wait() -> str:
        await gate.hold()
        return "done"  # pragma: no cover - every one is cancelled

    server.tool(name="wait")(wait)
    server.resource("wait://here")(wait)
    server.method("example/wait")(wait)

    async def suggest(value: str) -> list[str]:
        return [await wait()]

    @server.prompt(name="wait", complete={"word": suggest})
    async def prompt(word: str = "") -> str:
        """Wait."""
        return await wait()

    settings.ROOT_URLCONF = (path("mcp", server.urls),)
    yield server
    del _servers["waiting"]


def test_log_messages_are_declared_where_they_can_be_sent(db):
    """LOG-01."""
    for door, declared in ((consumer(), True), (WSGIDoor(), False)):
        client = WireClient(door)
        assert ("logging" in client.initialize().result["capabilities"]) is declared
        assert ("logging" in client.modern("server/discover").result["capabilities"]) is declared


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_a_session_gets_its_level_and_those_above_it(client, level):
    """LOG-02, LOG-06, S140, S142, S143: with the data as it was given, and the name of the logger."""
    assert LOG_LEVELS == ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
    client.legacy("logging/setLevel", {"level": level})

    async def steps():
        return await legacy("consumer", client.session, "shout").answer()

    sent = notices(async_to_sync(steps)(), MESSAGE)
    expected = LOG_LEVELS[LOG_LEVELS.index(level) :]
    assert sent == [{"level": one, "logger": "shop", "data": {"level": one}} for one in expected]


def test_progress_of_a_legacy_call_is_on_its_own_stream_alone(client):
    """PRG-06."""

    async def steps():
        stream = Live("consumer", None, {**client.session_headers, "Accept": "text/event-stream"}, method="GET")
        await stream.start()
        messages = await legacy("consumer", client.session, "steps", {"values": [1, 2]}, progressToken=7).answer()
        assert [one["progress"] for one in notices(messages, "notifications/progress")] == [1, 2]
        stream.hang_up()
        await stream.ended()
        sent = []
        while not stream._sent.empty():
            sent.append((await stream._sent.get()).get("body", b""))
        return sent

    assert b"progress" not in b"".join(async_to_sync(steps)())


def test_questions_are_the_last_message_of_a_stream(db, asking_site):
    """MRTR-20, MH-26, CAN-06: and nothing of it is ever taken back."""

    async def steps():
        call = modern("consumer", "progress_and_ask", capabilities=CAPABILITIES, progressToken=1, logLevel="info")
        return await call.answer()

    messages = async_to_sync(steps)()
    assert [message.get("method") for message in messages] == ["notifications/progress", MESSAGE, MESSAGE, None]
    assert messages[-1]["result"]["resultType"] == "input_required"


def test_nobody_is_asked_outside_of_a_request(db, caplog, settings):
    """S2C-03: a notification has no stream that a question could ride."""
    server = MCPServer("noticing")

    @server.notification("notifications/example/note")
    def hear(context: Context) -> None:
        context.list_roots()

    settings.ROOT_URLCONF = (path("mcp", server.urls),)
    try:
        assert open_session().notify("notifications/example/note").status == 202
    finally:
        del _servers["noticing"]
    assert "notifications/example/note cannot ask the client" in caplog.text


@pytest.mark.parametrize("door", ["http", "stdio"])
def test_the_reason_of_a_cancellation_is_logged(client, caplog, door):
    """CAN-09."""
    caplog.set_level(logging.INFO)
    reason = {"requestId": 3, "reason": "changed my mind"}

    async def over_http():
        call = legacy("consumer", client.session, "step_then_wait", id=3)
        await happened(gate.entered)
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason}
        await Live("consumer", notice, client.session_headers).ended()
        await call.ended()

    async def over_stdio(lines):
        await lines.initialize()
        lines.send(lines.request("tools/call", {"name": "step_then_wait", "arguments": {}}, id=3))
        await happened(gate.entered)
        lines.notify("notifications/cancelled", **reason)
        await lines.exchange.drain(20)

    if door == "http":
        async_to_sync(over_http)()
    else:
        talk(over_stdio, server=talking)
    assert "The client cancelled request 3: 'changed my mind'" in caplog.text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "wait", "arguments": {}}),
        ("prompts/get", {"name": "wait", "arguments": {}}),
        ("resources/read", {"uri": "wait://here"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "wait"}, "argument": {"name": "word", "value": ""}},
        ),
        ("example/wait", {}),
    ],
)
def test_everything_that_runs_code_of_the_site_can_be_cancelled(waiting, db, method, params):
    """S157, CAN-01."""
    client = open_session()

    async def steps():
        message = {"jsonrpc": "2.0", "id": 4, "method": method, "params": params}
        call = Live("consumer", message, client.session_headers)
        await happened(gate.entered)
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}
        await Live("consumer", notice, client.session_headers).ended()
        [answer] = await call.answer()
        assert answer["error"]["code"] == -32800

    async_to_sync(steps)()
    assert gate.outcome == "cancelled"


def test_a_modern_request_is_not_cancelled_by_another_one(client):
    """S159, CAN-05: over HTTP only who hangs up cancels."""

    async def steps():
        call = modern("consumer", "step_then_wait")
        await happened(gate.entered)
        params = {"requestId": 1, "_meta": {f"{META}protocolVersion": MODERN}}
        notice: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await Live("consumer", notice, {"MCP-Protocol-Version": MODERN, "Mcp-Method": notice["method"]}).ended()
        gate.opened.set()
        [answer] = await call.answer()
        assert answer["result"]["content"][0]["text"] == "done"

    async_to_sync(steps)()


def test_who_listens_is_told_of_questions(db, asking_site):
    """S182."""
    outcomes = []

    def note(outcome, **values):
        outcomes.append(outcome)

    request_finished.connect(note)
    try:
        client = MCPClient(server=asking, capabilities=CAPABILITIES)
        client.request("tools/call", {"name": "book", "arguments": {}})
    finally:
        request_finished.disconnect(note)
    assert outcomes == ["input_required"]


@pytest.mark.parametrize("revision", [LATEST, LATEST_LEGACY])
def test_questions_are_put_in_the_language_of_the_caller(db, revision):
    """And are the same question in each run."""
    server, asked = MCPServer("lazy"), []

    @server.tool
    def sure(context: Context) -> str:
        """Ask in the language of the caller."""
        return context.elicit(gettext_lazy("Home"), {"type": "object", "properties": {}}).action

    def answer(request):
        asked.append(request["params"]["message"])
        return {"action": "decline"}

    try:
        client = MCPClient(server=server, revision=revision, capabilities=CAPABILITIES, language="de", answer=answer)
        assert client.call_tool("sure").text == "decline"
    finally:
        del _servers["lazy"]
    assert asked == ["Start"]
