"""Streams by themselves: what is put into them, and what ends them."""

import asyncio
import threading
from unittest.mock import Mock, patch

from django.db import OperationalError
from django.test import SimpleTestCase, TransactionTestCase

from django_mcp.conf import mcp_settings
from django_mcp.consumers import _disconnected
from django_mcp.consumers import stream as consumer_stream
from django_mcp.events import hub as hubs
from django_mcp.events.sessions import SessionStreams
from django_mcp.events.spans import Span
from django_mcp.transports import get_streams, streams, sweeps, upkeep
from django_mcp.transports.stdio_events import SessionNews
from django_mcp.transports.streams import OpenStreams

LIMIT = 30


class Door:
    """Takes what is sent; its client never leaves."""

    def __init__(self, fault=None):
        self.sent = []
        self.fault = fault

    async def send(self, message):
        if self.fault:
            raise self.fault
        self.sent.append(message["body"])

    async def take(self, message):
        self.sent.append(message)

    async def receive(self):
        await asyncio.Event().wait()


class StreamTests(SimpleTestCase):
    def setUp(self):
        self.streams = OpenStreams()

    def open(self):
        return self.streams.open("user:1", mcp_settings())

    def run_in_a_loop(self, steps):
        async def run():
            async with asyncio.timeout(LIMIT):
                return await steps()

        return asyncio.run(run())

    def test_several_frames_go_out_as_one_chunk(self):
        async def steps():
            stream, door = self.open(), Door()
            for frame in (b"a", b"b", b"c"):
                stream.put(frame)
            stream.end()
            stream.end()
            stream.put(b"too late")
            await stream.serve(door.receive, door.send)
            return door.sent

        assert self.run_in_a_loop(steps) == [b"abc", b""]
        assert len(self.streams) == 0

    def test_large_frames_go_out_one_by_one(self):
        frames = [letter * streams.MAX_CHUNK for letter in (b"a", b"b")]

        async def steps():
            stream, door = self.open(), Door()
            for frame in frames:
                stream.put(frame)
            stream.end()
            await stream.serve(door.receive, door.send)
            return door.sent

        assert self.run_in_a_loop(steps) == [*frames, b""]

    def test_a_stream_that_is_closed_before_it_is_served_sends_nothing(self):
        async def steps():
            stream, door = self.open(), Door()
            stream.put(b"a")
            stream.abort()
            await stream.serve(door.receive, door.send)
            return door.sent

        assert self.run_in_a_loop(steps) == []

    def test_a_client_that_is_gone_ends_it(self):
        """Some servers say so when something is sent."""

        async def steps():
            stream, door = self.open(), Door(ConnectionResetError())
            stream.put(b"a")
            await stream.serve(door.receive, door.send)

        self.run_in_a_loop(steps)
        assert len(self.streams) == 0

    def test_a_client_that_is_gone_is_noticed_once(self):
        """Whoever runs the door takes a second cancellation for one of its own."""

        async def steps():
            stream, door = self.open(), Door()
            serving = asyncio.create_task(stream.serve(door.receive, door.send))
            await asyncio.sleep(0)
            door.fault = ConnectionResetError()
            stream.put(b"a")
            stream.put(b"b")
            await serving
            assert serving.cancelling() == 0

        self.run_in_a_loop(steps)

    def test_a_stream_that_is_over_at_once_cancels_nothing_that_comes_after_it(self):
        """A server that has sent everything says at once that the client is gone, so nobody waits for that."""

        async def steps():
            stream, door = self.open(), Door()
            stream.put(b"a")
            stream.end()

            async def receive():
                if b"" not in door.sent:
                    await door.receive()
                return {"type": "http.disconnect"}  # pragma: no cover - for those who ask though all is sent

            async def application():
                await stream.serve(receive, door.send)
                await asyncio.sleep(0)
                return door.sent

            return await asyncio.create_task(application())

        assert self.run_in_a_loop(steps) == [b"a", b""]

    def test_a_stream_that_cannot_be_sent_ends(self):
        """What is sent goes through what the site has put around the application."""

        async def steps():
            stream, door = self.open(), Door(ZeroDivisionError())
            serving = asyncio.create_task(stream.serve(door.receive, door.send))
            await asyncio.sleep(0)
            with self.assertLogs("django_mcp.http", "ERROR"):
                stream.put(b"a")
                await serving

        self.run_in_a_loop(steps)
        assert len(self.streams) == 0

    def test_the_end_of_its_task_is_its_own_end(self):
        async def steps():
            stream, door = self.open(), Door()
            serving = asyncio.create_task(consumer_stream([], stream, door.receive, door.take))
            await asyncio.sleep(0)
            serving.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await serving
            assert not stream.is_open

        self.run_in_a_loop(steps)

    def test_it_may_be_closed_on_any_thread(self):
        """Django closes its responses on one."""

        async def steps():
            stream, closed = self.open(), asyncio.Event()
            threads = []

            def note():
                threads.append(threading.current_thread())
                closed.set()

            stream.on_close = note
            await asyncio.to_thread(stream.close)
            await closed.wait()
            assert threads == [threading.current_thread()]

        self.run_in_a_loop(steps)

    def test_streams_of_a_loop_that_has_ended_give_their_places_back(self):
        async def leave_behind():
            self.open()

        self.run_in_a_loop(leave_behind)
        assert len(self.streams) == 1

        async def steps():
            stream = self.open()
            assert len(self.streams) == 1
            stream.close()

        self.run_in_a_loop(steps)

    def test_a_user_may_begin_anew_in_another_loop(self):
        async def open_all():
            for _ in range(mcp_settings().max_streams_per_user):
                self.open()
            return len(self.streams)

        assert self.run_in_a_loop(open_all) == self.run_in_a_loop(open_all)

    def test_nothing_is_swept_where_nothing_is_open(self):
        async def steps():
            with patch.object(sweeps, "SWEEP_EVERY", 0.001):
                self.open().close()
                [sweep] = self.streams._sweeps.values()
                while sweep._timer:
                    await asyncio.sleep(0.001)

        self.run_in_a_loop(steps)

    def test_only_a_disconnect_is_one(self):
        messages = [{"type": "http.disconnect"}, {"type": "http.request"}]

        async def receive():
            return messages.pop()

        async def steps():
            await _disconnected(receive)

        self.run_in_a_loop(steps)
        assert messages == []


class EndTests(TransactionTestCase):
    def test_a_connection_of_an_ended_loop_is_not_noted(self):
        async def nothing():
            return hubs.Hub(asyncio.get_running_loop())

        here = asyncio.run(nothing())
        span = Span("a", "b", 1)
        connection = get_streams.GetStream.__new__(get_streams.GetStream)
        connection.span = span
        connection.access = Mock(lists=())
        here._members = 1
        here.sessions["1"] = streams = SessionStreams(1)
        streams.connections["b"] = connection
        here.add(streams)
        get_streams._close(here, 1, connection)
        assert not upkeep._tasks
        assert len(here) == 0

    def test_news_that_nobody_follows_end_at_once(self):
        async def steps():
            news = SessionNews(Mock(lists=()), print, [])
            news.end()

        asyncio.run(steps())

    def test_news_that_could_not_be_followed_are_followed_at_the_next_try(self):
        """And who else follows the log is not taken for gone."""

        async def steps():
            here = hubs.hub()
            await here.join()
            news = SessionNews(Mock(lists=()), print, [])
            with patch.object(here, "join", side_effect=OperationalError("away")):
                with self.assertRaises(OperationalError):
                    await news.follow()
                news.end()
            assert here._members == 1
            await news.follow()
            assert here._members == 2
            news.end()
            here.leave()
            assert here._members == 0

        asyncio.run(steps())
