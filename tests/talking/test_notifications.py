"""Progress and log messages on the stream of their call."""

import asyncio
import logging

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

from django_mcp.logging import MCPLogHandler
from django_mcp.protocol.envelope import LOG_LEVELS
from django_mcp.transports import sse, sweeps
from django_mcp.transports.shutdown import cancel_all
from tests.shop.mcp import gate
from tests.stdio.client import talk
from tests.wire.client import META, WireClient
from tests.wire.doors import WSGIDoor, consumer

from .live import Live, legacy, modern, notices
from .site import shop_log, site

PROGRESS, MESSAGE = "notifications/progress", "notifications/message"


def ask(door, name, arguments=None, **options):
    async def steps():
        return await modern(door, name, arguments, **options).answer()

    return asyncio.run(steps())


@pytest.mark.parametrize("tool", ["step_then_block", "step_then_wait"])
def test_a_notification_arrives_while_the_call_runs(door, tool):
    """MH-25, MH-28, PRG-05, S241, W7, BL-089: no later, in LF framed events that no proxy holds back or compresses."""

    async def steps():
        call = modern(door, tool, progressToken="t")
        status, headers = await call.start()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert headers["x-accel-buffering"] == "no"
        assert headers["cache-control"] == "no-cache, no-transform"
        notice = await call.event()
        assert notice["params"] == {"progressToken": "t", "progress": 1}
        assert not gate.opened.is_set()
        gate.opened.set()
        assert (await call.event())["result"]["content"][0]["text"] == "done"
        assert await call.frame() == b""
        await call.ended()

    asyncio.run(steps())


def test_the_middleware_of_a_site_holds_no_event_back(settings):
    """BL-089: above all GZipMiddleware, which takes no notice of no-transform."""
    settings.MIDDLEWARE = [
        "django.middleware.gzip.GZipMiddleware",
        "django.middleware.http.ConditionalGetMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ]

    async def steps():
        call = modern("view", "step_then_wait", progressToken="t", extra={"Accept-Encoding": "gzip"})
        _, headers = await call.start()
        assert "content-encoding" not in headers
        assert (await call.event())["params"]["progress"] == 1
        assert not gate.opened.is_set()
        gate.opened.set()
        assert "result" in await call.event()
        assert await call.frame() == b""
        await call.ended()

    asyncio.run(steps())


def test_a_call_that_sends_nothing_is_answered_in_json(door):
    """S241."""
    [answer] = ask(door, "silent", progressToken=1, logLevel="debug")
    assert answer["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("tool", ["steps", "asteps"])
@pytest.mark.parametrize("token", [0, "", "0", 7], ids=repr)
def test_progress_carries_the_token_as_it_came(tool, token):
    """BL-080, PRG-02, S147."""
    messages = ask("consumer", tool, {"values": [1, 2.5]}, progressToken=token)
    sent = notices(messages, PROGRESS)
    assert [(each["progressToken"], each["progress"]) for each in sent] == [(token, 1), (token, 2.5)]
    assert all(type(each["progressToken"]) is type(token) for each in sent)
    if tool == "steps":
        assert [(each["total"], each["message"]) for each in sent] == [(10, "at 1"), (10, "at 2.5")]
    assert "result" in messages[-1]


@pytest.mark.parametrize("token", [True, 1.5, None])
def test_a_token_that_is_none_gets_no_progress(token):
    """BL-080."""
    [answer] = ask("consumer", "steps", {"values": [1]}, progressToken=token)
    assert "error" in answer or answer["result"]["content"][0]["text"] == "done"


def test_progress_is_sent_only_when_asked_for_and_only_upwards():
    """BL-081, PRG-01, PRG-02."""
    assert len(ask("consumer", "steps", {"values": [1, 2]})) == 1
    sent = notices(ask("consumer", "steps", {"values": [1, 1, 0, 2]}, progressToken=1), PROGRESS)
    assert [each["progress"] for each in sent] == [1, 2]


def test_two_calls_at_once_keep_their_tokens_apart(door):
    """BL-081."""

    async def steps():
        one, other = (modern(door, "steps", {"values": [1, 2]}, progressToken=token) for token in "ab")
        for call, token in ((one, "a"), (other, "b")):
            sent = notices(await call.answer(), PROGRESS)
            assert [each["progressToken"] for each in sent] == [token, token]

    asyncio.run(steps())


def test_a_thread_of_the_tool_may_report_until_the_call_is_answered():
    """PRG-03, BL-081."""
    sent = notices(ask("consumer", "step_in_thread", progressToken=1), PROGRESS)
    assert [each["progress"] for each in sent] == [1]
    gate.opened.set()
    assert gate.ended.wait(30)


@pytest.mark.parametrize(("method", "name"), [("prompts/get", "talking_prompt"), ("resources/read", "talk://resource")])
def test_prompts_and_resources_may_report_too(method, name):
    """S148."""
    messages = ask("consumer", name, method=method, progressToken=1)
    assert [each["progress"] for each in notices(messages, PROGRESS)] == [1]
    assert "result" in messages[-1]


@pytest.mark.parametrize("tool", ["shout", "ashout"])
@pytest.mark.parametrize("level", ["debug", "warning", "emergency"])
def test_a_modern_request_says_what_it_wants_to_read(tool, level):
    """BL-082, LOG-03, LOG-04, LOG-06, S145."""
    sent = notices(ask("consumer", tool, logLevel=level), MESSAGE)
    expected = list(LOG_LEVELS[LOG_LEVELS.index(level) :])
    assert [each["level"] for each in sent] == expected
    if tool == "shout":
        assert sent[0] == {"level": expected[0], "logger": "shop", "data": {"level": expected[0]}}


def test_a_modern_request_that_asks_for_no_log_gets_none():
    """LOG-03, LOG-05, LOG-09: off unless asked for."""
    assert len(ask("consumer", "shout")) == 1
    [refusal] = ask("consumer", "shout", logLevel="loud")
    assert refusal["error"]["code"] == -32602


@pytest.mark.django_db
def test_the_level_of_a_legacy_session_is_its_own(door):
    """BL-082, LOG-02, S141: and one that has set none gets what is not meant for developers."""
    got = {}
    for level in ("error", "debug", None):
        client = WireClient(consumer())
        client.initialize()
        if level is not None:
            assert client.legacy("logging/setLevel", {"level": level}).result == {}

        async def steps(session=client.session):
            return await legacy(door, session, "shout").answer()

        messages = async_to_sync(steps)()
        got[level] = [each["level"] for each in notices(messages, MESSAGE)]
    expected = {level: list(LOG_LEVELS[LOG_LEVELS.index(level or "info") :]) for level in got}
    assert got == expected


@pytest.mark.django_db
def test_nothing_is_sent_where_nothing_can_be():
    """S150: under WSGI, and to a client that takes JSON alone."""
    client = WireClient(WSGIDoor())
    meta = {"progressToken": 1, f"{META}logLevel": "debug"}
    assert client.modern("tools/call", {"name": "shout"}, meta=meta).result["content"][0]["text"] == "done"
    arguments = {"values": [1]}
    answer = client.modern("tools/call", {"name": "asteps", "arguments": arguments}, meta=meta)
    assert answer.result["content"][0]["text"] == "done"
    assert len(ask("view", "shout", logLevel="debug", accept="application/json")) == 1


def test_what_is_no_progress_and_no_level_is_refused():
    for kind, hint in [("nan", "nan"), ("text", "'1'"), ("flag", "True"), ("total", "total"), ("level", "'loud'")]:
        [answer] = ask("consumer", "misuse", {"kind": kind}, progressToken=1)
        assert hint in answer["result"]["content"][0]["text"]


def test_python_logging_reaches_the_client_that_asked_for_it(caplog):
    """LOG-06, LOG-07: the message alone, without the traceback."""
    handler = MCPLogHandler()
    shop_log.addHandler(handler)
    try:
        shop_log.warning("outside of any call")
        sent = notices(ask("consumer", "python_log", logLevel="debug"), MESSAGE)
        assert sent == [
            {"level": "warning", "logger": "talking.shop", "data": "low on tea"},
            {"level": "error", "logger": "talking.shop", "data": "broken"},
        ]
        handler.setFormatter(logging.Formatter("%(levelname)s!"))
        [first, _] = notices(ask("consumer", "python_log", logLevel="debug"), MESSAGE)
        assert first["data"] == "WARNING!"
    finally:
        shop_log.removeHandler(handler)


def test_a_handler_that_fails_does_not_fail_the_call(monkeypatch, capsys):
    handler = MCPLogHandler()
    monkeypatch.setattr(logging, "raiseExceptions", False)
    shop_log.addHandler(handler)
    handler.setFormatter(logging.Formatter("%(no_such_attribute)s"))
    try:
        [answer] = ask("consumer", "python_log", logLevel="debug")
        assert answer["result"]["content"][0]["text"] == "done"
    finally:
        shop_log.removeHandler(handler)


def test_the_handler_does_not_report_what_sending_logs(monkeypatch):
    """A handler on the root logger hears of our own loggers too."""
    handler = MCPLogHandler()
    ours = logging.getLogger("django_mcp.server")
    level = ours.level
    ours.setLevel(logging.DEBUG)
    frame = sse.frame

    def noisy_frame(message):
        ours.debug("sending")
        return frame(message)

    monkeypatch.setattr(sse, "frame", noisy_frame)
    shop_log.addHandler(handler)
    ours.addHandler(handler)
    try:
        sent = notices(ask("consumer", "python_log", logLevel="debug"), MESSAGE)
        assert [each["data"] for each in sent] == ["low on tea", "broken"]
    finally:
        shop_log.removeHandler(handler)
        ours.removeHandler(handler)
        ours.setLevel(level)


def test_a_failure_after_the_first_event_is_the_last_event(door):
    messages = ask(door, "step_then_fail", progressToken=1)
    assert len(messages) == 2
    assert messages[-1]["result"]["isError"] is True


def test_a_quiet_stream_is_kept_alive(door, monkeypatch):
    """MH-29, LH-39."""
    monkeypatch.setattr(sweeps, "KEEP_ALIVE_SECONDS", 0.02)

    async def steps():
        call = modern(door, "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        assert await call.frame() == b": keep-alive\n\n"
        gate.opened.set()
        assert b'"result"' in (await call.rest())[-1]
        await call.ended()

    asyncio.run(steps())


@pytest.mark.django_db
def test_a_batch_is_one_stream(door):
    """RPC-12."""
    client = WireClient(consumer())
    client.initialize("2025-03-26")

    async def steps():
        call = {"jsonrpc": "2.0", "method": "tools/call"}
        batch = [
            {
                **call,
                "id": token,
                "params": {"name": "steps", "arguments": {"values": [1]}, "_meta": {"progressToken": token}},
            }
            for token in (1, 2)
        ]
        return await Live(door, batch, client.session_headers).answer()

    one, other, answers = async_to_sync(steps)()
    assert [one["params"]["progressToken"], other["params"]["progressToken"]] == [1, 2]
    assert [each["id"] for each in answers] == [1, 2]


def test_stdio_carries_notifications_in_both_eras():
    """STD-01, STD-07, S202."""

    async def steps(client):
        meta = {"progressToken": 0, f"{META}logLevel": "alert"}
        for name, method in (("steps", PROGRESS), ("shout", MESSAGE)):
            arguments = {"values": [1, 2]} if name == "steps" else {}
            params = {"name": name, "arguments": arguments}
            request = client.enveloped("tools/call", params)
            request["params"]["_meta"].update(meta)
            client.send(request)
            assert [(await client.receive())["method"] for _ in range(2)] == [method, method]
            assert "result" in await client.receive()
        await client.initialize()
        client.send(client.request("tools/call", {"name": "steps", "arguments": {"values": [1]}, "_meta": meta}))
        assert (await client.receive())["params"]["progressToken"] == 0
        assert "result" in await client.receive()

    talk(steps, server=site)


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "SHUTDOWN_GRACE": 0})
def test_a_stream_ends_with_an_error_when_the_process_ends(door):

    async def steps():
        call = modern(door, "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        cancel_all()
        assert (await call.event())["error"]["message"] == "The server is shutting down"
        await call.ended()
        assert gate.outcome == "cancelled"

    asyncio.run(steps())
