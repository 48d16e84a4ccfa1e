"""Sessions when there are many: caps, floods, and several who come at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from threading import Barrier
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import OperationalError, connections
from django.test import TestCase, TransactionTestCase, override_settings
from django.utils import timezone

from django_mcp.models import Session
from django_mcp.sessions import (
    SessionLimit,
    clear_expired,
    clear_session_cache,
    close_session,
    mark_initialized,
    set_log_level,
    touch_session,
)
from tests.rows import ANYBODY, SessionTestCase, age, find_as, open_as, writer


class CapTests(SessionTestCase):
    @override_settings(DJANGO_MCP={"SESSIONS_PER_USER": 3})
    def test_a_users_longest_idle_session_makes_room(self):
        """S226, W10."""
        ids = [open_as(self.ann) for _ in range(3)]
        others = [open_as(self.bob), open_as(self.ann, server="admin")]
        age(ids[1], last_seen=30)
        age(ids[0], last_seen=20)
        ids += [open_as(self.ann), open_as(self.ann)]
        assert [find_as(self.ann, each) is not None for each in ids] == [False, False, True, True, True]
        assert find_as(self.bob, others[0]) is not None
        assert find_as(self.ann, others[1], server="admin") is not None

    def test_a_lowered_cap_is_reached_at_once(self):
        for _ in range(5):
            open_as(self.ann)
        with override_settings(DJANGO_MCP={"SESSIONS_PER_USER": 2}):
            open_as(self.ann)
        assert Session.objects.count() == 2

    @override_settings(DJANGO_MCP={"ANONYMOUS_SESSIONS": 2})
    def test_an_anonymous_session_makes_room_once_it_is_old_enough(self):
        ids = [open_as(ANYBODY) for _ in range(2)]
        age(ids[0], created=61, last_seen=50)
        age(ids[1], created=59, last_seen=59)
        ids.append(open_as(ANYBODY))
        assert [find_as(ANYBODY, each) is not None for each in ids] == [False, True, True]

    @override_settings(DJANGO_MCP={"ANONYMOUS_SESSIONS": 2})
    def test_young_anonymous_sessions_are_safe_and_the_newcomer_waits(self):
        """S226."""
        ids = [open_as(ANYBODY) for _ in range(2)]
        age(ids[1], created=20)
        with self.assertRaises(SessionLimit) as raised:
            open_as(ANYBODY)
        assert raised.exception.retry_after in {39, 40}
        assert all(find_as(ANYBODY, each) for each in ids)
        assert open_as(self.ann)

    @override_settings(DJANGO_MCP={"ANONYMOUS_SESSIONS": 1, "SESSION_MIN_AGE": 60})
    def test_the_wait_is_at_least_a_second(self):
        open_as(ANYBODY)
        Session.objects.update(created=timezone.now() - timedelta(seconds=59.9))
        with self.assertRaises(SessionLimit) as raised:
            open_as(ANYBODY)
        assert raised.exception.retry_after == 1

    @override_settings(DJANGO_MCP={"SESSIONS_PER_USER": 1})
    def test_a_session_that_cannot_be_removed_keeps_nobody_out(self):
        open_as(self.ann)
        with (
            patch("django.db.models.QuerySet.delete", side_effect=OperationalError("deadlock")),
            self.assertLogs("django_mcp", "WARNING"),
        ):
            session_id = open_as(self.ann)
        assert find_as(self.ann, session_id) is not None
        assert Session.objects.count() == 2


class FloodTests(TransactionTestCase):
    """Only what is committed is remembered, so this test commits."""

    def setUp(self):
        clear_session_cache()
        self.addCleanup(clear_session_cache)
        self.ann = get_user_model().objects.create_user("ann")

    @override_settings(DJANGO_MCP={"ANONYMOUS_SESSIONS": 1})
    def test_a_flood_is_turned_away_without_queries_until_there_is_room(self):
        session_id = open_as(ANYBODY)
        with self.assertRaises(SessionLimit) as first:
            open_as(ANYBODY)
        with self.assertNumQueries(0), self.assertRaises(SessionLimit) as second:
            open_as(ANYBODY)
        assert second.exception.retry_after == first.exception.retry_after
        assert open_as(self.ann)
        assert open_as(ANYBODY, server="admin")
        close_session(server="shop", principal="anonymous", session_id=session_id)
        assert open_as(ANYBODY)


class BusyTests(TransactionTestCase):
    def test_requests_go_on_while_another_connection_writes(self):
        """BL-087"""
        session_id = open_as(ANYBODY)
        age(session_id, last_seen=61)
        started = timezone.now()
        with writer(Session.objects.all()):
            for _ in range(3):
                assert find_as(ANYBODY, session_id) is not None
            assert timezone.now() - started < timedelta(seconds=2)
        find_as(ANYBODY, session_id)
        assert timezone.now() - Session.objects.get().last_seen < timedelta(seconds=30)

    def test_two_clean_ups_at_once_share_the_work(self):
        """BL-060"""
        for _ in range(20):
            open_as(ANYBODY)
        Session.objects.update(expires=timezone.now())
        assert sum(at_once(lambda: clear_expired(batch_size=3), 2)) == 20
        assert not Session.objects.exists()

    @override_settings(DJANGO_MCP={"SESSIONS_PER_USER": 3})
    def test_clients_that_come_at_once_all_get_in(self):
        ann = get_user_model().objects.create_user("ann")
        ids = at_once(lambda: [open_as(ann) for _ in range(5)], 4)
        assert len(ids) == 4
        last = open_as(ann)
        assert Session.objects.count() <= 3
        assert find_as(ann, last) is not None


def at_once(function, times):
    """What the function returns in so many threads, each with its own connections."""
    barrier = Barrier(times)

    def run():
        try:
            barrier.wait(30)
            return function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as pool:
        return [future.result(30) for future in [pool.submit(run) for _ in range(times)]]


class ToOther:
    """A router that writes our rows to another database, and reads what it does not know elsewhere."""

    def db_for_write(self, model, **hints):
        return "other" if model._meta.app_label == "django_mcp" else "default"


@override_settings(DATABASE_ROUTERS=["tests.test_session_limits.ToOther"])
class RouterTests(TestCase):
    databases = {"default", "other"}

    def test_all_reads_and_writes_go_to_the_database_for_writing(self):
        with self.assertNumQueries(0):
            session_id = open_as(ANYBODY)
            state = find_as(ANYBODY, session_id)
            set_log_level(state, "info")
            mark_initialized(state)
            assert touch_session(state)
            Session.objects.using("other").update(expires=timezone.now())
            assert clear_expired() == 1
            assert not close_session(server="shop", principal="anonymous", session_id=session_id)
            call_command("mcp_clear", verbosity=0, stdout=StringIO())
