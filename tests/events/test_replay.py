"""What a client missed, when it comes back to its GET stream with Last-Event-ID."""

import asyncio
from unittest.mock import patch

from asgiref.sync import sync_to_async

import django_mcp
from django_mcp.events import hub as hubs
from django_mcp.events import legacy, log
from django_mcp.models import Event, Session, StreamSpan
from django_mcp.running import run_store, write_store
from django_mcp.transports import get_streams
from django_mcp.transports.event_ids import read_place
from tests.events.streaming import StreamTestCase
from tests.events.test_get_streams import OTHER, A, B, changed, update, updated


class ReplayTests(StreamTestCase):
    def test_a_client_that_comes_back_gets_what_it_missed(self):
        """LH-24, S216: nothing lost, nothing twice."""

        async def scenario(site):
            session = await site.session()
            await session.call("resources/subscribe", uri=A)
            stream = await session.get()
            await update(A)
            await update(A)
            await stream.frame()
            seen = await stream.frame()
            await stream.frame()
            stream.hang_up()
            await stream.ended()
            await django_mcp.anotify_tools_changed()
            await update(B)
            again = await session.get(seen.id)
            assert (await again.frame()).id == seen.id
            assert await again.messages(2) == [updated(A), changed("tools")]
            await update(A)
            assert await again.message() == updated(A)
            third = await session.get(seen.id)
            assert await third.messages(3) == [updated(A), changed("tools"), updated(A)]
            await again.ended()

        self.play(scenario)

    def test_a_worker_that_died_closed_nothing_and_loses_nothing(self):
        """LH-24, BL-024: kill -9, so that its connection is still open in the log."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            seen = await stream.frame()
            with patch.object(legacy, "close_span"):
                stream.hang_up()
                await stream.ended()
                await django_mcp.anotify_tools_changed()
            again = await session.get(seen.id)
            assert await again.message() == changed("tools")

        self.play(scenario)

    def test_a_stream_that_is_resumed_elsewhere_ends_here(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = read_place((await stream.frame()).id)
            assert place
            row = await Session.objects.aget()
            await sync_to_async(legacy.open_span)(row.pk, place.stream)
            await stream.ended()
            assert await StreamSpan.objects.filter(end=None).acount() == 1

        self.play(scenario)

    def test_events_of_one_stream_are_not_replayed_on_another(self):
        """LH-25, BL-053"""

        async def scenario(site):
            session = await site.session()
            older = await session.get()
            place = await older.frame()
            newer = await session.get()
            await django_mcp.anotify_tools_changed()
            assert await newer.message() == changed("tools")
            again = await session.get(place.id)
            await django_mcp.anotify_prompts_changed()
            assert await again.message() == changed("prompts")

        self.play(scenario)

    def test_ids_that_name_nothing_replay_nothing(self):
        """LH-27, SEC-04: unknown, malformed, foreign and pruned ones; and those of POST streams (BL-055)."""

        async def scenario(site):
            foreign = await site.session()
            theirs = await (await foreign.get()).frame()
            session = await site.session()
            mine = await (await session.get()).frame()
            await django_mcp.anotify_tools_changed()
            for last in ("1", "g.1", f"g{OTHER}.1", "p1.0", theirs.id, "g" + "f" * 40 + ".1", f"g{OTHER}.{'9' * 30}"):
                stream = await session.get(last)
                frame = await stream.frame()
                assert frame.id.partition(".")[0] not in (mine.id.partition(".")[0], theirs.id.partition(".")[0])
                stream.hang_up()
                await stream.ended()
                assert stream.waiting == []
            await Event.objects.all().adelete()
            pruned = await session.get(mine.id)
            await django_mcp.anotify_prompts_changed()
            assert await pruned.message() == changed("prompts")

        with patch.object(hubs, "PASS_WITHIN", 5):
            self.play(scenario)

    def test_what_comes_while_the_past_is_read_waits_behind_it(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = await stream.frame()
            stream.hang_up()
            await stream.ended()
            await django_mcp.anotify_tools_changed()
            reading, go_on = asyncio.Event(), asyncio.Event()

            async def slowly(*arguments):
                reading.set()
                await go_on.wait()
                return await run_store(*arguments)

            with patch.object(get_streams, "run_store", slowly):
                opening = asyncio.create_task(session.get(place.id))
                await reading.wait()
                await django_mcp.anotify_prompts_changed()
                await hubs.hub().passed(await sync_to_async(log.position)("default"))
                go_on.set()
                again = await opening
                assert await again.messages(2) == [changed("tools"), changed("prompts")]

        self.play(scenario)

    def test_a_stream_that_began_behind_the_reader_has_what_lies_between(self):
        """The reader may give out events before the loop hears of the number that its stream was given."""

        async def scenario(site):
            session = await site.session()
            other = await site.session()
            watching = await other.get()

            async def then_something_happens(function, *arguments):
                result = await write_store(function, *arguments)
                await django_mcp.anotify_tools_changed()
                await watching.message()
                return result

            with patch.object(get_streams, "write_store", then_something_happens):
                stream = await session.get()
            assert await stream.message() == changed("tools")

        self.play(scenario)
