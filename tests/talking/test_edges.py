"""What the wire rarely shows: parts of asking and notifying by themselves."""

import asyncio
import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

from django_mcp import default_server
from django_mcp.conf import mcp_settings
from django_mcp.exceptions import InvalidAnswer
from django_mcp.models import PendingRequest, SpentState
from django_mcp.primitives.questions import RawQuestion
from django_mcp.primitives.sampling import Sampling
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.versions import Revision
from django_mcp.questions import read_any_form
from django_mcp.running import refusing_writes
from django_mcp.server.dialogue import NO_OUTBOUND
from django_mcp.server.rounds import NO_ASKER, AskingLimits, NoAsker, _unmet
from django_mcp.server.server import Server
from django_mcp.transports.backlog import Backlog
from django_mcp.transports.outbound import StdioOutbound
from tests.shop.mcp import gate
from tests.stdio.client import talk
from tests.wire.client import WireClient
from tests.wire.doors import consumer

from .live import OPEN, Live, happened, legacy, modern
from .site import site

CALL: Any = SimpleNamespace(params={})


def test_nobody_is_asked_where_nobody_said_how():
    assert "event stream" in (NO_ASKER.reason(CALL) or "")
    error = InvalidAnswer("fault")
    assert NO_ASKER.malformed("key", error) is error
    asyncio.run(NoAsker().begin(CALL))
    with pytest.raises(ProtocolError, match="event stream"):
        asyncio.run(NO_ASKER.ask(CALL, {}))
    assert NO_OUTBOUND.can_send is False


def test_a_server_without_settings_asks_as_often_as_the_defaults_say():
    assert Server.asking_limits(default_server) == AskingLimits()
    assert default_server.asking_limits() == AskingLimits()


def test_rows_say_what_they_are():
    assert str(SpentState(nonce="n")) == "n"
    assert str(PendingRequest(ref="r")) == "r"


def test_a_raw_question_is_read_by_its_author():
    question = RawQuestion({"method": "roots/list"})
    assert question.read({"roots": []}, read_any_form) == {"roots": []}
    assert question.requires == {"roots": {}}
    assert question.to_wire(Revision.V2026_07_28, read_any_form) == {"method": "roots/list", "params": {}}


def test_context_of_other_servers_needs_a_capability():
    """SMP-03."""
    assert Sampling("Hi", 1, include_context="thisServer").requires == {"sampling": {"context": {}}}


def test_writes_outside_of_a_call_are_nobody_s_business():
    with refusing_writes():
        pass


def test_an_async_sender_in_a_transaction_does_not_wait():
    async def steps():
        sent: list[bytes] = []
        backlog = Backlog()
        given_up = asyncio.Event()
        outbound = StdioOutbound(mcp_settings(), sent.append, backlog, given_up.set)
        backlog.add(100_000)
        await outbound.anotify({"method": "x"}, may_wait=False)
        assert (len(sent), given_up.is_set()) == (1, False)
        backlog.add(mcp_settings().stream_buffer)
        await outbound.anotify({"method": "x"}, may_wait=False)
        await asyncio.wait_for(given_up.wait(), 30)
        outbound.notify({"method": "x"}, may_wait=True)
        await outbound.anotify({"method": "x"}, may_wait=True)
        assert len(sent) == 2
        assert not outbound.can_send

    asyncio.run(steps())


def test_a_sender_whose_loop_has_ended_while_it_waited_hinders_nobody():
    """Async code below a sync tool has a loop of its own, which ends with a call that is cancelled."""
    backlog = Backlog()
    backlog.add(100_000)

    async def give_up():
        waiting = asyncio.create_task(backlog.wait_async(60))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(give_up())

    async def go_on():
        waiting = asyncio.create_task(backlog.wait_async(60))
        await asyncio.sleep(0)
        backlog.remove(100_000)
        return await asyncio.wait_for(waiting, 30)

    assert asyncio.run(go_on())


def test_a_stdio_call_that_is_cancelled_takes_back_its_questions_and_says_nothing_else():
    """STD-08, CAN-08."""

    async def call(sent):
        outbound = StdioOutbound(mcp_settings(), sent.append, Backlog(), lambda: None)
        try:
            await asyncio.sleep(5)
        finally:
            outbound.notify({"method": "notifications/progress"}, may_wait=False)
            outbound.notify({"method": "notifications/cancelled"}, may_wait=False)

    async def steps():
        sent: list[bytes] = []
        task = asyncio.create_task(call(sent))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sent == [b'{"method":"notifications/cancelled"}']

    asyncio.run(steps())


def test_a_group_without_questions_is_none():
    assert _unmet(BaseExceptionGroup("none", [KeyboardInterrupt()])) is None


@override_settings(DJANGO_MCP={**OPEN, "SEND_TIMEOUT": 0.1})
def test_an_answer_that_nobody_reads_is_given_up():
    async def steps():
        call = modern("consumer", "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        call.reading.clear()
        gate.opened.set()
        await call.ended()
        await happened(gate.ended)
        assert gate.outcome == "finished"

    asyncio.run(steps())


@pytest.mark.parametrize("era", ["http", "stdio"])
def test_cancelling_at_any_moment_leaves_at_most_one_answer(era):
    """BL-027: while it starts, while it runs, as it ends and after that."""
    delays = [number / 1000 for number in range(30)]

    client = WireClient(consumer())
    client.initialize()

    async def over_http():
        async def one(number, delay):
            call = legacy("consumer", client.session, "nap", {"seconds": 0.015}, id=number)
            await asyncio.sleep(delay)
            params = {"requestId": number}
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await Live("consumer", notice, client.session_headers).ended()
            [answer] = await call.answer()
            return answer["id"] == number and ("result" in answer or answer["error"]["code"] == -32800)

        assert all(await asyncio.gather(*(one(number, delay) for number, delay in enumerate(delays))))

    async def over_stdio(client):
        await client.initialize()
        loop = asyncio.get_running_loop()
        for number, delay in enumerate(delays):
            client.send(client.request("tools/call", {"name": "nap", "arguments": {"seconds": 0.015}}, id=f"n{number}"))
            loop.call_later(delay, partial(client.notify, "notifications/cancelled", requestId=f"n{number}"))
        await asyncio.sleep(0.05)
        await client.exchange.drain(5)
        client.send(client.request("ping", id="after"))
        await client.exchange.drain(5)
        ids = [json.loads(line)["id"] for line in client.lines]
        assert len(ids) == len(set(ids))
        assert ids[-1] == "after"

    if era == "http":
        async_to_sync(over_http)()
    else:
        talk(over_stdio, server=site)


def test_what_comes_after_the_answer_is_dropped(door):
    """PRG-03: for one that never opened a stream too."""

    async def steps():
        call = modern(door, "silent_then_late", progressToken=1)
        [answer] = await call.answer()
        assert "result" in answer
        gate.opened.set()
        await happened(gate.ended)
        assert gate.outcome == "late"

    asyncio.run(steps())


def test_async_progress_without_a_token_is_nothing():
    async def steps():
        [answer] = await modern("consumer", "asteps", {"values": [1]}).answer()
        assert "result" in answer

    asyncio.run(steps())
