"""What open streams ask of the database while nothing happens: the same, however many there are (BL-102)."""

import asyncio
from contextlib import contextmanager
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.db.backends.utils import CursorWrapper

from django_mcp.events import log, tail
from django_mcp.events.hub import hub
from django_mcp.transports import sweeps, upkeep
from tests.events.streaming import FAST, LIMIT, StreamTestCase

LOOKS = 10


@contextmanager
def queries():
    """What is sent to the database meanwhile, on any thread."""
    sent = []
    execute = CursorWrapper.execute

    def noting(cursor, sql, params=None):
        sent.append(sql)
        return execute(cursor, sql, params)

    with patch.object(CursorWrapper, "execute", noting):
        yield sent


class IdleStreamTests(StreamTestCase):
    # The test says when the reader looks, and SQLite has no better way to find that there is nothing new.
    settings_of_the_test = {**FAST, "POLL_INTERVAL": 3600, "DOORBELL": "off"}

    def setUp(self):
        super().setUp()
        self.enterContext(patch.object(tail._Look, "may_show_something", lambda look, rang: True))
        self.enterContext(patch.object(sweeps, "KEEP_ALIVE_SECONDS", 0.01))
        self.enterContext(patch.object(sweeps, "SWEEP_EVERY", 0.01))

    async def open(self, site, count):
        """So many streams of either era, about which everything was read."""
        for _ in range(count):
            await (await site.listen({"toolsListChanged": True})).message()
            await (await site.session()).get()
        await hub().passed(await sync_to_async(log.position)("default"))
        await hub().refresh()

    async def look(self, times):
        """Let the reader look at the log so often."""
        looked = asyncio.Event()
        look = log.look
        loop = asyncio.get_running_loop()

        def noting(alias):
            try:
                return look(alias)
            finally:
                loop.call_soon_threadsafe(looked.set)

        with patch.object(log, "look", noting):
            for _ in range(times):
                looked.clear()
                tail.reader._run._bell.set()  # type: ignore[union-attr]  # it runs
                async with asyncio.timeout(LIMIT):
                    await looked.wait()

    def test_a_look_at_the_log_is_one_query_for_all_of_them(self):
        async def scenario(site):
            for count in (1, 4):
                await self.open(site, count)
                await self.look(1)
                with queries() as sent:
                    await self.look(LOOKS)
                    await self.kept_alive(site)
                assert len(sent) == LOOKS

        self.play(scenario)

    async def kept_alive(self, site):
        """Every stream has got one more keep-alive."""
        for stream in [one for one in site.streams if not one.task.done()]:
            before = stream.body.count(b": keep-alive")
            await stream._until(lambda: stream.body.count(b": keep-alive") > before)  # noqa: B023 - awaited at once

    def test_signs_of_life_and_use_of_sessions_are_noted_for_all_of_them_at_once(self):
        async def scenario(site):
            await self.open(site, 1)
            await upkeep.beat(hub())
            with queries() as few:
                await upkeep.beat(hub())
                await upkeep.touch(hub())
            await self.open(site, 3)
            with queries() as many:
                await upkeep.beat(hub())
                await upkeep.touch(hub())
            assert len(many) == len(few) == 2

        self.play(scenario)
