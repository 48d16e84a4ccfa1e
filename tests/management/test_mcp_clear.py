"""manage.py mcp_clear"""

from datetime import timedelta
from io import StringIO

from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import TestCase
from django.utils import timezone

from django_mcp.models import AccessToken, Event, Session
from tests.rows import open_as


def mcp_clear(*arguments):
    out = StringIO()
    call_command("mcp_clear", *arguments, stdout=out)
    return out.getvalue()


class MCPClearTests(TestCase):
    def test_what_nobody_can_use_any_more_is_removed(self):
        """W10, BL-060"""
        user = get_user_model().objects.create_user("ann")
        now = timezone.now()
        for _ in range(5):
            open_as(user)
        Session.objects.update(last_seen=now - timedelta(hours=1))
        open_as(user)
        AccessToken.objects.issue(user, expires=now - timedelta(days=31))
        AccessToken.objects.issue(user, expires=now - timedelta(days=29))
        Event.objects.create(kind="resources.updated", seq=1, prev=0)
        assert mcp_clear("--batch-size=2") == "Removed 5 expired sessions, 1 expired access tokens and 1 old events.\n"
        assert Session.objects.count() == AccessToken.objects.count() == 1
        assert mcp_clear() == "Removed 0 expired sessions, 0 expired access tokens and 0 old events.\n"

    def test_a_batch_size_that_makes_no_sense_is_an_error(self):
        for size in ("0", "901"):
            with self.subTest(size=size), self.assertRaisesMessage(CommandError, "between 1 and 900"):
                mcp_clear(f"--batch-size={size}")
