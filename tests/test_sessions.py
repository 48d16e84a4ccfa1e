"""Legacy sessions: who may use one, when it ends, how many there may be, and who finds it busy."""

from datetime import timedelta
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import TransactionTestCase, override_settings
from django.utils import timezone

from django_mcp import sessions
from django_mcp.auth.base import principal_for
from django_mcp.managers import digest_of
from django_mcp.models import AccessToken, Session
from django_mcp.protocol.errors import INVALID_PARAMS, ProtocolError
from django_mcp.protocol.versions import Revision
from django_mcp.server.call import Caller
from django_mcp.sessions import (
    MAX_CLIENT_BYTES,
    clear_expired,
    clear_session_cache,
    close_session,
    find_session,
    mark_initialized,
    open_session,
    set_log_level,
    touch_interval,
    touch_session,
)
from tests.rows import ANYBODY, SessionTestCase, age, find_as, open_as


class OpenSessionTests(SessionTestCase):
    def test_what_the_handshake_settled_is_kept(self):
        """S38, INIT-11"""
        info = {"name": "client", "version": "1", "title": "Größe ✓"}
        capabilities = {"elicitation": {}, "roots": {"listChanged": True}}
        session_id = open_as(self.ann, client_info=info, client_capabilities=capabilities)
        state = find_as(self.ann, session_id)
        row = Session.objects.get()
        assert (state.pk, row.user) == (row.pk, self.ann)
        assert (state.server, state.principal) == ("shop", f"user:{self.ann.pk}")
        assert state.revision is Revision.V2025_06_18
        assert (state.client_info, state.client_capabilities) == (info, capabilities)
        assert (state.log_level, state.initialized) == (None, False)

    def test_ids_are_random_visible_ascii_and_only_their_digest_is_stored(self):
        """LH-29, SEC-02"""
        ids = {open_as(self.ann) for _ in range(20)}
        assert len(ids) == 20
        for session_id in ids:
            assert len(session_id) >= 43
            assert all(0x21 <= ord(character) <= 0x7E for character in session_id)
        assert set(Session.objects.values_list("digest", flat=True)) == {digest_of(each) for each in ids}

    def test_anonymous_and_foreign_users_have_no_row(self):
        open_as(ANYBODY)
        open_session(
            server="shop",
            caller=Caller(user=object(), principal="key:1"),
            revision=Revision.V2025_11_25,
            client_info={},
            client_capabilities={},
        )
        rows = Session.objects.filter(user=None)
        assert set(rows.values_list("principal", flat=True)) == {"anonymous", "key:1"}

    def test_text_no_database_stores_is_replaced(self):
        info = {"name": "a\x00b", "k\ud800": ["\udfff", {"deep": "\x00"}], "n": 1.5, "none": None}
        stored = {"name": "a�b", "k�": ["�", {"deep": "�"}], "n": 1.5, "none": None}
        assert find_as(self.ann, open_as(self.ann, client_info=info)).client_info == stored

    def test_a_client_that_says_too_much_about_itself_is_refused(self):
        with self.assertRaisesMessage(ProtocolError, f"larger than {MAX_CLIENT_BYTES} bytes") as raised:
            open_as(self.ann, client_info={"name": "x" * MAX_CLIENT_BYTES})
        assert raised.exception.code == INVALID_PARAMS
        assert not Session.objects.exists()


class FindSessionTests(SessionTestCase):
    def test_a_session_is_one_read(self):
        session_id = open_as(self.ann)
        with self.assertNumQueries(1):
            assert find_as(self.ann, session_id) is not None

    def test_ids_nobody_ever_got_are_unknown(self):
        """LH-31, BL-051"""
        open_as(self.ann)
        for session_id in (
            "deadbeef",
            "",
            "../../etc/passwd",
            "x" * 10_000,
            "with space",
            "caf\xe9",
            "\ud800",
            "line\n",
            Session.objects.get().digest,
        ):
            with self.subTest(session_id=session_id[:20]):
                assert find_as(self.ann, session_id) is None
                assert not close_session(server="shop", principal=principal_for(self.ann), session_id=session_id)

    def test_a_session_of_somebody_else_is_unknown(self):
        """BL-012, SEC-01, SEC-03"""
        session_id = open_as(self.ann)
        for other in (self.bob, ANYBODY):
            assert find_as(other, session_id) is None
            assert not close_session(server="shop", principal=principal_for(other), session_id=session_id)
        assert find_as(self.ann, session_id) is not None

    def test_another_token_of_the_same_user_may_go_on(self):
        """BL-012"""
        session_id = open_as(self.ann)
        AccessToken.objects.issue(self.ann)
        refreshed = get_user_model().objects.get(pk=self.ann.pk)
        assert find_as(refreshed, session_id) is not None

    def test_principals_that_differ_in_case_are_two(self):
        """BL-012: MariaDB compares text without regard to case"""
        session_id = open_as(self.ann)
        Session.objects.update(principal="user:Ann", server="Shop")
        for server, principal in [("Shop", "user:ann"), ("shop", "user:Ann"), ("Shop", "user:Ann ")]:
            assert find_session(server=server, principal=principal, session_id=session_id) is None
        assert find_session(server="Shop", principal="user:Ann", session_id=session_id) is not None

    def test_a_session_of_another_server_is_unknown(self):
        session_id = open_as(self.ann)
        assert find_as(self.ann, session_id, server="admin") is None

    def test_a_revision_this_code_does_not_know_is_an_unknown_session(self):
        session_id = open_as(self.ann)
        Session.objects.update(revision="2031-01-01")
        assert find_as(self.ann, session_id) is None


class EndTests(SessionTestCase):
    def test_a_closed_session_is_unknown(self):
        """LH-31, LH-32, BL-026"""
        session_id = open_as(self.ann)
        ours = {"server": "shop", "principal": principal_for(self.ann), "session_id": session_id}
        assert close_session(**ours)
        assert find_session(**ours) is None
        assert not close_session(**ours)

    def test_only_one_of_two_closes_counts(self):
        session_id = open_as(self.ann)
        row = sessions._read(digest_of(session_id))
        Session.objects.all().delete()
        with patch("django_mcp.sessions._read", return_value=row):
            assert not close_session(server="shop", principal=principal_for(self.ann), session_id=session_id)

    @override_settings(DJANGO_MCP={"SESSION_IDLE": 100})
    def test_an_idle_session_ends(self):
        """S225, LH-33"""
        session_id = open_as(self.ann)
        age(session_id, last_seen=109)
        assert find_as(self.ann, session_id) is not None
        age(session_id, last_seen=110)
        assert find_as(self.ann, session_id) is None

    @override_settings(DJANGO_MCP={"SESSION_IDLE": 100})
    def test_a_session_used_just_within_the_limit_never_ends(self):
        """S225, BL-059"""
        session_id = open_as(self.ann)
        start = timezone.now()
        for seconds in (0, 9.9, 109, 118.9, 218, 317):
            with patch("django_mcp.sessions.timezone.now", return_value=start + timedelta(seconds=seconds)):
                assert find_as(self.ann, session_id) is not None, seconds

    @override_settings(DJANGO_MCP={"SESSION_AGE": timedelta(hours=1)})
    def test_a_session_ends_at_its_age_however_busy(self):
        """LH-33, SEC-02"""
        session_id = open_as(self.ann)
        row = Session.objects.get()
        assert row.expires - row.created == timedelta(hours=1)
        age(session_id, expires=3599)
        assert find_as(self.ann, session_id) is not None
        age(session_id, expires=1)
        assert find_as(self.ann, session_id) is None
        assert not close_session(server="shop", principal=principal_for(self.ann), session_id=session_id)

    def test_sessions_go_with_their_user(self):
        session_id = open_as(self.bob)
        principal = principal_for(self.bob)
        self.bob.delete()
        assert find_session(server="shop", principal=principal, session_id=session_id) is None

    def test_sessions_that_are_over_are_cleared(self):
        """BL-060"""
        ids = [open_as(self.ann) for _ in range(7)]
        for session_id in ids[:3]:
            age(session_id, last_seen=7200)
        for session_id in ids[3:5]:
            age(session_id, expires=8 * 86400)
        assert clear_expired(batch_size=2) == 5
        assert clear_expired() == 0
        assert [find_as(self.ann, session_id) is not None for session_id in ids] == [False] * 5 + [True] * 2


class TouchTests(SessionTestCase):
    def last_seen(self):
        return Session.objects.get().last_seen

    def test_use_is_noted_at_most_once_in_a_while(self):
        """BL-087"""
        session_id = open_as(self.ann)
        first = self.last_seen()
        with self.assertNumQueries(1):
            find_as(self.ann, session_id)
        assert self.last_seen() == first
        age(session_id, last_seen=61)
        find_as(self.ann, session_id)
        assert self.last_seen() > first
        with self.assertNumQueries(1):
            find_as(self.ann, session_id)

    def test_the_while_follows_the_idle_limit(self):
        for idle, interval in [(1800, 60), (100, 10), (timedelta(days=1), 60)]:
            with self.subTest(idle=idle), override_settings(DJANGO_MCP={"SESSION_IDLE": idle}):
                assert touch_interval() == interval

    def test_a_note_that_cannot_be_written_fails_no_request(self):
        """BL-087"""
        session_id = open_as(self.ann)
        age(session_id, last_seen=61)
        with (
            patch("django.db.models.QuerySet.update", side_effect=OperationalError("database is locked")),
            self.assertLogs("django_mcp", "WARNING") as logs,
        ):
            assert find_as(self.ann, session_id) is not None
        assert session_id not in str(logs.output)
        assert find_as(self.ann, session_id) is not None

    def test_a_long_call_or_stream_keeps_its_session_alive(self):
        """X11, BL-059"""
        session_id = open_as(self.ann)
        state = find_as(self.ann, session_id)
        age(session_id, last_seen=7200)
        assert touch_session(state)
        assert find_as(self.ann, session_id) is not None
        assert clear_expired() == 0

    def test_a_recent_use_is_not_noted_again(self):
        state = find_as(self.ann, open_as(self.ann))
        with self.assertNumQueries(1):
            assert touch_session(state)

    def test_a_session_that_is_gone_or_too_old_cannot_be_touched(self):
        session_id = open_as(self.ann)
        state = find_as(self.ann, session_id)
        age(session_id, expires=8 * 86400)
        assert not touch_session(state)
        Session.objects.all().delete()
        assert not touch_session(state)


class ChangeTests(SessionTestCase):
    def test_the_log_level_is_kept(self):
        """S38."""
        session_id = open_as(self.ann)
        set_log_level(find_as(self.ann, session_id), "warning")
        assert find_as(self.ann, session_id).log_level == "warning"

    def test_a_session_is_initialized_once(self):
        session_id = open_as(self.ann)
        mark_initialized(find_as(self.ann, session_id))
        state = find_as(self.ann, session_id)
        assert state.initialized
        with self.assertNumQueries(0):
            mark_initialized(state)


class RememberedTests(TransactionTestCase):
    """Only what is committed is remembered, so these tests commit."""

    def setUp(self):
        clear_session_cache()
        self.addCleanup(clear_session_cache)
        self.ann = get_user_model().objects.create_user("ann")

    def test_by_default_every_request_reads_the_row(self):
        """BL-026"""
        session_id = open_as(self.ann)
        find_as(self.ann, session_id)
        Session.objects.all().delete()
        assert find_as(self.ann, session_id) is None

    @override_settings(DJANGO_MCP={"SESSION_CACHE": 60})
    def test_a_session_is_read_once_in_a_while_if_the_site_wants(self):
        session_id = open_as(self.ann)
        state = find_as(self.ann, session_id)
        with self.assertNumQueries(0):
            assert find_as(self.ann, session_id) == state
            assert find_as(ANYBODY, session_id) is None

    @override_settings(DJANGO_MCP={"SESSION_CACHE": 60})
    def test_changes_in_this_process_are_seen_at_once(self):
        session_id = open_as(self.ann)
        state = find_as(self.ann, session_id)
        set_log_level(state, "debug")
        assert find_as(self.ann, session_id).log_level == "debug"
        mark_initialized(state)
        assert find_as(self.ann, session_id).initialized
        age(session_id, last_seen=61)
        clear_session_cache()
        find_as(self.ann, session_id)
        find_as(self.ann, session_id)
        with self.assertNumQueries(0):
            find_as(self.ann, session_id)
        age(session_id, last_seen=120)
        assert touch_session(state)
        close_session(server="shop", principal=principal_for(self.ann), session_id=session_id)
        assert find_as(self.ann, session_id) is None

    @override_settings(DJANGO_MCP={"SESSION_CACHE": 60})
    def test_an_evicted_session_is_forgotten(self):
        session_id = open_as(self.ann)
        find_as(self.ann, session_id)
        with override_settings(DJANGO_MCP={"SESSION_CACHE": 60, "SESSIONS_PER_USER": 1}):
            open_as(self.ann)
            assert find_as(self.ann, session_id) is None
