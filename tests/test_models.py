"""Rows and how they are written: tokens are shown once, book-keeping never gets in the way."""

import hashlib
from datetime import timedelta
from unittest import skipUnless
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test import SimpleTestCase, TestCase, TransactionTestCase
from django.utils import timezone

from django_mcp.managers import Recent, delete_in_batches, write_quietly
from django_mcp.models import AccessToken, Session
from tests.rows import new_session, writer


class AccessTokenTests(TestCase):
    user: User

    @classmethod
    def setUpTestData(cls):
        cls.user = get_user_model().objects.create_user("ann")

    def test_only_the_digest_of_a_token_is_stored(self):
        """AUTH-22"""
        token, value = AccessToken.objects.issue(self.user, name="laptop")
        row = AccessToken.objects.filter(pk=token.pk).values().get()
        assert row["digest"] == hashlib.sha256(value.encode()).hexdigest()
        assert value.startswith("mcp_")
        assert len(value) == 47
        assert value.startswith(row["prefix"])
        assert len(row["prefix"]) == 10
        assert value not in map(str, row.values())
        assert str(token) == f"{value[:10]}… laptop"
        assert value not in repr(token)

    def test_two_tokens_of_a_user_differ(self):
        assert AccessToken.objects.issue(self.user)[1] != AccessToken.objects.issue(self.user)[1]

    def test_a_token_is_found_by_its_value_with_its_user(self):
        token, value = AccessToken.objects.issue(self.user)
        with self.assertNumQueries(1):
            found = AccessToken.objects.find(value)
            assert found is not None
            assert (found, found.user) == (token, self.user)
        assert AccessToken.objects.find(value + "x") is None

    def test_a_token_is_usable_until_it_expires_or_is_revoked(self):
        now = timezone.now()
        token, _ = AccessToken.objects.issue(self.user, expires=now)
        assert token.is_usable(now - timedelta(seconds=1))
        assert not token.is_usable(now)
        token, _ = AccessToken.objects.issue(self.user)
        assert token.is_usable(now + timedelta(days=9999))
        token.revoke()
        assert not token.is_usable(now)

    def test_revoking_keeps_the_first_time_and_what_others_wrote(self):
        token, _ = AccessToken.objects.issue(self.user)
        AccessToken.objects.update(last_used=timezone.now())
        token.revoke()
        first = token.revoked
        token.revoke()
        row = AccessToken.objects.get(pk=token.pk)
        assert row.revoked == token.revoked == first
        assert row.last_used is not None

    def test_tokens_that_expired_long_ago_are_cleared(self):
        now = timezone.now()
        for days in (-40, -20, 20):
            AccessToken.objects.issue(self.user, str(days), now + timedelta(days=days))
        AccessToken.objects.issue(self.user, "for good")
        before = now - timedelta(days=30)
        assert AccessToken.objects.clear(expired_before=before, batch_size=10) == 1
        names = set(AccessToken.objects.values_list("name", flat=True))
        assert names == {"-20", "20", "for good"}


class SessionTests(TestCase):
    def test_a_session_is_named_without_its_id(self):
        session = new_session("a")
        assert str(session) == f"shop: anonymous, {session.created:%Y-%m-%d %H:%M}"


class WriteQuietlyTests(TestCase):
    def test_a_row_is_updated(self):
        session = new_session("a")
        assert write_quietly(Session.objects.filter(pk=session.pk), log_level="debug") == 1
        assert Session.objects.get().log_level == "debug"

    def test_a_row_that_is_gone_is_no_failure(self):
        assert write_quietly(Session.objects.filter(pk=0), log_level="debug") == 0

    def test_a_failure_is_logged_and_leaves_the_transaction_usable(self):
        """BL-087"""
        session = new_session("a")
        with (
            patch("django.db.models.QuerySet.update", failing_update),
            self.assertLogs("django_mcp", "WARNING") as logs,
        ):
            assert write_quietly(Session.objects.filter(pk=session.pk), log_level="debug") == 0
        assert "django_mcp.Session not updated" in logs.output[0]
        assert Session.objects.get().log_level == ""

    def test_databases_that_can_skip_locked_rows_are_asked_to(self):
        session = new_session("a")
        rows = Session.objects.filter(pk=session.pk)
        for can_skip in (True, False):
            with (
                self.subTest(can_skip=can_skip),
                patch.object(connection.features, "has_select_for_update_skip_locked", can_skip),
            ):
                assert write_quietly(rows, log_level="debug") == 1
                assert write_quietly(rows.filter(pk=0), log_level="debug") == 0

    def test_every_database_takes_the_plain_write(self):
        session = new_session("a")
        with patch.object(connection, "vendor", "other"):
            assert write_quietly(Session.objects.filter(pk=session.pk), log_level="info") == 1


class LockedTests(TransactionTestCase):
    def test_a_row_somebody_else_writes_is_left_alone_at_once(self):
        """BL-087"""
        session = new_session("a")
        rows = Session.objects.filter(pk=session.pk)
        with writer(rows):
            started = timezone.now()
            with self.captured_failures():
                assert write_quietly(rows, log_level="debug") == 0
            assert timezone.now() - started < timedelta(seconds=2)
        assert write_quietly(rows, log_level="debug") == 1

    @skipUnless(connection.vendor == "sqlite", "only SQLite is told not to wait")
    def test_sqlite_waits_for_other_writers_as_before(self):
        session = new_session("a")
        write_quietly(Session.objects.filter(pk=session.pk), log_level="debug")
        with connection.cursor() as cursor:
            assert cursor.execute("PRAGMA busy_timeout").fetchone()[0] > 0

    def captured_failures(self):
        """SQLite says that it is locked; the others skip the row."""
        expect = self.assertLogs if connection.vendor == "sqlite" else self.assertNoLogs
        return expect("django_mcp", "WARNING")


class DeleteInBatchesTests(TestCase):
    def test_rows_are_deleted_batch_by_batch(self):
        for number in range(5):
            new_session(str(number))
        keep = new_session("keep")
        rows = Session.objects.exclude(pk=keep.pk)
        for can_skip in (True, False):
            with (
                self.subTest(can_skip=can_skip),
                patch.object(connection.features, "has_select_for_update_skip_locked", can_skip),
            ):
                assert delete_in_batches(rows, 2) == (5 if can_skip else 0)
        assert Session.objects.get() == keep

    def test_each_batch_is_a_transaction(self):
        for number in range(5):
            new_session(str(number))
        with (
            patch.object(connection.features, "has_select_for_update_skip_locked", True),
            patch("django_mcp.managers.transaction", wraps=transaction) as ours,
        ):
            delete_in_batches(Session.objects.all(), 2)
        assert ours.atomic.call_count == 3


class RecentTests(SimpleTestCase):
    databases = {"default"}

    def test_a_value_is_known_for_its_time(self):
        recent: Recent[object] = Recent(2)
        recent.put("a", 1, "default")
        assert recent.get("a", 60) == 1
        assert recent.get("a", 0) is None
        assert recent.get("b", 60) is None

    def test_the_oldest_makes_room(self):
        recent: Recent[object] = Recent(2)
        for key in "abca":
            recent.put(key, key, "default")
        assert [recent.get(key, 60) for key in "abc"] == ["a", None, "c"]

    def test_values_can_be_forgotten(self):
        recent: Recent[str] = Recent(3)
        for key in "abc":
            recent.put(key, key, "default")
        recent.forget("a")
        recent.forget("unknown")
        assert [recent.get(key, 60) for key in "abc"] == [None, "b", "c"]
        recent.clear()
        assert recent.get("b", 60) is None


def failing_update(rows, **values):
    """What a locked database or a lost one looks like, with the transaction spoiled by it."""
    raise OperationalError("database is locked")
