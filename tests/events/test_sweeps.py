"""What streams need while nothing happens: looked at by a clock that a test turns."""

import asyncio
from types import SimpleNamespace
from unittest.mock import Mock, patch

from django.test import SimpleTestCase

from django_mcp.conf import MCPSettings
from django_mcp.transports import streams, sweeps
from django_mcp.transports.sse import KEEP_ALIVE
from django_mcp.transports.streams import START_WITHIN, OpenStreams
from django_mcp.transports.sweeps import AT_A_TIME, KEEP_ALIVE_SECONDS, SWEEP_EVERY
from tests.events.test_open_streams import LIMIT, Door

CONF = MCPSettings(max_streams=1000, max_streams_per_user=1000, stream_age=100.0, send_timeout=5.0)


async def settle():
    """Let tasks that wait for nothing do what they have to do."""
    for _ in range(4):
        await asyncio.sleep(0)


class SlowDoor(Door):
    """Its client takes nothing until it is told to."""

    def __init__(self):
        super().__init__()
        self.taken = asyncio.Event()

    async def send(self, message):
        await self.taken.wait()
        await super().send(message)


class SweepTests(SimpleTestCase):
    def setUp(self):
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: 1_000_000 + self.now)
        for module in (streams, sweeps):
            self.enterContext(patch.object(module, "time", clock))
        self.streams = OpenStreams()

    def run_in_a_loop(self, steps):
        async def run():
            async with asyncio.timeout(LIMIT):
                await steps()
                for stream in self.streams._all():
                    stream.abort()
                await asyncio.sleep(0)

        asyncio.run(run())

    async def serve(self, door, conf=CONF):
        stream = self.streams.open("user:1", conf)
        task = asyncio.create_task(stream.serve(door.receive, door.send))
        await asyncio.sleep(0)
        return stream, task

    async def sweep(self, seconds=SWEEP_EVERY):
        """Let time pass, a second a sweep, and what it calls for happen."""
        until = self.now + seconds
        while self.now < until:
            self.now += SWEEP_EVERY
            for sweep in self.streams._sweeps.values():
                sweep._run()
            await settle()

    def test_an_idle_stream_is_looked_at_only_when_its_keep_alive_is_due(self):
        async def steps():
            door = Door()
            await self.serve(door)
            [sweep] = self.streams._sweeps.values()
            await self.sweep()
            assert sweep._watched == set()
            await self.sweep(KEEP_ALIVE_SECONDS - 2 * SWEEP_EVERY)
            assert door.sent == []
            for count in (1, 2, 3):
                await self.sweep()
                assert door.sent == [KEEP_ALIVE] * count
                await self.sweep(KEEP_ALIVE_SECONDS - SWEEP_EVERY)
            assert sweep._watched == set()

        self.run_in_a_loop(steps)

    def test_so_many_keep_alives_are_sent_before_others_get_their_turn(self):
        async def steps():
            door = Door()
            for _ in range(AT_A_TIME + 1):
                await self.serve(door)
            self.now += KEEP_ALIVE_SECONDS
            [sweep] = self.streams._sweeps.values()
            sweep._run()
            assert sum(stream.keep_alive_at > self.now for stream in sweep.streams) == AT_A_TIME
            await settle()
            assert len(door.sent) == AT_A_TIME + 1

        self.run_in_a_loop(steps)

    def test_a_stream_that_has_long_been_idle_ends_in_time(self):
        async def steps():
            stream, task = await self.serve(Door())
            await self.sweep(CONF.stream_age - SWEEP_EVERY)
            assert stream.is_open
            await self.sweep()
            assert not stream.is_open
            await task

        self.run_in_a_loop(steps)

    def test_a_client_that_takes_nothing_gets_no_keep_alive_and_is_cut_off(self):
        """SEND_TIMEOUT"""

        async def steps():
            door = SlowDoor()
            stream, task = await self.serve(door, MCPSettings(send_timeout=2 * KEEP_ALIVE_SECONDS))
            await self.sweep(KEEP_ALIVE_SECONDS + SWEEP_EVERY)
            stream.put(b"news")
            await self.sweep(KEEP_ALIVE_SECONDS)
            assert stream._size == len(b"news")
            assert stream.is_open
            await self.sweep(KEEP_ALIVE_SECONDS)
            assert stream.is_aborted
            await asyncio.wait([task])
            assert door.sent == []

        self.run_in_a_loop(steps)

    def test_a_client_that_took_its_time_is_not_watched_for_ever(self):
        async def steps():
            door = SlowDoor()
            stream, _ = await self.serve(door)
            [sweep] = self.streams._sweeps.values()
            stream.put(b"a")
            await self.sweep()
            assert sweep._watched == {stream}
            stream.put(b"b")
            door.taken.set()
            await settle()
            assert door.sent == [b"a", b"b"]
            await self.sweep(CONF.send_timeout + SWEEP_EVERY)
            assert stream.is_open
            assert sweep._watched == set()

        self.run_in_a_loop(steps)

    def test_a_client_has_the_time_for_every_chunk_anew(self):
        async def steps():
            door = SlowDoor()
            stream, _ = await self.serve(door)
            for chunk in (b"a", b"b"):
                stream.put(chunk)
            for sent in ([b"a"], [b"a", b"b"]):
                await self.sweep(CONF.send_timeout - SWEEP_EVERY)
                door.taken.set()
                door.taken.clear()
                await settle()
                assert door.sent == sent
            assert stream.is_open

        self.run_in_a_loop(steps)

    def test_a_client_that_does_not_take_the_end_is_cut_off(self):
        async def steps():
            door = SlowDoor()
            stream, task = await self.serve(door)
            stream.end()
            await settle()
            await self.sweep(CONF.send_timeout + SWEEP_EVERY)
            assert stream.is_aborted
            await asyncio.wait([task])

        self.run_in_a_loop(steps)

    def test_a_door_that_does_not_begin_gives_its_place_back(self):
        """BL-058"""

        async def steps():
            self.streams.open("user:1", CONF)
            await self.sweep(START_WITHIN)
            assert len(self.streams) == 1
            await self.sweep()
            assert len(self.streams) == 0

        self.run_in_a_loop(steps)

    def test_a_last_frame_that_cannot_be_made_keeps_no_stream_from_its_end(self):
        async def steps():
            for _ in range(2):
                stream, _ = await self.serve(Door())
                stream.farewell = Mock(side_effect=ValueError)
            [sweep] = self.streams._sweeps.values()
            self.now += CONF.stream_age
            with self.assertLogs("django_mcp.http", "ERROR"):
                sweep._run()
            assert not any(stream.is_open for stream in sweep.streams)

        self.run_in_a_loop(steps)

    def test_each_stream_has_the_patience_of_its_own_server(self):
        async def steps():
            doors = [SlowDoor(), SlowDoor()]
            hasty, _ = await self.serve(doors[0], MCPSettings(send_timeout=1.0))
            patient, _ = await self.serve(doors[1], MCPSettings(send_timeout=50.0))
            for stream in (hasty, patient):
                stream.put(b"a")
            await self.sweep(10 * SWEEP_EVERY)
            assert [hasty.is_aborted, patient.is_aborted] == [True, False]

        self.run_in_a_loop(steps)
