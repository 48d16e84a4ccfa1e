"""The rows behind streams that can be resumed, and who writes them."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import Mock, patch

from django.db import IntegrityError, connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_mcp.events import Kind, call_streams
from django_mcp.events.call_streams import Chunk, Entry
from django_mcp.models import CallStream, Event, Session, StreamChunk, Worker
from django_mcp.transports.recording import Recording
from tests.events.streaming import FAST

KEY, OTHER = "a" * 24, "b" * 24
WORKER = "w" * 24


def a_session(digest="d"):
    now = timezone.now()
    return Session.objects.create(
        digest=digest, server="resuming", principal="anonymous", revision="2025-11-25", created=now, last_seen=now,
        expires=now + timedelta(days=1),
    )  # fmt: skip


def entry(session, key=KEY, *, is_new=True, chunk=None, parts=False):
    return Entry(key, session, "1", is_new, chunk, parts)


class RowTests(TestCase):
    def test_chunks_are_read_in_order_and_without_a_gap(self):
        """A chunk may be seen before the one in front of it: it waits."""
        session = a_session()
        call_streams.save(WORKER, [entry(session.pk, chunk=Chunk(1, 2, False, [b"1", b"2"]))])
        call_streams.save(WORKER, [entry(session.pk, is_new=False, chunk=Chunk(6, 6, True, [b"6"]))])
        _, chunks = call_streams.read(session.pk, KEY, 0)
        assert [list(chunk.after(1)) for chunk in chunks] == [[(2, b"2")]]
        assert call_streams.read(session.pk, KEY, 2)[1] == []
        call_streams.save(WORKER, [entry(session.pk, is_new=False, chunk=Chunk(3, 5, False, [b"4", b"5"]))])
        state, chunks = call_streams.read(session.pk, KEY, 1)
        assert state
        numbers = [number for chunk in chunks for number, _ in chunk.after(1)]
        assert numbers == [2, 4, 5, 6]
        assert chunks[-1].is_final
        assert state.ended is not None

    def test_what_was_written_already_is_not_written_twice(self):
        """A connection may be lost after the commit, and the work is done again."""
        session = a_session()
        entries = [entry(session.pk, chunk=Chunk(1, 1, True, [b"1"])), entry(session.pk, OTHER)]
        for _ in range(2):
            assert call_streams.save(WORKER, entries).gone == frozenset()
        assert StreamChunk.objects.count() == 1
        assert CallStream.objects.count() == 2

    def test_it_writes_before_it_reads(self):
        """Or SQLite would refuse to write what another connection has overtaken."""
        session = a_session()
        call_streams.save(WORKER, [])
        for more in (entry(session.pk), entry(session.pk, is_new=False, chunk=Chunk(1, 1, False, [b"1"]))):
            with CaptureQueriesContext(connection) as queries:
                call_streams.save(WORKER, [more])
            words = [query["sql"].split()[0] for query in queries]
            assert words[:3] == ["SAVEPOINT", "UPDATE", "SELECT"]

    def test_a_session_that_is_gone_takes_nobody_along(self):
        session, other = a_session(), a_session("e")
        call_streams.save(WORKER, [entry(session.pk)])
        gone = session.pk
        session.delete()
        more = [
            entry(gone, is_new=False, chunk=Chunk(1, 1, True, [b"1"])),
            entry(gone, "c" * 24),
            entry(other.pk, OTHER, chunk=Chunk(1, 1, True, [b"1"])),
        ]
        assert call_streams.save(WORKER, more).gone == {KEY, "c" * 24}
        assert list(CallStream.objects.values_list("pk", flat=True)) == [OTHER]
        with patch.object(call_streams, "_save", side_effect=IntegrityError):
            assert call_streams.save(WORKER, more[:2]).gone == {KEY, "c" * 24}

    def test_a_worker_hears_who_has_come_back(self):
        session = a_session()
        call_streams.save(WORKER, [entry(session.pk), entry(session.pk, OTHER)])
        call_streams.claim(session.pk, KEY, "r")
        call_streams.claim(session.pk + 1, OTHER, "r")
        call_streams.probe(OTHER)
        assert call_streams.save(WORKER, [], [KEY, OTHER]).wanted == {KEY}
        assert [event.data for event in Event.objects.filter(kind=Kind.STREAM_WANTED)] == [{"stream": KEY}]
        call_streams.save(WORKER, [entry(session.pk, is_new=False, parts=True)])
        assert call_streams.save(WORKER, [], [KEY, OTHER]).wanted == frozenset()
        assert call_streams.find(session.pk + 1, KEY) is None
        assert call_streams.read(session.pk + 1, KEY, 0) == (None, [])

    def test_streams_go_some_time_after_their_end(self):
        """REPLAY_AGE; and those of a worker that died, when it has been silent for long."""
        session = a_session()
        end = Chunk(1, 1, True, [b"1"])
        call_streams.save("dead", [entry(session.pk, "dead")])
        call_streams.save(WORKER, [entry(session.pk, "old", chunk=end), entry(session.pk, "new", chunk=end)])
        call_streams.save(WORKER, [entry(session.pk, "running")])
        assert call_streams.clear_streams() == 0
        past = timezone.now() - timedelta(seconds=301)
        CallStream.objects.filter(pk="old").update(ended=past)
        Worker.objects.filter(pk="dead").update(beat=past - timedelta(seconds=call_streams.FORGET_WORKER))
        assert call_streams.clear_streams() == 2
        assert set(CallStream.objects.values_list("pk", flat=True)) == {"new", "running"}
        assert set(StreamChunk.objects.values_list("stream", flat=True)) == {"new"}
        assert [str(worker) for worker in Worker.objects.all()] == [WORKER]
        with self.settings(DJANGO_MCP={**FAST, "REPLAY_AGE": 0.000001}):
            assert call_streams.clear_streams() == 1
        assert list(CallStream.objects.values_list("pk", flat=True)) == ["running"]

    def test_rows_say_what_they_are(self):
        session = a_session()
        call_streams.save(WORKER, [entry(session.pk, chunk=Chunk(1, 2, True, [b"1", b"2"]))])
        assert str(CallStream.objects.get()) == KEY
        assert str(StreamChunk.objects.get()) == f"{KEY}: 1-2"


def a_recording(room=100, **options):
    return Recording(1, "1", room, ring=options.get("ring", Mock()), on_wanted=Mock())


def test_a_call_that_goes_well_says_nothing_until_it_ends():
    recording = a_recording()
    began = recording._began
    assert recording.add(b"one") == f"p{recording.key}.1"
    assert recording.entry(began + 0.1) is None
    row = recording.entry(began + 0.3)
    assert (row.is_new, row.chunk) == (True, None)
    recording.note(row)
    assert recording.entry(began + 0.3) is None
    recording.end(b"two")
    last = recording.entry(began)
    assert (last.is_new, last.chunk) == (False, Chunk(1, 2, True, (b"one", b"two")))


def test_what_is_written_is_not_kept():
    recording = a_recording()
    recording.is_broken = True
    recording.add(b"one")
    first = recording.entry(0.0)
    recording.add(b"two")
    recording.note(first)
    assert recording.entry(0.0).chunk == Chunk(2, 2, False, (b"two",))


def test_the_oldest_messages_go_where_nobody_can_write():
    """STREAM_BUFFER: and their numbers are not given again."""
    ring = Mock()
    recording = a_recording(ring=ring)
    for _ in range(10):
        recording.add(b"x" * 30)
    ring.assert_called_once_with()
    recording.end(b"y" * 200)
    chunk = recording.entry(0.0).chunk
    assert (chunk.first, chunk.last, [len(each) for each in chunk.messages]) == (1, 11, [30, 30, 30, 200])
    assert [number for number, _ in chunk.after(0)] == [8, 9, 10, 11]
    assert [number for number, _ in chunk.after(9)] == [10, 11]


def test_who_waits_until_all_is_written_is_told_once():
    recording = a_recording()
    recording.add(b"one")
    early = recording.entry(recording._began + 1)
    recording.on_saved = told = Mock()
    recording.note(early)
    told.assert_not_called()
    recording.note(recording.entry(0.0))
    told.assert_called_once_with()
    recording.on_saved = told
    recording.note(recording.entry(0.0))
    assert told.call_count == 2
    recording.parts = True
    entry = recording.entry(0.0)
    assert entry.parts
    recording.note(entry)
    assert recording.entry(0.0) is None
