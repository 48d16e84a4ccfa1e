"""The rows behind questions to legacy clients, and the calls that wait for them."""

import asyncio

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connections

from django_mcp.models import PendingRequest, Session
from django_mcp.pending import clear_pending, open_requests, read_replies, take_reply
from django_mcp.running import close_lanes, lanes_in_use
from django_mcp.transports import outages, replies

from .legacy_client import ask, open_session, texts
from .live import legacy
from .rounds import BOOKING

pytestmark = pytest.mark.usefixtures("asking_site")


@pytest.fixture
def client(db, asking_site):
    return open_session()


@pytest.mark.django_db(transaction=True)
def test_nobody_asks_in_a_session_that_is_gone():
    """S171."""
    client = open_session()

    async def steps():
        call = legacy("consumer", client.session, "two_rounds")
        await call.start()
        ref = (await call.event())["id"]
        row = await PendingRequest.objects.aget(ref=ref)
        await Session.objects.all().adelete()
        assert texts([await call.event()]) == "The client answered with an error: The session has ended (-32001)"
        await call.ended()
        assert not await asyncio.to_thread(open_requests_here, row.session_id)

    asyncio.run(steps())
    close_lanes()


@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_holds_no_lane(door):
    """S2C-04, W8: no thread, connection or transaction, and the reply is found in the row alone."""
    client = open_session()

    async def steps():
        calls = [legacy(door, client.session, "book", {"day": str(number)}, id=number) for number in range(12)]
        refs = []
        for call in calls:
            await call.start()
            refs.append((await call.event())["id"])
        await asyncio.to_thread(close_lanes)  # waits for those that still roll back
        assert lanes_in_use() == 0
        for ref in refs:  # as another worker would do it, which rings nobody here
            row = await PendingRequest.objects.aget(ref=ref)
            assert await asyncio.to_thread(take_reply_here, row.session_id, ref)
        for call in calls:
            assert texts([await call.event()]) == "3 guests of Ann"
            await call.ended()

    asyncio.run(steps())
    close_lanes()
    assert Group.objects.count() == 24
    assert not PendingRequest.objects.exists()


def open_requests_here(session_pk):
    try:
        return open_requests(session_pk, ["a"], 1)
    finally:
        connections.close_all()


def take_reply_here(session_pk, ref):
    try:
        return take_reply(session_pk, ref, BOOKING)
    finally:
        connections.close_all()


def test_a_session_that_ended_before_the_question_is_not_asked(client, monkeypatch):
    """S171."""
    monkeypatch.setattr(replies, "open_requests", lambda *arguments: False)
    [answer] = ask("consumer", client, "book")
    assert texts([answer]) == "The client answered with an error: The session has ended (-32001)"


def test_a_database_that_is_away_for_a_moment_loses_no_reply(client, monkeypatch, caplog):
    """And is not complained of at every look."""
    faults = [OperationalError("gone")] * 4

    def read(refs):
        if faults:
            raise faults.pop()
        return read_replies(refs)

    monkeypatch.setattr(replies, "read_replies", read)
    monkeypatch.setattr(outages, "PAUSES", (0.001, 0.004))
    caplog.set_level("INFO", "django_mcp.http")
    assert texts(ask("consumer", client, "book")) == "3 guests of Ann"
    told = [message for message in caplog.messages if message.startswith("Replies")]
    assert told == ["Replies cannot be read, which is tried again: gone", "Replies are read again"]


def test_questions_that_nobody_waits_for_are_removed(client):
    session = Session.objects.get()
    assert open_requests(session.pk, ["a", "b"], 60)
    PendingRequest.objects.filter(ref="a").update(expires="2020-01-01T00:00Z")
    assert not take_reply(session.pk, "a", {})
    assert clear_pending() == 1
    assert read_replies(["a", "b"]) == {"b": None}
