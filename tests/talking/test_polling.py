"""Clients that a call sends away, and that come back for the rest."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

from django.core.handlers.asgi import ASGIHandler

import django_mcp
from django_mcp.events.kinds import Kind
from django_mcp.events.sessions import SessionStreams
from django_mcp.events.spans import Span
from django_mcp.models import Event, Worker
from django_mcp.testing import MCPClient
from django_mcp.transports.journal import journal_of
from django_mcp.transports.shutdown import detached_exchanges
from tests.events.streaming import FAST
from tests.events.test_get_streams import changed

from .resuming import ResumeTestCase, begin, progress, rest, until
from .resuming_site import resuming, script


class PollingTests(ResumeTestCase):
    """LH-09, LH-10: ``close_sse_stream``"""

    def test_a_tool_sends_its_client_away_and_the_client_comes_back(self):
        """As often as it likes, and nothing is lost or comes twice."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay")
            script.say("a", "close")
            head = await stream.frame()
            await stream.ended()
            assert (stream.is_complete, stream.waiting, len(detached_exchanges)) == (True, [], 1)
            script.say("a", 1, 2)
            again = await session.get(head.id)
            place, *events = [await again.frame() for _ in range(3)]
            assert (place.id, place.data, [frame.data["params"]["progress"] for frame in events]) == (
                head.id,
                None,
                [1, 2],
            )
            script.say("a", 3, "close")
            events += [await again.frame()]
            await again.ended()
            assert again.waiting == []
            script.say("a", 4, None)
            messages = await rest(await session.get(events[-1].id))
            assert progress(messages) == [4]
            assert messages[-1]["result"]["content"][0]["text"] == "done a"
            assert len(detached_exchanges) == 0

        with self.settings(DJANGO_MCP={**FAST, "DETACHED_CALLS": 1}):
            self.play(scenario)

    def test_a_client_stays_while_too_many_are_away(self):
        """DETACHED_CALLS counts those who were sent away like those who went by themselves."""

        async def scenario(site):
            session = await site.session()
            away, stays = (begin(session, "relay", {"name": name}, id=name) for name in "ab")
            script.say("a", "close")
            head = await away.frame()
            await away.ended()
            script.say("b", "close", 1)
            key = (await stays.frame()).id[1:25]
            [recording] = [one for one in journal_of(asyncio.get_running_loop())._recordings.values() if one.key == key]
            await until(lambda: recording.on_saved is None)
            script.say("b", 2)
            assert progress(await stays.messages(2)) == [1, 2]
            assert (stays.is_complete, len(detached_exchanges)) == (False, 1)
            script.say("a", None)
            assert (await rest(await session.get(head.id)))[-1]["id"] == "a"
            await until(lambda: not len(detached_exchanges))
            script.say("b", "close")
            await stays.ended()
            assert len(detached_exchanges) == 1
            script.say("b", None)
            assert (await rest(await session.get(f"p{key}.2")))[-1]["id"] == "b"

        for application in (None, ASGIHandler()):
            with self.settings(DJANGO_MCP={**FAST, "DETACHED_CALLS": 1}):
                self.play(scenario, application=application)

    def test_a_stream_is_not_closed_in_front_of_the_answer(self):
        async def scenario(site):
            session = await site.session()
            stream = begin(session, "leave_at_once")
            head = await stream.frame()
            # The journal may be faster than the tool.
            messages = await rest(stream) or await rest(await session.get(head.id))
            assert messages[-1]["result"]["content"][0]["text"] == "done"

        self.play(scenario)

    def test_nothing_happens_where_no_client_could_come_back(self):
        async def scenario(site):
            for version in ("2025-06-18", "2024-11-05"):
                answer = await (await site.session(version)).call("tools/call", name="leave_at_once")
                assert answer["result"]["content"][0]["text"] == "done"
            session = await site.session(Accept="application/json")
            answer = await session.call("tools/call", name="leave_at_once")
            assert answer["result"]["content"][0]["text"] == "done"

        self.play(scenario)
        assert not Worker.objects.exists()


class StandaloneTests(ResumeTestCase):
    """LH-09, LH-21: ``close_standalone_sse_stream``"""

    def test_a_tool_sends_its_client_away_from_its_get_streams(self):
        """Whichever worker has them, and the client comes back and loses nothing."""

        async def scenario(site):
            foreign, session = await site.session(), await site.session()
            other = await foreign.get()
            for tool in ("poll", "poll_awaited"):
                stream = await session.get()
                head = await stream.frame()
                assert (await session.call("tools/call", name=tool))["result"]["content"][0]["text"] == "done"
                await stream.ended()
                assert (stream.is_complete, stream.waiting) == (True, [])
                await django_mcp.anotify_tools_changed()
                again = await session.get(head.id)
                await django_mcp.anotify_tools_changed()
                for each in (again, other):
                    assert await each.messages(2) == [changed("tools")] * 2
                again.hang_up()
                await again.ended()
            both = [await session.get(), await session.get()]
            await session.call("tools/call", name="poll")
            for stream in both:
                await stream.ended()
            assert not other.is_complete

        self.play(scenario)

    def test_clients_that_could_not_come_back_stay(self):
        """And so do those of a call that fails, whose entries go with the rest."""

        async def scenario(site):
            for version, arguments in (("2025-06-18", {}), ("2025-11-25", {"fails": True})):
                session = await site.session(version)
                stream = await session.get()
                await stream.begun()
                await session.call("tools/call", name="poll", arguments=arguments)
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")
                assert not await Event.objects.filter(kind=Kind.STREAMS_PARTED).aexists()

        self.play(scenario)

    def test_who_has_come_back_meanwhile_is_not_sent_away_again(self):
        """A worker may read the log late."""
        older, newer = (Mock(span=Span("s", str(start), start)) for start in (5, 15))
        streams = SessionStreams(1)
        streams.connections = {"older": older, "newer": newer}
        streams.end_before(10)
        assert (older.end.called, newer.end.called) == (True, False)

    def test_nothing_is_written_where_there_is_no_stream(self):
        for one in (MCPClient(server=resuming, revision="2025-11-25"), MCPClient(server=resuming)):
            for name in ("poll", "poll_awaited"):
                assert one.call_tool(name).text == "done"
        assert not Event.objects.exists()
