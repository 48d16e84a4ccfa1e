"""GET streams of a worker that was killed: it closes nothing, so another one does."""

import asyncio
from datetime import datetime
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.db import OperationalError

import django_mcp
from django_mcp.events import legacy, log, workers
from django_mcp.events.hub import hub
from django_mcp.events.workers import SILENT, Watch
from django_mcp.models import Event, Session, StreamSpan, Worker
from django_mcp.transports import upkeep
from tests.events.streaming import LIMIT, StreamTestCase
from tests.events.test_get_streams import changed, until_closed


def test_a_worker_is_gone_whose_last_sign_of_life_stays_the_same():
    watch = Watch()
    once, again = datetime(2026, 1, 1), datetime(2026, 1, 2)
    for _ in range(SILENT):
        assert watch.gone({"a": once, "b": None}) == []
    assert watch.gone({"a": again, "b": None}) == ["b"]
    for _ in range(SILENT - 1):
        assert watch.gone({"a": again}) == []
    assert watch.gone({"a": again}) == ["a"]


def test_a_worker_is_given_its_time_after_nobody_has_looked():
    watch = Watch()
    watch.gone({"a": None})
    watch.gone({})
    for _ in range(SILENT):
        assert watch.gone({"a": None}) == []


class GoneWorkerTests(StreamTestCase):
    async def open_elsewhere(self):
        """A connection of the session at another worker."""
        session = await Session.objects.aget()
        with patch.object(workers.this, "key", "another"):
            await sync_to_async(legacy.open_span)(session.pk, None)

    async def look(self, times=SILENT + 1):
        for _ in range(times):
            await upkeep.beat(hub())

    def test_events_go_to_the_stream_that_is_left(self):
        """LH-19, BL-024: of its two streams the client has lost one, and does not come back to it."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            await self.open_elsewhere()
            await self.look()
            await until_closed(1)
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == changed("tools")

        self.play(scenario)

    def test_a_stream_that_is_resumed_later_has_missed_nothing(self):
        """LH-24: the client began anew at this worker, and lost its new stream too, for a moment."""

        async def scenario(site):
            session = await site.session()
            await self.open_elsewhere()
            stream = await session.get()
            place = await stream.frame()
            await self.look()
            stream.hang_up()
            await stream.ended()
            await asyncio.gather(*upkeep._tasks)
            await django_mcp.anotify_tools_changed()
            again = await session.get(place.id)
            assert await again.message() == changed("tools")

        self.play(scenario)

    def test_a_worker_that_gives_signs_of_life_keeps_its_connections(self):
        async def scenario(site):
            session = await site.session()
            await session.get()
            await self.open_elsewhere()
            for _ in range(3):
                await sync_to_async(workers.beat)("another")
                await self.look(SILENT)
            assert await StreamSpan.objects.filter(end=None).acount() == 2

        self.play(scenario)

    def test_a_worker_is_given_its_time_after_the_database_was_away(self):
        """Neither could it give a sign of life meanwhile, however long that was."""

        async def scenario(site):
            await (await site.session()).get()
            await self.open_elsewhere()
            await self.look(1)
            with patch.object(workers, "beats", side_effect=OperationalError("away")):
                for _ in range(2 * SILENT):
                    with self.assertRaises(OperationalError):
                        await upkeep.beat(hub())
            await self.look(1)
            assert await StreamSpan.objects.filter(end=None).acount() == 2

        self.play(scenario)

    def test_a_worker_with_legacy_streams_gives_signs_of_life(self):
        async def scenario(site):
            await (await site.listen({"toolsListChanged": True})).message()
            await upkeep.beat(hub())
            assert not await Worker.objects.aexists()
            await (await site.session()).get()
            await upkeep.beat(hub())
            first = await Worker.objects.aget(pk=workers.this.key)
            await upkeep.beat(hub())
            assert (await Worker.objects.aget()).beat > first.beat

        self.play(scenario)

    def test_a_stream_whose_worker_was_taken_for_dead_ends_and_is_resumed(self):
        """Its connection owns nothing any more, so what comes then waits for the client to come back."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = await stream.frame()
            span = await StreamSpan.objects.aget()
            await sync_to_async(legacy.close_span)(span.session_id, span.connection)
            await stream.ended()
            await django_mcp.anotify_tools_changed()
            again = await session.get(place.id)
            assert await again.message() == changed("tools")
            assert await Event.objects.filter(kind="stream.closed").acount() == 1

        self.play(scenario)

    def test_rows_that_cannot_be_read_for_it_end_no_stream(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            await hub().passed(await sync_to_async(log.position)("default"))
            away = patch.object(legacy, "load", side_effect=OperationalError("away"))
            with away, patch("django_mcp.events.hub._PAUSES", ()), self.assertRaises(OperationalError):
                await upkeep.beat(hub())
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == changed("tools")

        self.play(scenario)


class TimerTests(StreamTestCase):
    def test_it_goes_on_until_there_are_no_streams(self):
        async def scenario(site):
            stream = await (await site.session()).get()
            worked = asyncio.Event()

            async def work(here):
                worked.set()

            timer = upkeep.Timer(lambda: 0.001, work)
            timer.start(hub())
            timer.start(hub())
            async with asyncio.timeout(LIMIT):
                for _ in range(3):
                    await worked.wait()
                    worked.clear()
                stream.hang_up()
                await stream.ended()
                while hub() in timer._running:
                    await asyncio.sleep(0.001)

        self.play(scenario)
