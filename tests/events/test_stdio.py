"""What a stdio client hears of: subscriptions of either era, on the one channel it has (SUB-06)."""

import asyncio
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.db import OperationalError

import django_mcp
from django_mcp import default_server
from django_mcp.events.tail import reader
from django_mcp.transports import stdio_session
from django_mcp.transports.stdio_identity import Anonymous, NamedUser
from tests.events.streaming import LIMIT, StreamTestCase
from tests.events.test_get_streams import changed as told
from tests.events.test_get_streams import updated as told_of
from tests.events.test_listening import acknowledged, changed, is_closing, updated
from tests.stdio.client import LEGACY, StdioClient, greeting

A, STAFF = "note://alpha", "static://staff"
ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": [A]}


class StdioTestCase(StreamTestCase):
    def talk(self, steps, identity=None):
        async def run():
            client = StdioClient(default_server, identity or Anonymous())
            async with asyncio.timeout(4 * LIMIT):
                await steps(client)
                await client.exchange.drain(LIMIT)
            assert not reader.is_running

        asyncio.run(run())


class ModernTests(StdioTestCase):
    def test_subscriptions_are_told_apart_by_their_ids(self):
        """SUB-02, SUB-03, SUB-06; S251 has none on stdio."""

        async def steps(client):
            assert await client.modern("subscriptions/listen", {"notifications": ALL}, id="one") == acknowledged(
                ALL, "one"
            )
            only = {"promptsListChanged": True}
            assert await client.modern("subscriptions/listen", {"notifications": only}, id=2) == acknowledged(only, 2)
            await django_mcp.anotify_resource_updated(A)
            assert await client.receive() == updated(A, "one")
            await django_mcp.anotify_prompts_changed()
            both = [await client.receive(), await client.receive()]
            assert sorted(both, key=str) == sorted([changed("prompts", "one"), changed("prompts", 2)], key=str)

        self.talk(steps)

    def test_a_subscription_that_the_server_ends_is_answered_and_then_taken_back(self):
        """CAN-06, CAN-07, SUB-08: one that the client ends is neither, nor is one taken back that never was."""

        async def steps(client):
            for id in ("one", 2, "ended"):
                await client.modern("subscriptions/listen", {"notifications": ALL}, id=id)
            client.notify("notifications/cancelled", requestId="ended")
            assert await client.modern("subscriptions/listen", {"notifications": {}}, id=0) == acknowledged({}, 0)
            assert is_closing(await client.receive(), 0)
            await client.exchange.drain(LIMIT)
            last = [await client.receive() for _ in range(4)]
            for id in ("one", 2):
                mine = [one for one in last if id in (one.get("id"), one.get("params", {}).get("requestId"))]
                assert is_closing(mine[0], id)
                assert (mine[1]["method"], mine[1]["params"]["requestId"]) == ("notifications/cancelled", id)
            assert client._answers.empty()

        self.talk(steps)

    def test_nothing_comes_after_a_cancellation(self):
        """SUB-07"""

        async def steps(client):
            await client.modern("subscriptions/listen", {"notifications": ALL}, id="one")
            client.notify("notifications/cancelled", requestId="one")
            await asyncio.sleep(0)
            await django_mcp.anotify_tools_changed()
            assert (await client.modern("tools/list", id=5))["id"] == 5

        self.talk(steps)

    def test_what_honours_nothing_ends_at_once(self):
        """BL-083"""

        async def steps(client):
            assert await client.modern("subscriptions/listen", {"notifications": {}}, id=0) == acknowledged({}, 0)
            assert is_closing(await client.receive(), 0)
            assert (await client.modern("subscriptions/listen"))["error"]["code"] == -32602

        self.talk(steps)

    def test_a_user_who_is_disabled_hears_no_more(self):
        ann = get_user_model().objects.create_user("ann", is_staff=True)

        async def steps(client):
            wanted = {"resourceSubscriptions": [STAFF]}
            await client.modern("subscriptions/listen", {"notifications": wanted}, id=1)
            await django_mcp.anotify_resource_updated(STAFF)
            assert await client.receive() == updated(STAFF)
            ann.is_active = False
            with self.settings(DJANGO_MCP={"CACHE_SECONDS": 0}):
                await sync_to_async(ann.save)()
                assert is_closing(await client.receive())

        self.talk(steps, NamedUser(ann))


class LegacyTests(StdioTestCase):
    def test_nobody_hears_of_a_list_that_the_server_does_not_have(self):
        """X24: its capability was not declared."""

        async def steps(client):
            with patch.object(type(default_server), "has_prompts", False):
                await client.ask(client.request("initialize", greeting(LEGACY)))
                client.notify("notifications/initialized")
                await client.legacy("resources/subscribe", {"uri": A})
                await django_mcp.anotify_prompts_changed()
                await django_mcp.anotify_tools_changed()
                assert await client.receive() == told("tools")

        self.talk(steps)

    def test_a_session_hears_of_what_it_wants(self):
        """RES-09, RES-11, TOOL-28"""

        async def steps(client):
            await client.ask(client.request("initialize", greeting(LEGACY)))
            client.notify("notifications/initialized")
            for _ in range(2):
                assert (await client.legacy("resources/subscribe", {"uri": A}))["result"] == {}
            await django_mcp.anotify_resource_updated("note://beta")
            await django_mcp.anotify_resource_updated(A)
            await django_mcp.anotify_tools_changed()
            assert [await client.receive(), await client.receive()] == [told_of(A), told("tools")]
            for _ in range(2):
                assert (await client.legacy("resources/unsubscribe", {"uri": A}))["result"] == {}
            await django_mcp.anotify_resource_updated(A)
            await django_mcp.anotify_prompts_changed()
            assert await client.receive() == told("prompts")

        self.talk(steps)

    def test_nothing_is_told_before_the_client_is_ready(self):
        """INIT-08"""

        async def steps(client):
            await client.ask(client.request("initialize", greeting(LEGACY)))
            assert (await client.legacy("resources/subscribe", {"uri": A}))["result"] == {}
            await django_mcp.anotify_resource_updated(A)
            client.notify("notifications/initialized")
            await asyncio.wait(set(client.exchange._following))
            await django_mcp.anotify_tools_changed()
            assert await client.receive() == told("tools")
            await django_mcp.anotify_resource_updated(A)
            assert await client.receive() == told_of(A)

        self.talk(steps)

    def test_a_session_has_so_many_subscriptions(self):
        async def steps(client):
            await client.ask(client.request("initialize", greeting(LEGACY)))
            with patch.object(stdio_session, "MAX_SUBSCRIPTIONS", 1):
                await client.legacy("resources/subscribe", {"uri": A})
                answer = await client.legacy("resources/subscribe", {"uri": "note://beta"})
            assert "unsubscribe" in answer["error"]["message"]

        self.talk(steps)

    def test_a_database_without_the_log_changes_nothing_else(self):
        async def steps(client):
            await client.ask(client.request("initialize", greeting(LEGACY)))
            failing = patch.object(reader, "attach", side_effect=OperationalError("no such table"))
            with failing, self.assertLogs("django_mcp.stdio", "WARNING"):
                client.notify("notifications/initialized")
                await asyncio.wait(set(client.exchange._following))
            assert (await client.legacy("ping"))["result"] == {}

        self.talk(steps)

    def test_initialized_without_a_session_means_nothing(self):
        async def steps(client):
            client.notify("notifications/initialized")
            await asyncio.wait(set(client.exchange._following))

        self.talk(steps)
