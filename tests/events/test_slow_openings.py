"""Streams that are given up, by their clients or by us, while the database takes its time to open them."""

import asyncio
from functools import partial

from django.core.handlers.asgi import ASGIHandler

from django_mcp.events import legacy
from django_mcp.events.hub import hub
from django_mcp.events.tail import reader
from django_mcp.models import Session, StreamSpan
from django_mcp.transports import upkeep
from django_mcp.transports.streams import open_streams
from tests.events.streaming import LIMIT, StreamTestCase
from tests.events.test_listening import LISTS
from tests.threads import held_up


async def settled():
    async with asyncio.timeout(LIMIT):
        while upkeep._tasks:
            await asyncio.wait(set(upkeep._tasks))


async def leave_while_it_opens(site, meanwhile):
    """Django cancels the view, and the thread goes on."""
    session = await site.session()
    with held_up(legacy, "open_span") as (begun, go_on, done):
        opening = asyncio.create_task(session.get())
        assert await asyncio.to_thread(begun.wait, LIMIT)
        site.streams[-1].hang_up()
        await site.streams[-1].ended()
        opening.cancel()
        await meanwhile()
        go_on.set()
        assert await asyncio.to_thread(done.wait, LIMIT)
    await settled()


class SlowOpeningTests(StreamTestCase):
    def test_a_subscription_that_was_given_up_joins_nothing(self):
        async def scenario(site):
            with held_up(reader, "attach") as (begun, go_on, _):
                opening = asyncio.create_task(site.listen(LISTS))
                assert await asyncio.to_thread(begun.wait, LIMIT)
                open_streams._all()[0].abort()
                go_on.set()
                assert (await opening).status == 503
            assert len(hub()) == 0
            assert not reader.is_running

        self.play(scenario)

    def test_a_get_stream_that_was_given_up_owns_nothing(self):
        async def scenario(site):
            session = await site.session()
            with held_up(legacy, "open_span") as (begun, go_on, _):
                opening = asyncio.create_task(session.get())
                assert await asyncio.to_thread(begun.wait, LIMIT)
                open_streams._all()[0].abort()
                go_on.set()
                assert (await opening).status == 503
            await settled()
            assert not hub().sessions
            assert not reader.is_running
            assert not await StreamSpan.objects.filter(end=None).aexists()

        self.play(scenario)

    def test_a_get_stream_whose_client_did_not_wait_owns_nothing(self):
        async def scenario(site):
            await leave_while_it_opens(site, partial(asyncio.sleep, 0))
            assert await StreamSpan.objects.aexists()
            assert not await StreamSpan.objects.filter(end=None).aexists()

        self.play(scenario, application=ASGIHandler())

    def test_nothing_is_undone_where_the_session_had_ended_meanwhile(self):
        async def scenario(site):
            await leave_while_it_opens(site, Session.objects.all().adelete)
            assert not await StreamSpan.objects.aexists()

        self.play(scenario, application=ASGIHandler())
