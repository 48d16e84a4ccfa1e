"""What other workers were told by the client: to cancel a call of ours, and the reply to a question of ours."""

import asyncio
import time
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from django.db import OperationalError

from django_mcp.events import Kind, append, doorbells, reader
from django_mcp.events.attention import Attention
from django_mcp.models import Event, PendingRequest, Session
from django_mcp.running import run_store, write_store
from django_mcp.transports import cancellation, replies
from tests.events.hearing import listening
from tests.shop.mcp import gate
from tests.wire.client import WireClient
from tests.wire.doors import consumer

from .asking_site import runs
from .legacy_client import open_session, reply, texts
from .live import LIMIT, happened, legacy
from .rounds import BOOKING
from .test_cancellation import accepted, cancel

pytestmark = pytest.mark.django_db(transaction=True)

CANCELLED = {"code": -32800, "message": "Request cancelled"}


@pytest.fixture(autouse=True)
def reader_ends():
    yield
    reader.close()


@pytest.fixture
def client():
    client = WireClient(consumer())
    client.initialize()
    return client


@contextmanager
def soon(after=0.01):
    with patch.object(cancellation, "WATCH_AFTER", after):
        yield


async def until(condition):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until
        await asyncio.sleep(0.005)


def session_pk():
    return Session.objects.get().pk


async def told_elsewhere(request_id, session):
    """What another worker writes that is told to cancel a request."""
    mark = cancellation._mark(request_id)
    await write_store(append, Kind.CALL_CANCELLED, audience=str(session), data=mark)


def test_a_call_is_cancelled_that_another_worker_was_told_of(door, client):
    """CAN-01, CAN-10, W12: and nobody reads the log for it any more."""

    async def steps():
        call = legacy(door, client.session, "step_then_wait", id="x")
        await happened(gate.entered)
        await until(lambda: reader.is_running)
        await told_elsewhere("x", await run_store(session_pk))
        [answer] = await call.answer()
        assert answer == {"jsonrpc": "2.0", "id": "x", "error": CANCELLED}
        assert gate.outcome == "cancelled"
        assert not reader.is_running

    with soon():
        asyncio.run(steps())


def test_a_cancellation_that_cannot_be_passed_on_is_accepted(client, caplog):
    """CAN-02: on SQLite a call that has written keeps everybody else from writing."""

    async def steps():
        with patch.object(cancellation, "append", side_effect=OperationalError("database is locked")):
            await accepted(cancel("consumer", client, 1))

    asyncio.run(steps())
    assert "could not be told of a cancellation: database is locked" in caplog.text


def test_a_cancellation_is_heard_that_came_before_the_log_was_read(client):
    """BL-027, CAN-10: another worker may be faster than the call, and nothing of a short time is lost."""

    async def steps():
        await accepted(cancel("consumer", client, 1))
        call = legacy("consumer", client.session, "step_then_wait", id=1)
        [answer] = await call.answer()
        assert answer["error"] == CANCELLED

    with soon():
        asyncio.run(steps())


def test_the_log_does_not_say_which_call_is_meant(client):
    """CAN-02, CAN-03: an unknown id is accepted like any other, however long it is and whatever is in it."""

    async def steps():
        await accepted(cancel("consumer", client, "a secret \0 \ud800" + "x" * 5000))

    asyncio.run(steps())
    event = Event.objects.get(kind=Kind.CALL_CANCELLED)
    assert event.audience == str(session_pk())
    assert "secret" not in str(event.data)
    assert len(str(event.data)) < 100


def test_only_the_same_id_of_the_same_session_is_cancelled_from_elsewhere(client):
    """BL-012, BL-027, CAN-03."""

    async def steps(heard):
        call = legacy("consumer", client.session, "step_then_wait", id=1)
        await happened(gate.entered)
        own = await run_store(session_pk)
        await told_elsewhere("1", own)
        await told_elsewhere(1, own + 1)
        await told_elsewhere(2, own)
        await asyncio.to_thread(heard.wait_for, 3)
        gate.opened.set()
        [answer] = await call.answer()
        assert "result" in answer

    with listening() as heard:
        asyncio.run(steps(heard))


def test_a_short_call_does_not_have_the_log_read(client):
    async def steps():
        with patch.object(reader, "attach") as attach:
            [answer] = await legacy("consumer", client.session, "silent").answer()
            assert "result" in answer
            attach.assert_not_called()

    asyncio.run(steps())


def test_a_database_that_is_away_for_a_moment_delays_the_cancellation(client, caplog):
    """CAN-10."""

    async def steps():
        await accepted(cancel("consumer", client, 1))
        with patch.object(cancellation, "find", side_effect=OperationalError("away")):
            call = legacy("consumer", client.session, "step_then_wait")
            await until(lambda: "next try" in caplog.text)
        [answer] = await call.answer()
        assert answer["error"] == CANCELLED

    with soon():
        asyncio.run(steps())
    assert not reader.is_running


def test_a_call_that_has_ended_is_not_watched_again(caplog):
    async def steps():
        one = cancellation.Cancellable.__new__(cancellation.Cancellable)
        one._key = (0, 1)
        with patch.object(cancellation, "find", side_effect=OperationalError("away")):
            attention = Attention()
            attention.end()
            one._began = 0
            await one._heed(asyncio.get_running_loop(), attention)
        assert "next try" in caplog.text
        assert not hasattr(one, "_timer")

    asyncio.run(steps())


def test_who_has_left_before_the_log_is_read_keeps_no_reader_running():
    attention = Attention()
    attention.end()
    attention.begin()
    assert not reader.is_running


@pytest.fixture
def asked(settings):
    settings.ROOT_URLCONF = "tests.talking.asking_site"
    runs.clear()
    return open_session()


def test_a_reply_that_another_worker_took_rings_the_one_that_waits(asked):
    """S2C-04: long before that one would have looked again."""

    async def steps():
        call = legacy("consumer", asked.session, "book")
        await call.start()
        ref = (await call.event())["id"]
        await until(lambda: reader.is_running)
        with patch.object(replies, "LOOK_EVERY", 60):
            await asyncio.sleep(0.05)  # until the pause before has ended
            with patch.object(replies, "ring_here", return_value=False):
                await reply("consumer", asked, ref, {"result": BOOKING})
            assert texts([await call.event()]) == "3 guests of Ann"
        await call.ended()
        await until(lambda: not reader.is_running)

    with patch.object(replies, "LOOK_EVERY", 0.01):
        asyncio.run(steps())
    assert not PendingRequest.objects.exists()


def test_a_reply_is_found_without_a_bell(asked, caplog):
    """S2C-04: the bell may be out of order at both ends."""

    async def steps():
        call = legacy("consumer", asked.session, "book")
        await call.start()
        ref = (await call.event())["id"]
        await until(lambda: attach.call_count > 2)
        broken = patch.object(doorbells, "announce", side_effect=OperationalError("away"))
        with broken, patch.object(replies, "ring_here", return_value=False):
            await reply("consumer", asked, ref, {"result": BOOKING})
        assert texts([await call.event()]) == "3 guests of Ann"
        await call.ended()
        assert "Nobody was rung" in caplog.text
        assert caplog.text.count("Nobody can ring for replies") == 1

    away = patch.object(reader, "attach", side_effect=OperationalError("away"))
    with away as attach, patch.object(replies, "LOOK_EVERY", 0.01):
        asyncio.run(steps())


def test_a_reply_to_a_call_of_this_process_rings_nobody_else(asked):
    async def steps():
        call = legacy("consumer", asked.session, "book")
        await call.start()
        with patch.object(doorbells, "ring_for_rows") as rung:
            await reply("consumer", asked, (await call.event())["id"], {"result": BOOKING})
        rung.assert_not_called()
        assert texts([await call.event()]) == "3 guests of Ann"
        await call.ended()

    asyncio.run(steps())
