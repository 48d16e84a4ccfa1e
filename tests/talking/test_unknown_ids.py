"""Clients that come back to streams of calls that nobody knows: they cost no more than their places."""

from __future__ import annotations

from unittest.mock import patch

from django.db import OperationalError

from django_mcp.events import call_streams
from django_mcp.transports import post_streams
from django_mcp.transports.event_ids import POST, event_id
from django_mcp.transports.recording import new_key
from django_mcp.transports.streams import open_streams
from tests.events.streaming import FAST

from .resuming import ResumeTestCase, until

ONE = {**FAST, "MAX_STREAMS_PER_USER": 1}


class UnknownIdTests(ResumeTestCase):
    """LH-27"""

    def test_whoever_is_looked_for_has_a_place_already(self):
        """SUB-12: made-up ids are refused without a look where there are too many streams."""

        async def scenario(site):
            session = await site.session()
            with patch.object(call_streams, "find", return_value=None) as find:
                first = site.request("GET", {**session.headers, "Last-Event-ID": made_up()})
                await until(lambda: find.called)
                second = await session.get(made_up())
                assert second.status == 503
                assert len({call.args for call in find.call_args_list}) == 1
                with patch.object(post_streams, "KNOWN_WITHIN", 0):
                    assert (await first.frame()).id.startswith("g")
            third = await session.get(made_up())
            assert (third.status, third.headers["retry-after"]) == (503, "10")
            first.hang_up()
            await first.ended()
            with patch.object(post_streams, "KNOWN_WITHIN", 0):
                fourth = await session.get(made_up())
            assert (await fourth.frame()).id.startswith("g")

        with self.settings(DJANGO_MCP=ONE):
            self.play(scenario)

    def test_whoever_cannot_be_looked_for_gives_the_place_back(self):
        async def scenario(site):
            session = await site.session()
            with patch.object(call_streams, "find", side_effect=OperationalError("away")):
                assert (await (await session.get(made_up())).ended()).status == 503
            with patch.object(post_streams, "KNOWN_WITHIN", 0):
                opened = await session.get(made_up())
            assert (await opened.frame()).id.startswith("g")

        with self.settings(DJANGO_MCP=ONE):
            self.play(scenario)

    def test_clocks_of_other_machines_may_be_ahead_but_not_far(self):
        async def scenario(site):
            session = await site.session()
            for ages, looks in (([-1.9, 9.9, 10.1], 3), ([-2.1], 1)):
                with (
                    patch.object(call_streams, "find", return_value=None) as find,
                    patch.object(post_streams, "age_of", side_effect=ages),
                ):
                    opened = await session.get(made_up())
                assert find.call_count == looks
                assert (await opened.frame()).id.startswith("g")

        self.play(scenario)

    def test_a_process_that_ends_looks_no_longer(self):
        async def scenario(site):
            session = await site.session()
            with patch.object(call_streams, "find", return_value=None) as find:
                stream = site.request("GET", {**session.headers, "Last-Event-ID": made_up()})
                await until(lambda: find.called)
                open_streams.end_all()
                await stream.ended()
            assert (stream.is_complete, stream.waiting) == (True, [])

        self.play(scenario)


def made_up() -> str:
    return event_id(POST, new_key(), 1)
