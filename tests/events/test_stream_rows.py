"""The rows of legacy streams, and what keeps their sessions."""

import asyncio
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import TransactionTestCase

import django_mcp
from django_mcp.events import hub as hubs
from django_mcp.events import legacy, log, numbering
from django_mcp.models import AccessToken, Event, Session, StreamSpan, Subscription
from django_mcp.transports import upkeep
from tests.events.streaming import FAST, StreamTestCase
from tests.events.test_get_streams import OTHER, A, changed, update, updated
from tests.rows import new_session


class EndedSessionTests(StreamTestCase):
    """The session ends while its request is under way."""

    def test_its_stream_is_refused_as_that_of_any_that_is_gone(self):
        async def scenario(site):
            session = await site.session()
            with self.ending_before("open_span"), patch.object(numbering, "pause") as pause:
                stream = await (await session.get()).ended()
            assert stream.status == 404
            assert b"Session not found" in stream.body
            assert not pause.called

        self.play(scenario)

    def test_its_subscription_is_refused_and_not_tried_again(self):
        async def scenario(site):
            session = await site.session()
            with self.ending_before("subscribe"), patch.object(numbering, "pause") as pause:
                answer = await session.call("resources/subscribe", uri=A)
            assert answer["error"]["message"] == "Session not found"
            assert not pause.called

        self.play(scenario)

    def ending_before(self, name):
        function = getattr(legacy, name)

        def end_first(session, *args):
            Session.objects.all().delete()
            return function(session, *args)

        return patch.object(legacy, name, end_first)


class UpkeepTests(StreamTestCase):
    def test_sessions_that_are_gone_end_their_streams(self):
        async def scenario(site):
            with patch.object(upkeep, "touch_interval", lambda: 0.01):
                session = await site.session()
                stream = await session.get()
                await Session.objects.all().adelete()
                await stream.ended()

        self.play(scenario)

    def test_a_database_that_is_slow_is_asked_once_at_a_time(self):
        async def scenario(site):
            asked, answer = [], asyncio.Event()

            async def touch(hub):
                asked.append(hub)
                await answer.wait()

            await (await site.session()).get()
            upkeep.Timer(lambda: 0.001, touch).start(hubs.hub())
            while not asked:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.1)
            assert len(asked) == 1
            answer.set()
            while len(asked) == 1:
                await asyncio.sleep(0.001)

        self.play(scenario)

    def test_a_database_that_is_away_ends_none(self):
        async def scenario(site):
            with patch.object(upkeep, "touch_interval", lambda: 0.01):
                session = await site.session()
                away = patch.object(upkeep, "touch_sessions", side_effect=OperationalError("away"))
                with self.assertLogs("django_mcp.http", "WARNING") as logs, away:
                    stream = await session.get()
                    while not logs.records:
                        await asyncio.sleep(0.01)
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")

        self.play(scenario)


class ReplayPermissionTests(StreamTestCase):
    settings_of_the_test = {**FAST, "AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}

    def test_what_the_user_may_not_see_now_is_not_replayed(self):
        """RES-15"""
        ann = get_user_model().objects.create_user("ann", is_staff=True)
        _, value = AccessToken.objects.issue(ann)

        async def scenario(site):
            session = await site.session(Authorization=f"Bearer {value}")
            for uri in ("static://staff", A):
                await session.call("resources/subscribe", uri=uri)
            stream = await session.get()
            place = await stream.frame()
            stream.hang_up()
            await stream.ended()
            for uri in ("static://staff", A):
                await update(uri)
            await get_user_model().objects.aupdate(is_staff=False)
            again = await session.get(place.id)
            assert await again.message() == updated(A)

        self.play(scenario)


class RowTests(TransactionTestCase):
    def test_spans_nobody_can_resume_any_more_are_removed(self):
        session = new_session("one")
        legacy.open_span(session.pk, None)
        StreamSpan.objects.update(start=1, end=2)
        span, is_known = legacy.open_span(session.pk, None)
        assert not is_known
        assert str(StreamSpan.objects.get()) == f"{span.stream}: {span.start}-"
        legacy.close_span(session.pk, span.connection)
        legacy.close_span(session.pk, span.connection)
        assert (StreamSpan.objects.get().end or 0) > span.start
        assert Event.objects.filter(kind="stream.closed").count() == 1

    def test_rows_go_with_their_session(self):
        session = new_session("one")
        legacy.open_span(session.pk, None)
        legacy.subscribe(session.pk, A)
        assert str(Subscription.objects.get()) == A
        Session.objects.all().delete()
        assert not StreamSpan.objects.exists()
        assert not Subscription.objects.exists()

    def test_an_event_from_before_the_subscription_is_none_of_it(self):
        session = new_session("one")
        span, _ = legacy.open_span(session.pk, None)
        django_mcp.notify_resource_updated(A)
        legacy.subscribe(session.pk, A)
        django_mcp.notify_resource_updated(A)
        found = legacy.missed(session.pk, "shop", span.stream, span.start, log.position("default"))
        assert len(found) == 1
        assert legacy.missed(session.pk, "shop", OTHER, span.start, log.position("default")) == []
