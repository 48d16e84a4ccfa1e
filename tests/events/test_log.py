"""The event log: part of the caller's transaction, numbered after the commit, pruned in the end."""

import gc
import time
import weakref
from threading import Event as Flag
from threading import Thread
from unittest.mock import patch

from django.db import OperationalError, connection, connections, transaction
from django.test import TestCase, TransactionTestCase, override_settings

from django_mcp.events import log, numbering
from django_mcp.events.kinds import Entry, Kind
from django_mcp.models import Event, EventHead
from tests.shop.models import Category

LIMIT = 30


def publish(uri, **fields):
    log.append(Kind.RESOURCE_UPDATED, uri=uri, **fields)


def numbered():
    """The URIs of the log in the order of their numbers."""
    return list(Event.objects.exclude(seq=None).order_by("seq").values_list("uri", flat=True))


def microseconds():
    return time.time_ns() // 1000


class AppendTests(TransactionTestCase):
    databases = {"default", "other"}

    def test_connections_that_are_gone_are_not_kept(self):
        """As those of a thread for each request."""
        kept = []

        def work():
            with transaction.atomic():
                publish("note://a")
            kept.append(weakref.ref(connections["default"]))
            connections.close_all()

        thread = Thread(target=work)
        thread.start()
        thread.join(30)
        gc.collect()
        assert [one() for one in kept] == [None]

    def test_an_event_outside_a_transaction_is_numbered_at_once(self):
        before = microseconds()
        publish("note://a")
        row = Event.objects.get()
        assert before <= row.seq <= microseconds()
        assert (row.prev, row.kind, row.server, row.data) == (0, "resources.updated", "", {})
        assert EventHead.objects.get().seq == row.seq
        assert str(row) == "resources.updated note://a"
        assert str(EventHead.objects.get()) == str(row.seq)

    def test_a_rolled_back_transaction_publishes_nothing(self):
        """SUB-17"""
        with transaction.atomic():
            publish("note://a")
            transaction.set_rollback(True)
        publish("note://b")
        assert list(Event.objects.values_list("uri", flat=True)) == ["note://b"]

    def test_a_savepoint_takes_its_events_along(self):
        with transaction.atomic():
            publish("note://a")
            with transaction.atomic():
                publish("note://b")
                publish("note://a")
                transaction.set_rollback(True)
            publish("note://b")
            assert Event.objects.filter(seq=None).count() == 2
        assert numbered() == ["note://a", "note://b"]

    def test_equal_events_of_a_transaction_are_one(self):
        with transaction.atomic():
            for _ in range(3):
                publish("note://a")
            publish("note://a", server="shop")
            publish("note://a", data={"x": 1})
        publish("note://a")
        assert Event.objects.count() == 4

    def test_the_same_event_after_a_rollback_is_an_event(self):
        with transaction.atomic():
            publish("note://a")
            transaction.set_rollback(True)
        with transaction.atomic():
            publish("note://a")
            publish("note://b")
        assert numbered() == ["note://a", "note://b"]

    def test_each_number_names_the_one_before_it(self):
        publish("note://a")
        with transaction.atomic():
            for letter in "bcd":
                publish(f"note://{letter}")
        entries = log.read("default", 0)
        assert [entry.uri for entry in entries] == [f"note://{letter}" for letter in "abcd"]
        assert [entry.prev for entry in entries] == [0, *(entry.seq for entry in entries[:-1])]

    def test_numbers_follow_the_commits_and_not_the_inserts(self):
        """Two transactions commit in the reverse order of their rows."""
        if connection.vendor == "sqlite":
            self.skipTest("SQLite has one writer")
        opened, finish = Flag(), Flag()

        def first():
            with transaction.atomic():
                publish("note://first")
                opened.set()
                assert finish.wait(LIMIT)
            connections.close_all()

        thread = Thread(target=first)
        thread.start()
        assert opened.wait(LIMIT)
        publish("note://second")
        finish.set()
        thread.join(LIMIT)
        assert numbered() == ["note://second", "note://first"]
        assert Event.objects.get(uri="note://first").pk < Event.objects.get(uri="note://second").pk

    def test_an_event_about_another_database_waits_for_its_commit(self):
        with transaction.atomic(using="other"):
            log.append_after("other", Kind.RESOURCE_UPDATED, uri="note://a")
            log.append_after("default", Kind.RESOURCE_UPDATED, uri="note://b")
            assert numbered() == ["note://b"]
        assert numbered() == ["note://b", "note://a"]

    def test_a_site_that_commits_by_hand_leaves_the_numbers_to_the_readers(self):
        transaction.set_autocommit(False)
        try:
            publish("note://a")
            transaction.commit()
        finally:
            transaction.set_autocommit(True)
        assert Event.objects.get().seq is None
        assert numbering.number_waiting("default") == 1

    def test_a_failure_to_number_leaves_the_event_committed(self):
        with (
            patch.object(log, "number_waiting", side_effect=OperationalError("gone")),
            self.assertLogs("django_mcp.events", "WARNING"),
        ):
            publish("note://a")
        assert Event.objects.get().seq is None

    def test_many_events_are_numbered_in_batches(self):
        with patch.object(numbering, "BATCH", 2):
            events = [
                {"kind": "resources.updated", "server": "", "uri": f"note://{n}", "audience": "", "data": {}}
                for n in range(5)
            ]
            log.append_all(events)
        assert numbered() == [f"note://{n}" for n in range(5)]

    def test_many_events_outside_a_transaction_are_numbered_once(self):
        events = [
            {"kind": "resources.updated", "server": "", "uri": f"note://{n}", "audience": "", "data": {}}
            for n in range(5)
        ]
        with patch.object(log, "number_waiting", wraps=numbering.number_waiting) as numbering_them:
            log.append_all(events)
        assert numbering_them.call_count == 1
        assert numbered() == [f"note://{n}" for n in range(5)]


class NumberTests(TransactionTestCase):
    def test_numbers_never_come_twice(self):
        """Flush, restore of an older head row, all events pruned, head row missing."""
        publish("note://a")
        highest = log.position("default")
        for damage in (
            lambda: Event.objects.all().delete(),
            lambda: EventHead.objects.all().delete(),
            lambda: EventHead.objects.update(seq=10),
            lambda: (Event.objects.all().delete(), EventHead.objects.all().delete()),
        ):
            damage()
            publish("note://b")
            latest = log.position("default")
            assert latest > highest
            highest = latest

    def test_numbers_grow_while_the_clock_stands_still_or_goes_back(self):
        with patch.object(numbering, "clock", return_value=5000):
            for uri in ("note://a", "note://b"):
                publish(uri)
        with patch.object(numbering, "clock", return_value=1):
            publish("note://c")
        assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == [5000, 5001, 5002]

    def test_a_head_row_from_an_older_backup_is_raised(self):
        with patch.object(numbering, "clock", return_value=1):
            publish("note://a")
            publish("note://b")
            EventHead.objects.update(seq=0)
            publish("note://c")
        assert list(Event.objects.order_by("seq").values_list("seq", "prev")) == [(1, 0), (2, 1), (3, 2)]

    def test_an_event_of_our_own_comes_behind_those_that_wait(self):
        with patch.object(log, "number_waiting"):
            publish("note://a")
        seen = numbering.append_numbered({"kind": "stream.opened", "audience": "7"}, lambda seq: seq)
        rows = list(Event.objects.order_by("seq").values_list("kind", "seq", "prev"))
        assert rows[1] == ("stream.opened", seen, rows[0][1])
        assert str(Event.objects.get(seq=seen)) == "stream.opened 7"

    def test_it_tries_again_where_others_were_in_the_way(self):
        outcomes = [
            OperationalError("database is locked"),
            OperationalError(1213, "Deadlock"),
            numbering.StaleHead(),
            0,
        ]
        with patch.object(numbering, "_number_batch", side_effect=outcomes), patch.object(numbering, "pause"):
            assert numbering.number_waiting("default") == 0

    def test_serialization_failures_are_tried_again(self):
        failed = OperationalError("could not serialize")
        failed.__cause__ = type("SerializationFailure", (Exception,), {"sqlstate": "40001"})()
        with patch.object(numbering, "_number_batch", side_effect=[failed, 0]), patch.object(numbering, "pause"):
            assert numbering.number_waiting("default") == 0

    def test_somebody_else_may_have_been_quicker(self):
        assert numbering.number_at_leisure("default") == 0

    def test_other_failures_are_not(self):
        with (
            patch.object(numbering, "_number_batch", side_effect=OperationalError("no such table")) as batch,
            self.assertRaisesMessage(OperationalError, "no such table"),
        ):
            numbering.number_waiting("default")
        assert batch.call_count == 1

    def test_it_gives_up_in_the_end(self):
        with (
            patch.object(numbering, "_number_batch", side_effect=OperationalError("database is locked")) as batch,
            patch.object(numbering, "pause"),
            self.assertRaisesMessage(OperationalError, "locked"),
        ):
            numbering.number_waiting("default")
        assert batch.call_count == numbering.ATTEMPTS


class InTestCaseTests(TestCase):
    """A site's own tests publish inside a transaction that never ends."""

    def test_publishing_is_harmless(self):
        with self.captureOnCommitCallbacks(execute=True):
            publish("note://a")
        assert Event.objects.get().seq is None

    def test_our_own_events_are_numbered(self):
        assert numbering.append_numbered({"kind": "stream.opened"}, lambda seq: seq) == Event.objects.get().seq


class PruneTests(TransactionTestCase):
    def fill(self, *ages):
        now = microseconds()
        for place, age in enumerate(ages):
            Event.objects.create(kind="resources.updated", uri=f"note://{age}", seq=now - age * 1_000_000, prev=place)

    def test_old_events_go(self):
        self.fill(4000, 3500, 10)
        assert log.prune() == 1
        assert numbered() == ["note://3500", "note://10"]

    @override_settings(DJANGO_MCP={"EVENT_ROWS": 2})
    def test_the_oldest_of_too_many_go(self):
        self.fill(400, 300, 200, 100)
        assert log.prune() == 2
        assert numbered() == ["note://200", "note://100"]

    @override_settings(DJANGO_MCP={"EVENT_AGE": 1, "EVENT_ROWS": 1})
    def test_what_a_client_may_come_back_for_stays(self):
        """Never below ten of the intervals that clients are asked to wait."""
        self.fill(60, 15, 10, 5)
        assert log.prune() == 1
        assert numbered() == ["note://15", "note://10", "note://5"]

    def test_events_without_a_number_stay(self):
        Event.objects.create(kind="resources.updated")
        assert log.prune() == 0


class OrderTests(TestCase):
    def test_entries_are_taken_up_to_the_first_hole(self):
        entries = [Entry(2, 1, "k"), Entry(5, 2, "k"), Entry(9, 7, "k")]
        assert list(log.unbroken(1, entries)) == entries[:2]
        assert list(log.unbroken(0, entries)) == []


class IsolationTests(TransactionTestCase):
    def test_a_site_at_another_isolation_level_numbers_at_read_committed(self):
        """REPEATABLE READ and SERIALIZABLE would not see what others have committed meanwhile."""
        if connection.vendor == "sqlite":
            self.skipTest("SQLite has one level")
        for level in ("repeatable read", "serializable"):
            with self.subTest(level=level):
                options = {**connection.settings_dict["OPTIONS"], "isolation_level": _level(level)}
                connection.close()
                with patch.dict(connection.settings_dict, {"OPTIONS": options}):
                    publish(f"note://{level[0]}")
                    with transaction.atomic():
                        Category.objects.count()
                        publish(f"note://{level[-1]}")
                connection.close()
        assert numbered() == ["note://r", "note://d", "note://s", "note://e"]


def _level(name):
    if connection.vendor == "mysql":
        return name
    from django.db.backends.postgresql.psycopg_any import IsolationLevel

    return getattr(IsolationLevel, name.upper().replace(" ", "_"))
