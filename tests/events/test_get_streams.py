"""GET streams of legacy sessions: each event once, and on one stream."""

import asyncio
import json
import re
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.db import OperationalError

import django_mcp
from django_mcp import default_server
from django_mcp.events import hub as hubs
from django_mcp.events import legacy, log
from django_mcp.events.tail import reader
from django_mcp.models import StreamSpan
from django_mcp.transports import upkeep
from django_mcp.transports.streams import open_streams
from tests.events.streaming import StreamTestCase

A, B = "note://alpha", "note://beta"
OTHER = "0123456789abcdef"


def updated(uri):
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


def changed(name):
    return {"jsonrpc": "2.0", "method": f"notifications/{name}/list_changed"}


update = django_mcp.anotify_resource_updated


class SubscribeTests(StreamTestCase):
    """BL-025, RES-09, RES-11, S135, W3"""

    def test_only_subscribers_hear_of_an_update_and_once(self):
        """S115, S117, S118: who subscribed is ours to know."""

        async def scenario(site):
            sessions = [await site.session() for _ in range(3)]
            streams = [await session.get() for session in sessions]
            for uri in (A, A):
                assert (await sessions[0].call("resources/subscribe", uri=uri))["result"] == {}
            await sessions[1].call("resources/subscribe", uri=B)
            await update(A)
            await update(B)
            await django_mcp.anotify_tools_changed()
            assert await streams[0].messages(2) == [updated(A), changed("tools")]
            assert await streams[1].messages(2) == [updated(B), changed("tools")]
            assert await streams[2].message() == changed("tools")

        self.play(scenario)

    def test_nobody_hears_of_a_list_that_the_server_does_not_have(self):
        """X24: its capability was not declared."""

        async def scenario(site):
            with patch.object(type(default_server), "has_prompts", False):
                stream = await (await site.session()).get()
                await django_mcp.anotify_prompts_changed()
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")

        self.play(scenario)

    def test_nothing_comes_after_unsubscribing(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            await session.call("resources/subscribe", uri=A)
            await update(A)
            assert await stream.message() == updated(A)
            for _ in range(2):
                assert (await session.call("resources/unsubscribe", uri=A))["result"] == {}
            await update(A)
            await django_mcp.anotify_prompts_changed()
            assert await stream.message() == changed("prompts")

        self.play(scenario)

    def test_what_the_user_cannot_read_is_as_unknown_as_what_is_not_there(self):
        """RES-15, RES-07"""

        async def scenario(site):
            session = await site.session()
            for uri in ("static://staff", "no://such", "no uri"):
                error = (await session.call("resources/subscribe", uri=uri))["error"]
                assert (error["code"], error["data"]) == (-32002, {"uri": uri})
            assert (await session.call("resources/subscribe"))["error"]["code"] == -32602

        self.play(scenario)

    def test_a_session_has_so_many_subscriptions_and_no_more(self):
        async def scenario(site):
            session = await site.session()
            with patch.object(legacy, "MAX_SUBSCRIPTIONS", 1):
                await session.call("resources/subscribe", uri=A)
                await session.call("resources/subscribe", uri=A)
                error = (await session.call("resources/subscribe", uri=B))["error"]
            assert error["code"] == -32602
            assert "unsubscribe" in error["message"]

        self.play(scenario)


class EarlyTests(StreamTestCase):
    def test_nothing_is_told_before_the_client_is_ready(self):
        """INIT-08: and what was not told then is not told later."""

        async def scenario(site):
            session = await site.session(is_ready=False)
            stream = await session.get()
            place = await stream.frame()
            await session.call("resources/subscribe", uri=A)
            await update(A)
            await django_mcp.anotify_tools_changed()
            early = await session.get(place.id)
            await early.frame()
            await session.notify("notifications/initialized")
            await django_mcp.anotify_prompts_changed()
            assert await early.message() == changed("prompts")
            assert stream.waiting == []

        self.play(scenario)


class StreamTests(StreamTestCase):
    def test_it_carries_what_belongs_to_no_request_and_never_an_answer(self):
        """LH-17, LH-18, S134: what a call tells goes out on the stream of the call alone."""

        async def tell(context: django_mcp.Context) -> str:
            await context.areport_progress(1)
            await context.alog("error", "careful")
            await context.anotify_tools_changed()
            return "told"

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            message = {
                "jsonrpc": "2.0",
                "id": 7,
                "method": "tools/call",
                "params": {"name": "tell", "arguments": {}, "_meta": {"progressToken": "t"}},
            }
            call = await site.request("POST", session.headers, json.dumps(message).encode()).ended()
            told = [one.get("method", one.get("id")) for one in call.waiting]
            assert told == ["notifications/progress", "notifications/message", 7]
            assert await stream.message() == changed("tools")
            await django_mcp.anotify_prompts_changed()
            assert await stream.message() == changed("prompts")

        with django_mcp.default_server.registry.override():
            django_mcp.default_server.define_tool(tell)
            self.play(scenario)

    def test_its_connection_may_be_closed_by_either_side_while_it_lives_on(self):
        """LH-09, LH-21: here by us, as for its age."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = await stream.frame()
            open_streams.end_all()
            await stream.ended()
            assert stream.is_complete
            await django_mcp.anotify_tools_changed()
            again = await session.get(place.id)
            assert await again.message() == changed("tools")

        self.play(scenario)

    def test_a_connection_that_breaks_takes_nothing_with_it(self):
        """S139, which ends the whole session: here the stream is resumed, and others go on."""

        async def scenario(site):
            session = await site.session()
            other = await (await site.session()).get()
            stream = await session.get()
            place = await stream.frame()
            stream.broken = True
            await django_mcp.anotify_tools_changed()
            assert await other.message() == changed("tools")
            await stream.ended()
            again = await session.get(place.id)
            assert await again.message() == changed("tools")

        self.play(scenario)

    def test_ids_name_the_stream_and_the_event(self):
        """LH-08, LH-10, LH-22, LH-23, W4"""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            first = await stream.frame()
            assert re.fullmatch(r"g[0-9a-f]{16}\.\d+", first.id)
            assert first.lines[1:] == ["retry: 2000", "data: "]
            await django_mcp.anotify_tools_changed()
            second = await stream.frame()
            assert second.id.partition(".")[0] == first.id.partition(".")[0]
            assert int(second.id.partition(".")[2]) > int(first.id.partition(".")[2])

        self.play(scenario)

    def test_older_clients_get_no_event_without_data(self):
        """BL-107"""

        async def scenario(site):
            for version in ("2025-06-18", "2025-03-26"):
                session = await site.session(version)
                stream = await session.get()
                assert await stream.begun() == b": stream open\n\nretry: 2000\n\n"
                await django_mcp.anotify_tools_changed()
                assert await stream.message() == changed("tools")

        self.play(scenario)

    def test_an_event_goes_out_on_one_of_several_streams(self):
        """LH-19, LH-20, BL-024: the newest; when that is gone, the one before it."""

        async def scenario(site):
            session = await site.session()
            older = await session.get()
            newer = await session.get()
            await django_mcp.anotify_tools_changed()
            assert await newer.message() == changed("tools")
            newer.hang_up()
            await newer.ended()
            await until_closed(1)
            await django_mcp.anotify_prompts_changed()
            assert await older.message() == changed("prompts")
            assert newer.waiting == []

        self.play(scenario)

    def test_a_stream_ends_with_its_session(self):
        """LH-15: on whichever worker it is."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            assert (await site.request("DELETE", session.headers).ended()).status == 204
            await stream.ended()
            assert stream.is_complete

        self.play(scenario)

    def test_a_reader_that_is_stuck_is_told(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = await stream.frame()
            with patch.object(hubs.Hub, "passed", side_effect=TimeoutError):
                stuck = await (await session.get(place.id)).ended()
            assert (stuck.status, stuck.headers["retry-after"]) == (503, "1")

        self.play(scenario)

    def test_a_log_that_cannot_be_written_is_told(self):
        async def scenario(site):
            session = await site.session()
            for target, name in ((reader, "attach"), (legacy, "open_span")):
                failing = patch.object(target, name, side_effect=OperationalError("away"))
                with failing, self.assertLogs("django_mcp.http", "ERROR"):
                    assert (await (await session.get()).ended()).status == 503

        self.play(scenario)

    def test_rows_that_cannot_be_read_end_the_streams(self):
        """They come back, and what they missed is replayed."""

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            place = await stream.frame()
            with (
                patch.object(legacy, "load", side_effect=OperationalError("away")),
                patch.object(hubs, "_PAUSES", (0.001,)),
                self.assertLogs("django_mcp.events", "WARNING"),
            ):
                await django_mcp.anotify_tools_changed()
                await stream.ended()
            again = await session.get(place.id)
            assert await again.message() == changed("tools")

        self.play(scenario)

    def test_a_span_whose_end_cannot_be_noted_is_left(self):
        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            with (
                patch.object(legacy, "close_span", side_effect=OperationalError("away")),
                self.assertLogs("django_mcp.http", "WARNING"),
            ):
                stream.hang_up()
                await stream.ended()
                await asyncio.wait(set(upkeep._tasks))

        self.play(scenario)


async def until_closed(count):
    """The ends of so many connections have been written, and heard of."""
    ended = 0
    async with asyncio.timeout(30):
        while ended < count:
            await asyncio.sleep(0.05)
            ended = await StreamSpan.objects.exclude(end=None).acount()
    await hubs.hub().passed(await sync_to_async(log.position)("default"))
