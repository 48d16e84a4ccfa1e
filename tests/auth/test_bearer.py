"""Bearer tokens: what is read from the header, who is let in, and what is remembered."""

from datetime import timedelta
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission, PermissionsMixin, User
from django.db import OperationalError
from django.test import SimpleTestCase, TestCase, TransactionTestCase, override_settings
from django.utils import timezone

from django_mcp.auth import AuthenticationFailed, AuthRequest, BearerToken
from django_mcp.auth.bearer import clear_token_cache, read_bearer
from django_mcp.models import AccessToken
from django_mcp.protocol.headers import Headers


def request(*values, path="/mcp"):
    headers = Headers([(b"Authorization", value.encode("latin-1")) for value in values])
    return AuthRequest(headers=headers, path=path)


def authenticate(value):
    caller = BearerToken().authenticate(request(f"Bearer {value}"))
    assert caller is not None
    return caller


class ReadBearerTests(SimpleTestCase):
    def test_the_scheme_is_case_insensitive(self):
        for header in ("Bearer abc.-_~+/1==", "bearer abc.-_~+/1==", "BEARER  abc.-_~+/1=="):
            with self.subTest(header=header):
                assert read_bearer(request(header)) == "abc.-_~+/1=="

    def test_credentials_of_another_kind_are_none_of_ours(self):
        for headers in ([], [""], ["Basic YTpi"], ["BearerX abc"], ["Bearer-X abc"]):
            with self.subTest(headers=headers):
                assert read_bearer(request(*headers)) is None

    def test_malformed_credentials_fail(self):
        for headers in (
            ["Bearer"],
            ["Bearer a b"],
            ["Bearer a,b"],
            ["Bearer\tabc"],
            ["Bearer ="],
            ["Bearer caf\xe9"],
            ['Bearer token="abc"'],
            ["Bearer a", "Bearer b"],
            ["Bearer a", "Basic YTpi"],
        ):
            with self.subTest(headers=headers), self.assertRaises(AuthenticationFailed):
                read_bearer(request(*headers))

    def test_a_token_in_the_query_string_does_not_count(self):
        """AUTH-11"""
        assert read_bearer(request(path="/mcp?access_token=abc")) is None


class ChallengeTests(SimpleTestCase):
    def test_bad_credentials_are_named_and_missing_ones_are_not(self):
        """AUTH-08, AUTH-09, BL-103"""
        bearer = BearerToken()
        assert bearer.challenge(request(), failed=False) == 'Bearer realm="mcp"'
        assert bearer.challenge(request(), failed=True) == (
            'Bearer realm="mcp", error="invalid_token", error_description="The access token is not valid"'
        )


class BearerTokenTests(TestCase):
    user: User
    token: AccessToken
    value: str

    @classmethod
    def setUpTestData(cls):
        cls.user = get_user_model().objects.create_user("ann")
        cls.token, cls.value = AccessToken.objects.issue(cls.user)

    def test_the_owner_of_a_token_is_let_in(self):
        caller = authenticate(self.value)
        assert (caller.user, caller.principal) == (self.user, f"user:{self.user.pk}")
        assert caller.token == self.token
        assert caller.token.user is caller.user
        assert caller.scopes is None

    def test_no_credentials_are_no_caller(self):
        """BL-016"""
        with self.assertNumQueries(0):
            assert BearerToken().authenticate(request()) is None
            assert BearerToken().recall(request()) is None

    def test_permissions_are_read_beforehand(self):
        self.user.user_permissions.add(Permission.objects.get(codename="view_user"))
        caller = authenticate(self.value)
        with self.assertNumQueries(0):
            assert caller.user.has_perm("auth.view_user")
            assert not caller.user.has_perm("auth.add_user")
            assert caller.token.user.username == "ann"

    def test_users_without_permissions_are_let_in(self):
        with patch.object(PermissionsMixin, "get_all_permissions"):
            del PermissionsMixin.get_all_permissions
            assert authenticate(self.value).user == self.user

    def test_tokens_that_are_not_valid_all_fail_alike(self):
        """AUTH-08, AUTH-22"""
        now = timezone.now()
        _, expired = AccessToken.objects.issue(self.user, expires=now - timedelta(seconds=1))
        revoked, revoked_value = AccessToken.objects.issue(self.user)
        revoked.revoke()
        gone = get_user_model().objects.create_user("gone", is_active=False)
        _, inactive = AccessToken.objects.issue(gone)
        texts = set()
        for value in (expired, revoked_value, inactive, "mcp_unknown", self.token.digest):
            with self.subTest(value=value), self.assertRaises(AuthenticationFailed) as raised:
                authenticate(value)
            texts.add(str(raised.exception))
        assert texts == {"Unknown, expired or revoked access token"}

    def test_nothing_is_remembered_inside_a_transaction(self):
        authenticate(self.value)
        assert BearerToken().recall(request(f"Bearer {self.value}")) is None
        self.token.revoke()
        with self.assertRaises(AuthenticationFailed):
            authenticate(self.value)

    def test_use_is_noted_once_a_minute(self):
        authenticate(self.value)
        first = self.last_used()
        assert first is not None
        caller = authenticate(self.value)
        assert self.last_used() == first == caller.token.last_used
        AccessToken.objects.update(last_used=first - timedelta(seconds=61))
        authenticate(self.value)
        assert self.last_used() > first

    def test_a_note_that_cannot_be_written_stops_nobody(self):
        """BL-087"""
        with (
            patch("django.db.models.QuerySet.update", side_effect=OperationalError("locked")),
            self.assertLogs("django_mcp", "WARNING") as logs,
        ):
            assert authenticate(self.value).token.last_used is None
        assert self.value not in str(logs.output)

    def last_used(self):
        return AccessToken.objects.get(pk=self.token.pk).last_used


class RememberedTests(TransactionTestCase):
    """Only what is committed is remembered, so these tests commit."""

    def setUp(self):
        clear_token_cache()
        self.addCleanup(clear_token_cache)
        self.user = get_user_model().objects.create_user("ann")
        self.token, self.value = AccessToken.objects.issue(self.user)

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_a_good_token_is_looked_up_once(self):
        assert BearerToken().recall(request(f"Bearer {self.value}")) is None
        first = authenticate(self.value)
        with self.assertNumQueries(0):
            second = authenticate(self.value)
            third = BearerToken().recall(request(f"Bearer {self.value}"))
            assert not second.user.has_perm("auth.view_user")
        assert third is not None
        assert first.user == second.user == third.user

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_callers_share_no_user_and_no_token(self):
        """BL-016"""
        callers = [authenticate(self.value) for _ in range(3)]
        callers[1].user.username = "changed"
        callers[1].token.name = "changed"
        callers[1].token.user.first_name = "changed"
        for caller in (callers[0], callers[2], authenticate(self.value)):
            assert (caller.user.username, caller.user.first_name, caller.token.name) == ("ann", "", "")
        assert len({id(caller.user) for caller in callers}) == 3

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_tokens_of_two_users_are_never_mixed_up(self):
        """BL-016"""
        bob = get_user_model().objects.create_user("bob")
        _, bobs = AccessToken.objects.issue(bob)
        names = [authenticate(value).user.username for value in (self.value, bobs) * 3]
        assert names == ["ann", "bob"] * 3

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_a_remembered_token_still_expires(self):
        AccessToken.objects.update(expires=timezone.now() + timedelta(hours=1))
        authenticate(self.value)
        later = timezone.now() + timedelta(hours=2)
        with patch("django_mcp.auth.bearer.timezone.now", return_value=later):
            assert BearerToken().recall(request(f"Bearer {self.value}")) is None
            with self.assertRaises(AuthenticationFailed):
                authenticate(self.value)

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_revoking_or_deleting_counts_at_once_in_this_process(self):
        authenticate(self.value)
        self.token.revoke()
        with self.assertRaises(AuthenticationFailed):
            authenticate(self.value)
        other, value = AccessToken.objects.issue(self.user)
        authenticate(value)
        other.delete()
        with self.assertRaises(AuthenticationFailed):
            authenticate(value)

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_bad_tokens_are_not_remembered(self):
        for _ in range(2):
            with self.assertNumQueries(1), self.assertRaises(AuthenticationFailed):
                authenticate("mcp_unknown")

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 0})
    def test_zero_seconds_remember_nothing(self):
        authenticate(self.value)
        AccessToken.objects.update(revoked=timezone.now())
        with self.assertRaises(AuthenticationFailed):
            authenticate(self.value)

    @override_settings(DJANGO_MCP={"CACHE_SECONDS": 60})
    def test_clearing_makes_the_next_request_look(self):
        authenticate(self.value)
        AccessToken.objects.update(revoked=timezone.now())
        authenticate(self.value)
        clear_token_cache()
        with self.assertRaises(AuthenticationFailed):
            authenticate(self.value)
