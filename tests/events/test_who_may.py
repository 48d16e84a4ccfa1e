"""Who hears of a change: whoever may see the resource when it changes."""

from datetime import timedelta
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import OperationalError
from django.utils import timezone

import django_mcp
from django_mcp.auth.base import identify
from django_mcp.events import hub as hubs
from django_mcp.models import AccessToken
from django_mcp.transports import sweeps
from tests.events.streaming import FAST, StreamTestCase
from tests.events.test_listening import LISTS, NOTE, STAFF, acknowledged, changed, is_closing, updated

BEARER = {**FAST, "AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}


class WhoMayTests(StreamTestCase):
    """RES-15, SUB-13: who may see the resource when it changes, and not when the stream was opened."""

    settings_of_the_test = BEARER

    def setUp(self):
        super().setUp()
        self.ann = get_user_model().objects.create_user("ann", is_staff=True)
        self.token, value = AccessToken.objects.issue(self.ann)
        self.headers = {"Authorization": f"Bearer {value}"}

    def follow(self, change, ends):
        """A stream of Ann's, a change to her, and what she still hears."""

        async def scenario(site):
            filter = {"toolsListChanged": True, "resourceSubscriptions": [STAFF]}
            stream = await site.listen(filter, **self.headers)
            assert await stream.message() == acknowledged(filter)
            await django_mcp.anotify_resource_updated(STAFF)
            assert await stream.message() == updated(STAFF)
            await sync_to_async(change)()
            if ends:
                assert is_closing(await stream.message())
                await stream.ended()
            else:
                await django_mcp.anotify_resource_updated(STAFF)
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")

        self.play(scenario)

    def test_what_is_hidden_now_is_not_told(self):
        def demote():
            self.ann.is_staff = False
            self.ann.save()

        self.follow(demote, ends=False)

    def test_what_nobody_announced_is_seen_at_the_next_event(self):
        self.follow(lambda: get_user_model().objects.update(is_staff=False), ends=False)

    def test_a_stream_ends_with_its_token(self):
        for name in ("revoke", "delete"):
            with self.subTest(name=name):
                self.follow(getattr(self.token, name), ends=True)
                get_user_model().objects.filter(pk=self.ann.pk).update(is_staff=True)
                self.token, value = AccessToken.objects.issue(self.ann)
                self.headers = {"Authorization": f"Bearer {value}"}

    def test_a_stream_ends_with_its_user(self):
        def disable():
            self.ann.is_active = False
            self.ann.save()

        self.follow(disable, ends=True)

    def test_a_stream_ends_with_a_user_who_is_deleted(self):
        self.follow(self.ann.delete, ends=True)

    def test_permissions_and_groups_are_looked_at_again(self):
        group = Group.objects.create(name="desk")
        permission = Permission.objects.all()[0]
        for change in (
            lambda: self.ann.groups.add(group),
            lambda: group.permissions.add(permission),
            lambda: self.ann.user_permissions.add(permission),
        ):
            get_user_model().objects.update(is_staff=True)
            self.follow(lambda change=change: (get_user_model().objects.update(is_staff=False), change()), ends=False)

    def test_a_token_that_expires_ends_its_streams(self):
        """SUB-08, SUB-13: by a timer."""
        self.token.expires = timezone.now() + timedelta(seconds=0.5)
        self.token.save()

        async def scenario(site):
            with patch.object(sweeps, "SWEEP_EVERY", 0.01):
                stream = await site.listen(LISTS, **self.headers)
                await stream.message()
                assert is_closing(await stream.message())

        self.play(scenario)

    def test_a_resource_that_is_gone_is_not_told(self):
        async def scenario(site):
            stream = await site.listen({**LISTS, "resourceSubscriptions": [NOTE]}, **self.headers)
            await stream.message()
            with django_mcp.default_server.registry.override() as registry:
                registry.restore(type(registry.snapshot())())
                await django_mcp.anotify_resource_updated(NOTE)
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")

        self.play(scenario)

    def test_one_check_does_for_equal_credentials(self):
        self.settings_of_the_test = {**BEARER, "CACHE_SECONDS": 60}
        self.setUp2()

        async def scenario(site):
            filter = {"resourceSubscriptions": [STAFF]}
            listening = [await site.listen(filter, **self.headers) for _ in range(5)]
            with patch.object(hubs, "may_see", wraps=hubs.may_see) as check:
                await django_mcp.anotify_resource_updated(STAFF)
                for stream in listening:
                    assert await stream.messages(2) == [acknowledged(filter), updated(STAFF)]
                await django_mcp.anotify_resource_updated(STAFF)
                assert await listening[0].message() == updated(STAFF)
            assert check.call_count == 1

        self.play(scenario)

    def setUp2(self):
        StreamTestCase.setUp(self)

    def test_a_broken_authentication_lets_nobody_in(self):
        async def scenario(site):
            stream = await site.listen({"resourceSubscriptions": [STAFF]}, **self.headers)
            await stream.message()
            with (
                patch("django_mcp.transports.stream_access.identify", side_effect=ZeroDivisionError),
                self.assertLogs("django_mcp.events", "ERROR"),
            ):
                await django_mcp.anotify_resource_updated(STAFF)
                assert is_closing(await stream.message())

        self.play(scenario)

    def test_a_database_that_is_away_is_waited_for(self):
        outcomes = [OperationalError("away")] * 2

        async def scenario(site):
            stream = await site.listen({"resourceSubscriptions": [STAFF]}, **self.headers)
            await stream.message()

            def flaky(*arguments):
                if outcomes:
                    raise outcomes.pop()
                return identify(*arguments)

            with (
                patch("django_mcp.transports.stream_access.identify", flaky),
                patch.object(hubs, "_PAUSES", (0.01,) * 3),
                self.assertLogs("django_mcp.events", "WARNING"),
            ):
                await django_mcp.anotify_resource_updated(STAFF)
                assert await stream.message() == updated(STAFF)

        self.play(scenario)
