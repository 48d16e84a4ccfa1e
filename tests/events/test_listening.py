"""Modern subscriptions over HTTP: acknowledged first, nothing unasked for, closed with a result."""

import asyncio
from io import BytesIO
from typing import Any
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import OperationalError, transaction

import django_mcp
from django_mcp.events.hub import Hub, broadcast_of
from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.tail import reader
from django_mcp.models import Event
from django_mcp.transports import sweeps
from django_mcp.transports.streams import open_streams
from tests.events.streaming import FAST, SUBSCRIPTION, StreamTestCase

NOTE = "note://alpha"
STAFF = "static://staff"
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
BEARER = {**FAST, "AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}


def acknowledged(filter, subscription=1):
    return {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": filter, "_meta": {SUBSCRIPTION: subscription}},
    }


def updated(uri, subscription=1):
    return {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": uri, "_meta": {SUBSCRIPTION: subscription}},
    }


def changed(name, subscription=1):
    method = f"notifications/{name}/list_changed"
    return {"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION: subscription}}}


def is_closing(message, subscription=1):
    assert message["id"] == subscription
    assert message["result"]["resultType"] == "complete"
    return message["result"]["_meta"][SUBSCRIPTION] == subscription


class ListenTests(StreamTestCase):
    def test_it_is_acknowledged_first_and_tells_what_was_asked_for(self):
        """SUB-01..05, S244-S246, META-09, PRM-07, W2"""

        async def scenario(site):
            stream = await site.listen({**LISTS, "resourceSubscriptions": [NOTE, NOTE, "no://such", "?", STAFF]})
            assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
            assert await stream.message() == acknowledged({**LISTS, "resourceSubscriptions": [NOTE]})
            await django_mcp.anotify_resource_updated("note://beta")
            await django_mcp.anotify_resource_updated(STAFF)
            await django_mcp.anotify_resource_updated(NOTE, server="another")
            await django_mcp.anotify_resource_updated(NOTE, server="default")
            for name in ("tools", "prompts", "resources"):
                await getattr(django_mcp, f"anotify_{name}_changed")()
            expected = [updated(NOTE), changed("tools"), changed("prompts"), changed("resources")]
            assert await stream.messages(4) == expected
            assert b"id:" not in stream.body

        self.play(scenario)

    def test_what_happens_before_it_is_acknowledged_comes_after_it(self):
        """SUB-10"""
        add = Hub.add

        def add_and_tell(hub, listener):
            add(hub, listener)
            entry = Entry(1, 0, Kind.TOOLS_CHANGED)
            listener.put(entry, broadcast_of(entry))

        async def scenario(site):
            with patch.object(Hub, "add", add_and_tell):
                stream = await site.listen(LISTS)
                assert await stream.messages(2) == [acknowledged(LISTS), changed("tools")]

        self.play(scenario)

    def test_one_event_reaches_clients_of_both_eras(self):
        """SUB-18, S132, S133, W2: every stream that is open, and nobody has to be there."""

        async def scenario(site):
            await django_mcp.anotify_prompts_changed()
            sessions = [await site.session(version) for version in ("2025-11-25", "2024-11-05")]
            legacy = [await session.get() for session in sessions]
            modern = await site.listen(LISTS)
            await modern.message()
            before = await Event.objects.filter(kind=Kind.TOOLS_CHANGED).acount()
            await django_mcp.anotify_tools_changed()
            message = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            assert [await stream.message() for stream in legacy] == [message, message]
            assert await modern.message() == changed("tools")
            assert await Event.objects.filter(kind=Kind.TOOLS_CHANGED).acount() == before + 1

        self.play(scenario)

    def test_an_idle_one_is_kept_alive(self):
        """SUB-16, S249"""

        async def scenario(site):
            with patch.object(sweeps, "KEEP_ALIVE_SECONDS", 0.02), patch.object(sweeps, "SWEEP_EVERY", 0.01):
                stream = await site.listen(LISTS)
                await stream.message()
                await stream._until(lambda: stream.body.count(b"\n: keep-alive\n\n") >= 2)
                assert stream.waiting == []

        self.play(scenario)

    def test_there_are_so_many_and_no_more(self):
        """S248, S249: the place of one that ends is free again."""
        for limit in ("MAX_STREAMS", "MAX_STREAMS_PER_USER"):
            self.settings_of_the_test = {limit: 1}
            self.setUp()

            async def scenario(site):
                first = await site.listen(LISTS)
                await first.message()
                second = await (await site.listen(LISTS)).ended()
                assert (second.status, second.headers["retry-after"]) == (503, "10")
                first.broken = True
                await django_mcp.anotify_tools_changed()
                await first.ended()
                assert (await site.listen(LISTS)).status == 200

            self.play(scenario)

    def test_what_was_not_asked_for_is_not_sent(self):
        """SUB-04"""

        async def scenario(site):
            stream = await site.listen({"promptsListChanged": True, "toolsListChanged": False, "taskIds": ["1"]})
            assert await stream.message() == acknowledged({"promptsListChanged": True})
            await django_mcp.anotify_tools_changed()
            await django_mcp.anotify_resource_updated(NOTE)
            await django_mcp.anotify_prompts_changed()
            assert await stream.message() == changed("prompts")

        self.play(scenario)

    def test_ids_keep_their_type_and_may_be_in_use_elsewhere(self):
        """SUB-03, SUB-11, X9, BL-093; S247 closes the second one at once, which costs a client its news."""

        async def scenario(site):
            ids = [0, "0", 0, "ключ", 9007199254740993]
            listening = [await site.listen({"toolsListChanged": True}, id=one) for one in ids]
            for one, stream in zip(ids, listening, strict=True):
                assert await stream.message() == acknowledged({"toolsListChanged": True}, one)
            await django_mcp.anotify_tools_changed()
            for one, stream in zip(ids, listening, strict=True):
                assert await stream.message() == changed("tools", one)

        self.play(scenario)

    def test_what_honours_nothing_ends_at_once(self):
        """BL-083"""

        async def scenario(site):
            for filter in (
                {},
                {"other": True},
                {"resourceSubscriptions": []},
                {"resourceSubscriptions": ["no://such"]},
            ):
                stream = await site.listen(filter, id="x")
                assert await stream.message() == acknowledged({}, "x")
                assert is_closing(await stream.message(), "x")
                await stream.ended()

        self.play(scenario)

    def test_a_filter_that_is_none_is_refused(self):
        """SUB-01, BL-083"""

        async def scenario(site):
            wrong: list[Any] = [None, [], "all", {"toolsListChanged": 1}, {"resourceSubscriptions": NOTE}]
            wrong += [{"resourceSubscriptions": [5]}, {"resourceSubscriptions": ["a:b"] * 1001}]
            for filter in wrong:
                stream = await (await site.listen(filter)).ended()
                assert stream.status == 400
                assert b"-32602" in stream.body

        self.play(scenario)

    def test_a_client_that_takes_no_stream_is_refused(self):
        async def scenario(site):
            stream = await site.listen(LISTS, Accept="application/json")
            assert stream.status == 406

        self.play(scenario)

    def test_it_ends_with_a_result_when_the_process_does(self):
        """SUB-08, S250, BL-057"""

        async def scenario(site):
            stream = await site.listen(LISTS)
            await stream.message()
            open_streams.end_all()
            assert is_closing(await stream.message())
            await stream.ended()
            assert stream.is_complete

        self.play(scenario)

    def test_nothing_is_sent_after_the_client_has_gone(self):
        """SUB-07, SUB-09: and a new subscription begins with what comes then."""

        async def scenario(site):
            stream = await site.listen(LISTS)
            await stream.message()
            stream.hang_up()
            await stream.ended()
            sent = stream.body
            await django_mcp.anotify_tools_changed()
            again = await site.listen(LISTS)
            await django_mcp.anotify_prompts_changed()
            assert await again.messages(2) == [acknowledged(LISTS), changed("prompts")]
            assert stream.body == sent

        self.play(scenario)

    def test_a_rolled_back_transaction_tells_nothing(self):
        """SUB-17"""

        @sync_to_async
        def write():
            with transaction.atomic():
                django_mcp.notify_tools_changed()
                transaction.set_rollback(True)
            django_mcp.notify_prompts_changed()

        async def scenario(site):
            stream = await site.listen(LISTS)
            await write()
            assert await stream.messages(2) == [acknowledged(LISTS), changed("prompts")]

        self.play(scenario)

    def test_a_subscription_lives_for_a_while(self):
        self.settings_of_the_test = {"STREAM_AGE": 0.01}
        self.setUp()

        async def scenario(site):
            with patch.object(sweeps, "SWEEP_EVERY", 0.01):
                stream = await site.listen(LISTS)
                await stream.message()
                assert is_closing(await stream.message())
                await stream.ended()

        self.play(scenario)

    def test_a_client_that_does_not_read_is_cut_off_and_delays_nobody(self):
        """SUB-12"""
        self.settings_of_the_test = {"STREAM_BUFFER": 2000}
        self.setUp()

        async def scenario(site):
            slow, quick = await site.listen(LISTS, id="slow"), await site.listen(LISTS, id="quick")
            await slow.message(), await quick.message()
            slow.paused = True
            for _ in range(30):
                await django_mcp.anotify_tools_changed()
            assert len(await quick.messages(30)) == 30
            await slow.ended()
            assert not slow.is_complete

        self.play(scenario)

    def test_a_client_that_takes_too_long_is_cut_off(self):
        """SEND_TIMEOUT"""
        self.settings_of_the_test = {"SEND_TIMEOUT": 0.05}
        self.setUp()

        async def scenario(site):
            with patch.object(sweeps, "SWEEP_EVERY", 0.01):
                stream = await site.listen(LISTS)
                await stream.message()
                stream.paused = True
                await django_mcp.anotify_tools_changed()
                await stream.ended()
                assert not stream.is_complete

        self.play(scenario)

    def test_a_last_frame_that_is_not_taken_does_not_hold_the_process(self):
        async def scenario(site):
            stream = await site.listen(LISTS)
            await stream.message()
            stream.paused = True
            await django_mcp.anotify_tools_changed()
            await asyncio.sleep(0.1)
            open_streams.end_all()
            await asyncio.sleep(0.01)
            assert len(open_streams) == 1
            open_streams.abort_all()
            await stream.ended()

        self.play(scenario)

    def test_a_log_that_cannot_be_read_is_told(self):
        async def scenario(site):
            failing = patch.object(reader, "attach", side_effect=OperationalError("away"))
            with failing, self.assertLogs("django_mcp.http", "ERROR"):
                stream = await (await site.listen(LISTS)).ended()
            assert stream.status == 503
            assert (await site.listen(LISTS)).status == 200

        self.play(scenario)

    def test_the_view_serves_it_too(self):
        async def scenario(site):
            stream = await site.listen(LISTS)
            assert await stream.message() == acknowledged(LISTS)
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == changed("tools")
            other = await site.listen(LISTS)
            open_streams.end_all()
            assert is_closing(await stream.message())
            await other.ended()
            left = await site.listen(LISTS)
            await left.message()
            left.hang_up()
            await left.ended()

        async def in_memory(handler, receive):
            return BytesIO((await receive())["body"])

        # Django 5.2 leaves the file of a request open whose client is gone.
        with patch.object(ASGIHandler, "read_body", in_memory):
            self.play(scenario, application=ASGIHandler())
