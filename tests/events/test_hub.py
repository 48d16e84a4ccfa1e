"""The hub by itself: what it does when things vanish while it works."""

import asyncio
from contextlib import suppress
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import OperationalError
from django.test import TransactionTestCase

import django_mcp
from django_mcp import events
from django_mcp.events import hub as hubs
from django_mcp.events import legacy, log
from django_mcp.events.access import watch_access
from django_mcp.events.hub import Hub, hub
from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.legacy import SessionRows
from django_mcp.events.sessions import SessionStreams
from django_mcp.events.spans import Span
from django_mcp.events.tail import reader
from django_mcp.models import Event
from django_mcp.protocol.notifications import Broadcast
from django_mcp.sessions import touch_sessions
from django_mcp.transports import upkeep
from tests.events.streaming import LIMIT, StreamTestCase
from tests.events.test_listening import LISTS, NOTE, acknowledged, changed, updated
from tests.rows import ANYBODY, age, new_session, open_as
from tests.threads import held_up

FILTER = {**LISTS, "resourceSubscriptions": [NOTE]}


async def session_with_a_stream(site):
    """Its rows were read, so nothing is read again before something is said to have changed."""
    session = await site.session()
    stream = await session.get()
    place = await stream.frame()
    await hub().passed(await sync_to_async(log.position)("default"))
    await hub().refresh()
    return session, stream, place


class HubTests(StreamTestCase):
    def test_kinds_of_a_newer_release_are_passed_over(self):
        async def scenario(site):
            stream = await site.listen(LISTS)
            await sync_to_async(events.append)("kind.of.the.future")
            for kind in (
                Kind.SESSION_CLOSED,
                Kind.STREAMS_PARTED,
                Kind.STREAM_OPENED,
                Kind.SUBSCRIPTIONS_CHANGED,
                Kind.CATALOGUE_CHANGED,
            ):
                await sync_to_async(events.append)(kind, audience="77")
            await django_mcp.anotify_tools_changed()
            assert await stream.messages(2) == [acknowledged(LISTS), changed("tools")]

        self.play(scenario)

    def test_an_event_that_cannot_be_given_out_stops_no_other(self):
        async def scenario(site):
            stream = await site.listen(FILTER)
            broken = patch.object(hubs, "may_see", side_effect=ZeroDivisionError)
            with broken, self.assertLogs("django_mcp.events", "ERROR"):
                await django_mcp.anotify_resource_updated(NOTE)
                await django_mcp.anotify_tools_changed()
                assert await stream.messages(2) == [acknowledged(FILTER), changed("tools")]

        self.play(scenario)

    def test_verdicts_are_not_kept_without_end(self):
        async def scenario(site):
            with patch.object(hubs, "MAX_VERDICTS", 1):
                stream = await site.listen({"resourceSubscriptions": [NOTE, "note://beta"]})
                await stream.message()
                for uri in (NOTE, "note://beta"):
                    await django_mcp.anotify_resource_updated(uri)
                    assert await stream.message() == updated(uri)
                assert len(hub()._verdicts) == 1

        self.play(scenario)

    def test_a_session_that_ends_while_its_rows_are_read_is_left(self):
        async def scenario(site):
            here = hub()
            await here.join()
            streams = SessionStreams(7)
            here._stale.add(streams)
            await here.refresh()
            assert len(here) == 0
            here.leave()

        self.play(scenario)

    def test_a_session_that_begins_anew_while_its_rows_are_read_keeps_nothing_from_others(self):
        """Its only stream is resumed here in the meantime."""

        async def scenario(site):
            session, stream, place = await session_with_a_stream(site)
            other = await site.listen(LISTS)
            await other.message()
            with held_up(legacy, "load") as (begun, go_on, _):
                hub()._stale.update(hub().sessions.values())
                await django_mcp.anotify_tools_changed()
                assert await asyncio.to_thread(begun.wait, LIMIT)
                stream.hang_up()
                await stream.ended()
                opening = asyncio.create_task(session.get(place.id))
                async with asyncio.timeout(LIMIT):
                    while not hub().sessions:
                        await asyncio.sleep(0.001)
                go_on.set()
                again = await opening
                assert await other.message() == changed("tools")
                assert (await again.message())["method"] == changed("tools")["method"]

        self.play(scenario)

    def test_rows_that_cannot_be_read_keep_events_from_nobody_else(self):
        async def scenario(site):
            _, stream, _ = await session_with_a_stream(site)
            other = await site.listen(LISTS)
            await other.message()
            away = patch.object(legacy, "load", side_effect=OperationalError("away"))
            with away, patch.object(hubs, "_PAUSES", ()), self.assertLogs("django_mcp.events", "WARNING"):
                hub()._stale.update(hub().sessions.values())
                await django_mcp.anotify_tools_changed()
                assert await other.message() == changed("tools")
                await stream.ended()

        self.play(scenario)

    def test_who_leaves_while_the_reader_begins_leaves_nothing_behind(self):
        async def scenario(site):
            here = hub()
            with held_up(reader, "attach") as (begun, go_on, done):
                joining = asyncio.create_task(here.join())
                assert await asyncio.to_thread(begun.wait, LIMIT)
                joining.cancel()
                await asyncio.wait({joining})
                go_on.set()
                assert await asyncio.to_thread(done.wait, LIMIT)
            async with asyncio.timeout(LIMIT):
                while reader.is_running:  # pragma: no branch - it may have ended by now
                    await asyncio.sleep(0.001)  # pragma: no cover - the same

        self.play(scenario)

    def test_who_waits_for_a_number_and_gives_up_is_left(self):
        async def scenario(site):
            here = hub()
            with patch.object(hubs, "PASS_WITHIN", 0.001):
                for _ in range(2):
                    with self.assertRaises(TimeoutError):
                        await here.passed(5)
            waiting = asyncio.ensure_future(here.passed(9))
            await asyncio.sleep(0)
            here.position = 7
            here._wake()
            assert not waiting.done()
            here.position = 9
            here._wake()
            await waiting

        self.play(scenario)

    def test_a_loop_that_ends_takes_its_hub_with_it(self):
        before = list(hubs._hubs.values())  # of loops that other tests have ended
        asyncio.run(self.leave_behind())
        [left] = [one for one in hubs._hubs.values() if one not in before]
        assert not reader.is_running
        asyncio.run(self.another_loop())
        assert left not in hubs._hubs.values()

    def test_a_loop_that_is_closed_in_the_middle_is_told_nothing(self):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(self.leave_behind())
        loop.close()
        assert reader.is_running
        reader._hand_on(reader._run, [Entry(2**62, 0, Kind.TOOLS_CHANGED)])  # type: ignore[arg-type]
        assert not reader.is_running

    async def leave_behind(self):
        await hub().join()

    async def another_loop(self):
        assert isinstance(hub(), Hub)

    def test_modern_streams_have_no_session_to_keep(self):
        async def scenario(site):
            await (await site.listen(LISTS)).message()
            with patch.object(upkeep, "touch_sessions") as touch:
                await upkeep.touch(hub())
            assert not touch.called

        self.play(scenario)

    def test_a_response_that_came_too_late_gives_its_stream_back(self):
        """BL-058: the client left while its subscription was being opened."""

        async def scenario(site):
            entered, go_on = asyncio.Event(), asyncio.Event()
            real = Hub.join

            async def slowly(here):
                entered.set()
                with suppress(asyncio.CancelledError):
                    await go_on.wait()
                await real(here)

            with patch.object(Hub, "join", slowly):
                opening = asyncio.create_task(site.listen(LISTS))
                await entered.wait()
                site.streams[-1].hang_up()
                await site.streams[-1].ended()
                opening.cancel()
            assert site.streams[-1].status == 0

        self.play(scenario)


class SessionStreamsTests(TransactionTestCase):
    def test_an_event_goes_to_the_connection_that_owns_it_if_that_is_here(self):
        streams = SessionStreams(1)
        streams.rows = SessionRows([Span("a", "elsewhere", 1)], {NOTE: 5})
        entry = Entry(7, 6, Kind.RESOURCE_UPDATED, uri=NOTE)
        assert not streams.wants(entry)
        assert not streams.wants(entry._replace(seq=4))
        streams.put(entry, Broadcast("x"))

    def test_use_is_noted_for_many_sessions_at_once(self):
        """BL-059"""
        session_id = open_as(ANYBODY)
        age(session_id, last_seen=600)
        other = new_session("other")
        keys = [one.pk for one in type(other).objects.all()]
        assert touch_sessions([*keys, 0]) == set(keys)
        assert touch_sessions(keys) == set(keys)


class AccessTests(TransactionTestCase):
    def test_a_site_may_have_users_of_its_own_kind(self):
        """Without groups, and without Django's own users."""
        with patch.object(apps, "is_installed", return_value=False):
            watch_access()

    def test_a_login_ends_nothing(self):
        from django.contrib.auth import get_user_model

        user = get_user_model().objects.create_user("ann")
        user.save(update_fields=["last_login"])
        assert not Event.objects.exists()
        user.save()
        assert Event.objects.get().audience == f"user:{user.pk}"
