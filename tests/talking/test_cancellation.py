"""Calls that their client gives up, and clients that do not read."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.test import override_settings

from django_mcp.running import close_lanes
from django_mcp.transports.cancellation import Cancellable, _running, cancel_here
from django_mcp.transports.shutdown import detached_exchanges
from tests.shop.mcp import gate
from tests.stdio.client import talk
from tests.wire.client import META, WireClient
from tests.wire.doors import WSGIDoor, consumer

from .live import LIMIT, OPEN, Live, happened, legacy, modern, notices
from .site import site

SESSION: Any = SimpleNamespace(pk=0)


@pytest.fixture
def client(db):
    client = WireClient(consumer())
    client.initialize()
    return client


def cancel(door, client, request_id, reason="changed my mind"):
    """The notification, sent by itself."""
    params = {"requestId": request_id, "reason": reason}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    return Live(door, message, client.session_headers)


async def accepted(live):
    status, _ = await live.start()
    assert status == 202
    assert await live.frame() == b""
    await live.ended()


def test_a_legacy_client_cancels_a_call_by_its_id(door, client):
    """CAN-01, CAN-03, S151, S153: answered in JSON by the error of its own."""

    async def steps():
        call = legacy(door, client.session, "step_then_wait", id="x")
        await happened(gate.entered)
        await accepted(cancel(door, client, "x"))
        [answer] = await call.answer()
        assert answer == {"jsonrpc": "2.0", "id": "x", "error": {"code": -32800, "message": "Request cancelled"}}
        assert gate.outcome == "cancelled"

    async_to_sync(steps)()
    assert not _running


def test_a_stream_of_a_cancelled_call_ends_without_an_answer(door, client):
    """CAN-01, S15."""

    async def steps():
        call = legacy(door, client.session, "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        await accepted(cancel(door, client, 1))
        assert await call.frame() == b": cancelled\n\n"
        assert await call.frame() == b""
        await call.ended()

    async_to_sync(steps)()


@pytest.mark.parametrize("foreign", ["'1'", "other", "true", "1.0", "null", "{}"])
def test_only_the_same_id_of_the_same_session_is_cancelled(client, foreign):
    """BL-012, BL-027, CAN-02, CAN-03, S151, S169."""
    stranger = WireClient(consumer())
    stranger.initialize()

    async def steps():
        call = legacy("consumer", client.session, "step_then_wait", id=1)
        await happened(gate.entered)
        if foreign == "other":
            await accepted(cancel("consumer", stranger, 1))
        else:
            await accepted(cancel("consumer", client, "1" if foreign == "'1'" else json.loads(foreign)))
        gate.opened.set()
        [answer] = await call.answer()
        assert "result" in answer
        await accepted(cancel("consumer", client, 1))  # a finished one

    async_to_sync(steps)()


def test_every_call_under_the_id_is_cancelled(client):
    async def steps():
        calls = [legacy("consumer", client.session, "step_then_wait") for _ in range(2)]
        while len(_running) == 0 or len(next(iter(_running.values()))) < 2:
            await asyncio.sleep(0.005)
        await accepted(cancel("consumer", client, 1))
        for call in calls:
            [answer] = await call.answer()
            assert answer["error"]["code"] == -32800

    async_to_sync(steps)()


def test_a_cancellation_that_comes_at_the_end_is_harmless(client):
    """BL-027, CAN-02: for one that waits for its turn when the call has ended, and for one that comes twice."""

    async def steps():
        with Cancellable(SESSION, 1) as cancellable:
            cancel_here(0, 1)
        await asyncio.sleep(0)
        assert not cancellable.is_cancelled
        with Cancellable(SESSION, 1) as cancellable:
            cancel_here(0, 1)
            cancel_here(0, 1)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(1)
        assert cancellable.is_cancelled
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(steps())


def test_nobody_can_cancel_a_call_under_wsgi(client):
    door = WireClient(WSGIDoor())
    door.initialize()
    assert "result" in door.legacy("tools/call", {"name": "silent"}).json
    cancellable = Cancellable(SESSION, 1)
    with cancellable:
        cancellable.cancel()
    assert not cancellable.is_cancelled


def test_the_rest_of_a_batch_goes_on(db):
    client = WireClient(consumer())
    client.initialize("2025-03-26")

    async def steps():
        call = {"jsonrpc": "2.0", "method": "tools/call"}
        batch = [
            {**call, "id": 1, "params": {"name": "step_then_wait"}},
            {**call, "id": 2, "params": {"name": "silent"}},
        ]
        live = Live("consumer", batch, client.session_headers)
        await happened(gate.entered)
        await accepted(cancel("consumer", client, 1))
        [[first, second]] = await live.answer()
        assert (first["id"], first["error"]["code"]) == (1, -32800)
        assert (second["id"], "result" in second) == (2, True)

    async_to_sync(steps)()


@pytest.mark.django_db(transaction=True)
def test_what_a_cancelled_call_wrote_is_rolled_back(door):
    """CAN-01: whatever its thread does afterwards."""
    client = WireClient(consumer())
    client.initialize()

    async def steps():
        call = legacy(door, client.session, "write_then_block")
        await happened(gate.entered)
        await accepted(cancel(door, client, 1))
        [answer] = await call.answer()
        assert answer["error"]["code"] == -32800
        gate.opened.set()

    asyncio.run(steps())
    close_lanes()  # waits for the thread that was abandoned
    assert not Group.objects.exists()


def test_a_synchronous_tool_learns_that_its_client_is_gone(door):
    """CAN-05, S152, W12."""

    async def steps():
        call = modern(door, "step_then_block", progressToken=1)
        await call.start()
        await call.event()
        await happened(gate.entered)
        call.hang_up()
        await call.ended()
        gate.opened.set()
        await happened(gate.ended)
        assert gate.outcome == "cancelled"

    asyncio.run(steps())


def test_a_modern_hang_up_in_the_middle_of_a_stream_cancels_the_call(door):
    """BL-001, CAN-05, MH-30."""

    async def steps():
        call = modern(door, "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        call.hang_up()
        await call.ended()
        await happened(gate.ended)
        assert gate.outcome == "cancelled"

    asyncio.run(steps())


def test_a_legacy_hang_up_in_the_middle_of_a_stream_lets_the_call_finish(door, client):
    """CAN-03, LH-14."""

    async def steps():
        call = legacy(door, client.session, "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        call.hang_up()
        await call.ended()
        assert (gate.outcome, len(detached_exchanges)) == (None, 1)
        gate.opened.set()
        await detached_exchanges.drain(LIMIT)
        assert gate.outcome == "finished"

    async_to_sync(steps)()


def test_a_server_that_cancels_the_door_ends_the_stream_too():
    async def steps():
        call = modern("consumer", "step_then_wait", progressToken=1)
        await call.start()
        await call.event()
        call.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call.ended()
        await happened(gate.ended)
        assert gate.outcome == "cancelled"

    asyncio.run(steps())


def test_a_stdio_client_hears_nothing_more_of_what_it_cancelled():
    """STD-08, CAN-01."""

    async def steps(client):
        meta = {"progressToken": 1}
        request = client.enveloped("tools/call", {"name": "step_then_block"}, id=7)
        request["params"]["_meta"].update(meta)
        client.send(request)
        await client.receive()
        await happened(gate.entered)
        client.notify("notifications/cancelled", requestId=7)
        gate.opened.set()
        assert (await client.modern("tools/call", {"name": "silent"}, id=8))["id"] == 8
        await happened(gate.ended)
        assert len(client.lines) == 2

    talk(steps, server=site)


@pytest.mark.parametrize("tool", ["flood", "aflood"])
def test_a_slow_client_gets_everything_and_the_call_waits_for_it(door, tool):
    """LOG-08, PRG-04, S242: the client sets the rate. Memory stays flat, nothing is lost or comes out of order."""
    count, size = 60, 10_000

    async def steps():
        call = modern(door, tool, {"count": count, "size": size}, logLevel="info")
        call.reading.clear()
        await happened(gate.entered)
        await asyncio.sleep(0.05)  # long enough to send it all, if nothing held the tool back
        assert not gate.ended.is_set()
        call.reading.set()
        await call.start()
        sent = notices(await until_end(call), "notifications/message")
        assert gate.outcome == "finished"
        assert [int(each["data"].rstrip(".")) for each in sent] == list(range(count))

    asyncio.run(steps())


async def until_end(call):
    messages = []
    while frame := await call.frame():
        messages.append(json.loads(frame.split(b"\n")[1].removeprefix(b"data: ")))
    await call.ended()
    return messages


@override_settings(DJANGO_MCP={**OPEN, "SEND_TIMEOUT": 0.1})
@pytest.mark.parametrize("tool", ["flood", "aflood"])
def test_a_modern_client_that_never_reads_loses_its_call(tool):
    async def steps():
        call = modern("consumer", tool, {"count": 1000, "size": 10_000}, logLevel="info")
        call.reading.clear()
        await call.ended()
        assert gate.entered.is_set()
        assert gate.outcome is None

    asyncio.run(steps())
    close_lanes()


@override_settings(DJANGO_MCP={**OPEN, "SEND_TIMEOUT": 0.1})
def test_a_call_behind_the_view_does_not_wait_for_a_client_that_never_reads():
    """Django itself sends there, so its connection is the server's to close."""

    async def steps():
        call = modern("view", "flood", {"count": 1000, "size": 10_000}, logLevel="info")
        await call.start()
        call.reading.clear()
        await happened(gate.entered)
        await asyncio.to_thread(close_lanes)
        assert gate.outcome is None
        call.reading.set()
        call.hang_up()
        await call.ended()

    asyncio.run(steps())


@pytest.mark.django_db
@override_settings(DJANGO_MCP={**OPEN, "SEND_TIMEOUT": 0.1})
def test_a_legacy_call_goes_on_without_a_client_that_never_reads(client):
    async def steps():
        call = legacy("consumer", client.session, "aflood", {"count": 50, "size": 10_000})
        call.reading.clear()
        await call.ended()
        await detached_exchanges.drain(LIMIT)
        assert gate.outcome == "finished"

    async_to_sync(steps)()


@pytest.mark.django_db(transaction=True)
@override_settings(DJANGO_MCP={**OPEN, "STREAM_BUFFER": 200_000})
def test_an_open_transaction_waits_for_nobody():
    """Up to STREAM_BUFFER is kept; a client that is slower than that is given up, and nothing is saved."""

    async def steps(count):
        arguments = {"count": count, "size": 10_000, "in_transaction": True}
        call = modern("consumer", "flood", arguments, logLevel="info")
        await call.start()
        call.reading.clear()
        await happened(gate.entered)
        if count < 20:
            await happened(gate.ended)
            call.reading.set()
            assert len(await until_end(call)) == count + 1
        else:
            await call.ended()

    asyncio.run(steps(15))
    assert Group.objects.count() == 1
    gate.reset()
    asyncio.run(steps(1000))
    close_lanes()
    assert (gate.outcome, Group.objects.count()) == (None, 1)


@override_settings(DJANGO_MCP={**OPEN, "SEND_TIMEOUT": 0.1})
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_stdio_client_that_never_reads_holds_no_call(era):
    async def steps(client):
        backlog = client.exchange._backlog
        backlog.add(100_000)
        params = {"name": "flood", "arguments": {"count": 3, "size": 10}}
        if era == "modern":
            request = client.enveloped("tools/call", params)
            request["params"]["_meta"][f"{META}logLevel"] = "info"
            client.send(request)
            await client.exchange.drain(LIMIT)
            await asyncio.to_thread(close_lanes)
            assert gate.outcome is None
        else:
            await client.initialize()
            client.send(client.request("tools/call", params))
            await client.receive()
            assert "result" in await client.receive()  # the other two were dropped
            assert gate.outcome == "finished"

    talk(steps, server=site)
