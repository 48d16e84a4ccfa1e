"""The reader: every entry once and in order, whatever happens to the database or to the rows."""

import threading
import time
from unittest.mock import patch

from django.db import OperationalError, connection
from django.test import TransactionTestCase, override_settings

from django_mcp import events
from django_mcp.events import doorbells, log, numbering
from django_mcp.events import tail as reading
from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.tail import reader
from django_mcp.models import Event, EventHead
from tests.events.hearing import LIMIT, listening

FAST = {"POLL_INTERVAL": 0.02}


def publish(uri):
    events.append(Kind.RESOURCE_UPDATED, uri=uri)


def uris(entries):
    return [entry.uri for entry in entries]


@override_settings(DJANGO_MCP=FAST)
class ReaderTests(TransactionTestCase):
    def test_it_begins_at_the_end_of_the_log(self):
        publish("note://before")
        with listening() as heard:
            publish("note://a")
            publish("note://b")
            assert uris(heard.wait_for(2)) == ["note://a", "note://b"]

    def test_it_runs_while_somebody_takes_its_entries(self):
        with listening():
            second = []
            reader.attach(second.append)
            reader.detach(second.append)
            assert reader.is_running
        assert cursor() is None
        reader.detach(print)
        reader.close()

    def test_a_log_that_nobody_has_written_to_gets_its_head(self):
        """So that a look at it is one query, as at any other."""
        with listening():
            assert EventHead.objects.get().seq == 0
        EventHead.objects.all().delete()
        busy = patch.object(reading, "number_at_leisure", side_effect=OperationalError("database is locked"))
        with busy, listening() as heard:
            publish("note://a")
            assert uris(heard.wait_for(1)) == ["note://a"]

    def test_what_a_dead_process_left_is_numbered_and_heard(self):
        with listening() as heard:
            with patch.object(log, "number_waiting"):
                publish("note://a")
            assert uris(heard.wait_for(1)) == ["note://a"]
        assert Event.objects.get().seq

    def test_another_writer_does_not_stop_it(self):
        """On SQLite the file is locked while a tool writes; the events that wait are numbered afterwards."""
        failures = [OperationalError("database is locked")] * 3
        with (
            patch.object(reading, "number_at_leisure", side_effect=[*failures, 1] * 99) as number,
            listening() as heard,
        ):
            publish("note://a")
            with patch.object(log, "number_waiting"):
                publish("note://b")
            heard.wait_for(1)
            _until(lambda: number.call_count >= 4)

    def test_a_row_that_hides_is_waited_for(self):
        """MariaDB's read views can be torn: a row may show up after the one that follows it."""
        read, hidden = log.read, []

        def hide_once(alias, cursor):
            entries = read(alias, cursor)
            if len(entries) == 2 and not hidden:
                hidden.append(entries[0])
                return entries[1:]
            return entries

        with listening() as heard, patch.object(log, "read", hide_once):
            events.append_all([_event("note://a"), _event("note://b")])
            assert uris(heard.wait_for(2)) == ["note://a", "note://b"]
        assert uris(hidden) == ["note://a"]

    def test_a_row_that_was_pruned_is_given_up_with_a_warning(self):
        with (
            patch.object(reading, "PATIENCE", 0.05),
            listening() as heard,
            self.assertLogs("django_mcp.events", "WARNING") as logs,
        ):
            EventHead.objects.update_or_create(pk=1, defaults={"seq": 1000})
            Event.objects.create(kind="resources.updated", uri="note://b", seq=1000, prev=999)
            doorbells.ring()
            assert uris(heard.wait_for(1)) == ["note://b"]
        assert "are gone" in logs.output[0]

    def test_a_head_without_rows_is_given_up_as_well(self):
        with patch.object(reading, "PATIENCE", 0.05), listening() as heard:
            with self.assertLogs("django_mcp.events", "WARNING"):
                EventHead.objects.update_or_create(pk=1, defaults={"seq": 1000})
                doorbells.ring()
                _until(lambda: cursor() == 1000)
            publish("note://a")
            assert uris(heard.wait_for(1)) == ["note://a"]

    def test_a_cursor_ahead_of_the_log_comes_down(self):
        publish("note://a")
        with listening() as heard:
            with self.assertLogs("django_mcp.events", "WARNING") as logs:
                Event.objects.all().delete()
                EventHead.objects.update(seq=10)
                doorbells.ring()
                _until(lambda: cursor() == 10)
            with patch.object(numbering, "clock", return_value=1):
                publish("note://b")
            assert uris(heard.wait_for(1)) == ["note://b"]
        assert "before the cursor" in logs.output[0]

    def test_an_older_head_row_delivers_nothing_twice(self):
        publish("note://a")
        with patch.object(reading, "PATIENCE", 0.05), listening() as heard:
            EventHead.objects.update(seq=10)
            with patch.object(log, "position", wraps=log.position) as position:
                doorbells.ring()
                _until(lambda: position.called)
            with self.assertLogs("django_mcp.events", "WARNING"):
                publish("note://b")
                assert uris(heard.wait_for(1)) == ["note://b"]

    def test_it_survives_the_database(self):
        """It goes on from its cursor, so nothing is lost that was committed meanwhile."""
        look, failures = log.look, iter([OperationalError("gone"), ValueError("odd")])

        def fail_at_first(alias):
            for error in failures:
                raise error
            return look(alias)

        with (
            self.assertLogs("django_mcp.events", "WARNING") as logs,
            patch.object(log, "look", fail_at_first),
            patch.object(reading, "_BACK_OFF", (0.01, 0.02)),
            listening() as heard,
        ):
            publish("note://a")
            assert uris(heard.wait_for(1)) == ["note://a"]
        assert [record.levelname for record in logs.records] == ["WARNING", "ERROR"]

    def test_it_can_be_ended_whoever_listens(self):
        """As a test run does before it drops its database."""
        reader.attach(print)
        reader.close()
        assert cursor() is None

    def test_an_empty_log_is_asked_once_where_it_ends(self):
        """And not while others wait for the lock."""
        self.addCleanup(reader.close)
        EventHead.objects.update(seq=0)
        with patch.object(log, "position", wraps=log.position) as position:
            assert reader.attach(print) == 0
        assert position.call_count == 1

    def test_who_comes_as_the_last_one_leaves_has_it_begin_again(self):
        self.addCleanup(reader.close)
        reader.attach(print)
        lock, leaving, here = reader._lock, [lambda: reader.detach(print)], threading.get_ident()

        class Meanwhile:
            def __enter__(self):
                while leaving and threading.get_ident() == here:  # the reader's thread takes it, too
                    leaving.pop()()
                lock.acquire()

            def __exit__(self, *exception):
                lock.release()

        with patch.object(reader, "_lock", Meanwhile()):
            reader.attach(repr)
        assert reader.is_running
        assert reader._takers == [repr]

    def test_it_looks_without_a_bell(self):
        with listening() as heard, patch.object(doorbells, "ring"):
            publish("note://a")
            heard.wait_for(1)

    def test_callbacks_are_told_by_kind(self):
        told = []
        broken = events.on(Kind.ACCESS_CHANGED, lambda entry: 1 / 0)
        off = events.on(Kind.ACCESS_CHANGED, told.append)
        with listening() as heard, self.assertLogs("django_mcp.events", "ERROR"):
            events.append(Kind.ACCESS_CHANGED, audience="user:1")
            events.append(Kind.CATALOGUE_CHANGED)
            heard.wait_for(2)
        for end in (broken, off, off):
            end()
        assert [(entry.kind, entry.audience) for entry in told] == [("access.changed", "user:1")]

    def test_many_entries_come_page_by_page(self):
        with patch.object(log, "PAGE", 2), listening() as heard:
            events.append_all([_event(f"note://{number}") for number in range(5)])
            assert uris(heard.wait_for(5)) == [f"note://{number}" for number in range(5)]

    def test_an_ended_thread_hands_nothing_on(self):
        with listening() as heard:
            run = reader._run
            reader._hand_on(reading._Run.__new__(reading._Run), [Entry(1, 0, "k")])
            assert run is reader._run
        assert heard == []

    @override_settings(DJANGO_MCP={})
    def test_sqlite_is_asked_for_its_version_instead_of_the_log(self):
        """BL-102: an idle site makes no query."""
        if connection.vendor != "sqlite":
            self.skipTest("only SQLite has it")
        publish("note://before")
        with patch.object(log, "look", wraps=log.look) as look, listening() as heard:
            _until(lambda: look.called)
            calls = look.call_count
            time.sleep(0.25)
            assert look.call_count == calls
            publish("note://a")
            heard.wait_for(1)

    def test_how_often_it_looks(self):
        hears, deaf = type("Ear", (), {"hears": True})(), doorbells.Deaf()
        assert reading._interval(connection.vendor, hears) == 0.02
        with override_settings(DJANGO_MCP={}):
            assert reading._interval(connection.vendor, hears) == 5
            assert reading._interval(connection.vendor, deaf) == (0.1 if connection.vendor == "sqlite" else 0.25)


def cursor():
    return None if reader._run is None else reader._run.cursor


def _event(uri):
    return {"kind": "resources.updated", "server": "", "uri": uri, "audience": "", "data": {}}


def _until(condition):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)
