"""What is over goes by itself, now and then."""

from datetime import timedelta
from unittest.mock import patch

from django.db import OperationalError
from django.test import TestCase, TransactionTestCase
from django.utils import timezone

from django_mcp.events import call_streams, log, retention, tail
from django_mcp.events.kinds import Kind
from django_mcp.events.tail import reader
from django_mcp.models import CallStream, Event, PendingRequest, Worker
from tests.events.hearing import listening
from tests.events.streaming import FAST
from tests.rows import new_session


class RetentionTests(TestCase):
    def test_everything_that_is_over_is_removed(self):
        """REPLAY_AGE, EVENT_AGE, and questions that nobody waits for."""
        now, session = timezone.now(), new_session("d")
        worker = Worker.objects.create(key="w", beat=now)
        for age in (10, 400):
            then = now - timedelta(seconds=age)
            CallStream.objects.create(key=str(age), session=session, worker=worker, request="1", ended=then)
            PendingRequest.objects.create(ref=str(age), expires=then + timedelta(seconds=100))
            seq = int(then.timestamp() * 1_000_000)
            Event.objects.create(kind=Kind.TOOLS_CHANGED, uri=str(age), seq=seq, prev=seq - 1)
        with self.settings(DJANGO_MCP={**FAST, "EVENT_AGE": 100}):
            due().see_to()
        for rows in (
            CallStream.objects.values_list("key"),
            PendingRequest.objects.values_list("ref"),
            Event.objects.values_list("uri"),
        ):
            assert list(rows) == [("10",)]

    def test_what_cannot_be_removed_now_is_removed_the_next_time(self):
        """On SQLite a tool may hold the only lock."""
        found = due()
        with (
            patch.object(call_streams, "clear_streams", side_effect=OperationalError("locked")),
            self.assertLogs("django_mcp.events", "WARNING") as logs,
        ):
            found.see_to()
            found.see_to()
        assert logs.output == ["WARNING:django_mcp.events:What is over was not removed: locked"]

    def test_a_process_begins_at_a_time_of_its_own(self):
        with patch.object(retention, "EVERY", 1000.0), patch.object(log, "prune") as prune:
            times = {retention.Retention()._next for _ in range(5)}
            retention.Retention().see_to()
        assert (len(times), prune.called) == (5, False)


class ReaderTests(TransactionTestCase):
    def test_the_reader_sees_to_it_however_short_it_runs(self):
        with patch.object(tail, "retention", due()), patch.object(log, "prune") as prune:
            for _ in range(3):
                with listening() as heard, self.settings(DJANGO_MCP={"POLL_INTERVAL": 0.01}):
                    log.append(Kind.RESOURCE_UPDATED, uri="note://a")
                    heard.wait_for(1)
                reader.close()
        prune.assert_called_once_with()


def due():
    found = retention.Retention()
    found._next = 0.0
    return found
