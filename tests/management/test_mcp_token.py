"""manage.py mcp_token"""

from datetime import timedelta
from io import StringIO
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import TestCase
from django.utils import timezone

from django_mcp.models import AccessToken


def mcp_token(*arguments, **options):
    out, err = StringIO(), StringIO()
    call_command("mcp_token", *arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def token_of(out):
    token = AccessToken.objects.find(out.strip())
    assert token is not None
    return token


class MCPTokenTests(TestCase):
    user: User

    @classmethod
    def setUpTestData(cls):
        cls.user = get_user_model().objects.create_user("ann", "ann@example.com")

    def test_the_token_alone_goes_to_standard_output(self):
        out, err = mcp_token("ann", "--name", "laptop")
        token = token_of(out)
        assert (token.user, token.name, token.expires) == (self.user, "laptop", None)
        assert out == f"{out.strip()}\n"
        assert "is valid until revoked" in err
        assert out.strip() not in err

    def test_a_token_can_be_made_to_expire(self):
        out, err = mcp_token("ann", "--days", "30")
        token = token_of(out)
        left = token.expires - timezone.now()
        assert timedelta(days=29, hours=23) < left < timedelta(days=30, minutes=1)
        assert f"until {token.expires:%Y-%m-%d}" in err

    def test_users_are_found_by_what_they_log_in_with(self):
        with patch.object(get_user_model(), "USERNAME_FIELD", "email"):
            out, _ = mcp_token("ann@example.com")
            with self.assertRaisesMessage(CommandError, "No user with email 'ann'."):
                mcp_token("ann")
        assert token_of(out).user == self.user

    def test_an_unknown_user_is_an_error_that_says_what_to_do(self):
        with self.assertRaisesMessage(CommandError, "No user with username 'bob'. Check the spelling, or create"):
            mcp_token("bob")

    def test_an_inactive_user_is_an_error_that_says_what_to_do(self):
        get_user_model().objects.update(is_active=False)
        with self.assertRaisesMessage(CommandError, "Activate the user first"):
            mcp_token("ann")
        assert not AccessToken.objects.exists()

    def test_days_must_make_sense(self):
        for days in ("0", "-1", "999999999999"):
            with self.subTest(days=days), self.assertRaisesMessage(CommandError, "between 1 and 36500"):
                mcp_token("ann", f"--days={days}")

    def test_a_name_must_fit(self):
        with self.assertRaisesMessage(CommandError, "--name has 101 characters, but at most 100 fit."):
            mcp_token("ann", name="x" * 101)
