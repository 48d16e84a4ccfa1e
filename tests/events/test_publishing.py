"""Publishing: from a tool, a view, async code or a shell, with the transaction it happens in."""

from typing import cast

from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import SimpleTestCase, TestCase, TransactionTestCase
from django.urls import path

import django_mcp
from django_mcp import Context, MCPServer, ToolError
from django_mcp.models import Event
from django_mcp.servers import all_servers, forget_servers
from tests.wire.client import WireClient
from tests.wire.doors import DOORS

LISTS = ("tools", "prompts", "resources")


def published():
    return list(Event.objects.order_by("pk").values_list("kind", "server", "uri"))


class PublishingTests(TestCase):
    def test_each_kind_has_its_function(self):
        django_mcp.notify_resource_updated("note://a")
        for name in LISTS:
            getattr(django_mcp, f"notify_{name}_changed")()
        lists = [(f"{name}.list_changed", "", "") for name in LISTS]
        assert published() == [("resources.updated", "", "note://a"), *lists]

    def test_async_code_has_its_own(self):
        async def publish():
            await django_mcp.anotify_resource_updated("note://a", server="default")
            for name in LISTS:
                await getattr(django_mcp, f"anotify_{name}_changed")(server=django_mcp.default_server)

        async_to_sync(publish)()
        lists = [(f"{name}.list_changed", "default", "") for name in LISTS]
        assert published() == [("resources.updated", "default", "note://a"), *lists]


class MistakeTests(SimpleTestCase):
    def test_what_is_no_uri_is_refused(self):
        for uri in cast(
            list[str],
            ["ticket", "a b://c", "note://a b", "note://\x00", "note://\ud800", "x:" + "y" * 2047, "", None, 5],
        ):
            with self.subTest(uri=uri), self.assertRaisesMessage(ValueError, 'notify_resource_updated("ticket://5")'):
                django_mcp.notify_resource_updated(uri)

    def test_what_is_no_server_is_refused(self):
        for server in ("", 5, object()):
            with self.subTest(server=server), self.assertRaisesMessage(TypeError, "is an MCPServer or its name"):
                django_mcp.notify_tools_changed(server=server)


class FromToolsTests(TransactionTestCase):
    def setUp(self):
        self.addCleanup(forget_servers, all_servers())

    def client_of(self, server):
        with self.settings(ROOT_URLCONF=(path("mcp", server.urls),)):
            client = WireClient(DOORS["consumer"]())
            return client.call_tool("modern", "change")

    def test_a_tool_publishes_for_its_own_server(self):
        server = MCPServer("publishing")

        @server.tool
        def change(context: Context) -> str:
            context.notify_resource_updated("note://a")
            context.notify_tools_changed()
            context.notify_prompts_changed()
            context.notify_resources_changed()
            return "done"

        assert not self.client_of(server)["isError"]
        lists = [(f"{name}.list_changed", "publishing", "") for name in LISTS]
        assert published() == [("resources.updated", "publishing", "note://a"), *lists]
        assert not Event.objects.filter(seq=None).exists()

    def test_an_async_tool_does_so_too(self):
        server = MCPServer("publishing")

        @server.tool
        async def change(context: Context) -> str:
            await context.anotify_resource_updated("note://a")
            await context.anotify_tools_changed()
            await context.anotify_prompts_changed()
            await context.anotify_resources_changed()
            return "done"

        assert not self.client_of(server)["isError"]
        assert len(published()) == 4
        assert not Event.objects.filter(seq=None).exists()

    def test_a_tool_that_fails_publishes_nothing(self):
        """SUB-17"""
        server = MCPServer("publishing")

        @server.tool
        def change(context: Context) -> str:
            with transaction.atomic():
                context.notify_resource_updated("note://a")
            raise ToolError("no")

        assert self.client_of(server)["isError"]
        assert published() == []
