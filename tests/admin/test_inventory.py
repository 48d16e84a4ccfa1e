"""Rows in step with the registry: made, marked, found again; by migrate, by the command and by a server that starts."""

from io import StringIO
from types import ModuleType
from unittest.mock import patch

import pytest
from django.apps import apps
from django.apps.registry import Apps
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import OperationalError
from django.db.models.signals import post_migrate
from django.test import TestCase, TransactionTestCase, override_settings

from django_mcp import MCPServer, default_server, inventory, tool
from django_mcp.apps import SimpleMCPConfig
from django_mcp.discovery import record_after_migrate
from django_mcp.inventory import Changes
from django_mcp.models import RegisteredPrimitive
from django_mcp.registry import Kind
from django_mcp.running import close_lanes
from django_mcp.servers import _servers
from tests.rows import fresh_primitives
from tests.stdio.client import talk


def sync():
    return inventory.sync(default_server, RegisteredPrimitive.objects.all())


def sync_by_command():
    said = StringIO()
    call_command("mcp_sync", stdout=said)
    return said.getvalue().splitlines()


class SyncTestCase(TestCase):
    def setUp(self):
        self.registry = self.enterContext(default_server.registry.override())
        self.count = fresh_primitives()


class SyncTests(SyncTestCase):
    def test_migrate_has_made_a_row_for_everything(self):
        snapshot = self.registry.snapshot()
        RegisteredPrimitive.objects.all().delete()
        record_after_migrate(using="default")
        expected = {(kind.value, key) for kind in Kind for key in snapshot.of(kind)}
        rows = RegisteredPrimitive.objects.filter(server="default", vanished=None, enabled=True)
        assert set(rows.values_list("kind", "key")) == expected
        assert RegisteredPrimitive.objects.get(key="echo").app == "shop"
        assert str(RegisteredPrimitive.objects.get(key="static://a")) == "static://a"

    def test_it_changes_nothing_where_nothing_changed(self):
        with self.assertNumQueries(1):
            assert sync() == Changes(0, 0, 0, self.count)

    def test_what_is_gone_is_marked_and_keeps_its_switch_for_when_it_returns(self):
        row = RegisteredPrimitive.objects.get(key="echo")
        row.groups.add(Group.objects.create(name="agents"))
        RegisteredPrimitive.objects.filter(pk=row.pk).update(enabled=False)
        before = self.registry.snapshot()
        self.registry.unregister(Kind.TOOL, "echo")
        assert sync() == Changes(0, 0, 1, self.count - 1)
        row.refresh_from_db()
        first = row.vanished
        assert first is not None
        assert sync() == Changes(0, 0, 0, self.count - 1)
        row.refresh_from_db()
        assert row.vanished == first
        self.registry.restore(before)
        assert sync() == Changes(0, 1, 0, self.count - 1)
        kept = RegisteredPrimitive.objects.filter(key="echo").values_list("vanished", "enabled", "groups__name")
        assert list(kept) == [(None, False, "agents")]

    def test_what_is_new_is_on_for_everybody(self):
        # MariaDB takes it for the same as "echo".
        tool(name="Echo")(lambda: "")

        assert sync() == Changes(1, 0, 0, self.count)
        row = RegisteredPrimitive.objects.get(app="", vanished=None)
        assert (row.key, row.enabled, row.groups.count()) == ("Echo", True, 0)

    def test_a_function_that_moved_belongs_to_its_new_app(self):
        RegisteredPrimitive.objects.filter(key="echo").update(app="before")
        sync()
        assert RegisteredPrimitive.objects.get(key="echo").app == "shop"

    def test_two_processes_may_do_it_at_once(self):
        tool(name="new")(lambda: "")
        inventory.sync(default_server, RegisteredPrimitive.objects.all())
        nothing = RegisteredPrimitive.objects.none()
        with patch.object(RegisteredPrimitive.objects, "filter", return_value=nothing):
            inventory.sync(default_server, RegisteredPrimitive.objects)
        assert RegisteredPrimitive.objects.count() == self.count + 1

    def test_servers_do_not_touch_each_others_rows(self):
        server = MCPServer("other")
        self.addCleanup(_servers.pop, "other")
        server.tool(name="echo")(lambda: "")
        assert inventory.sync(server, RegisteredPrimitive.objects.all()) == Changes(1, 0, 0, 0)
        assert sync() == Changes(0, 0, 0, self.count)


class CommandTests(SyncTestCase):
    def test_it_says_what_it_did(self):
        self.registry.unregister(Kind.TOOL, "echo")
        assert f"default: 0 added, 0 back again, 1 vanished, {self.count - 1} as before." in sync_by_command()

    def test_servers_that_urls_make_are_known_and_those_that_are_gone_are_marked(self):
        RegisteredPrimitive.objects.create(digest="x", server="gone", kind="tool", key="a")

        def mount(name):
            server = MCPServer("mounted")
            server.tool(name="here")(lambda: "")
            self.addCleanup(_servers.pop, "mounted")
            return ModuleType(name)

        with patch("django_mcp.discovery.import_module", side_effect=mount):
            said = sync_by_command()
        assert said[-2:] == [
            "mounted: 1 added, 0 back again, 0 vanished, 0 as before.",
            "1 vanished with their server.",
        ]
        assert RegisteredPrimitive.objects.get(server="gone").vanished is not None


class MigrateTests(SyncTestCase):
    def test_it_happens_after_each_migration_where_the_rows_live(self):
        RegisteredPrimitive.objects.all().delete()
        record_after_migrate(using="other")
        with override_settings(DATABASE_ROUTERS=["tests.checks.routers.Nowhere"]):
            record_after_migrate(using="default")
        assert not RegisteredPrimitive.objects.exists()
        config = apps.get_app_config("django_mcp")
        post_migrate.send(sender=config, app_config=config, verbosity=0, interactive=False, using="default", apps=apps)
        assert RegisteredPrimitive.objects.filter(server="default").count() == self.count

    def test_it_waits_until_there_is_a_table(self):
        with self.assertNumQueries(0):
            record_after_migrate(using="default", apps=Apps())


class ServingTests(TransactionTestCase):
    """A process that starts serving brings the rows in step, and no request waits for it."""

    def setUp(self):
        inventory._in_step.clear()
        self.addCleanup(inventory._in_step.clear)
        self.addCleanup(close_lanes)

    def serve(self):
        async def steps(client):
            assert "result" in await client.modern("tools/list", {})

        talk(steps)
        close_lanes()  # waits for the writing thread

    def test_the_first_request_does_it_once_for_each_state_of_the_registry(self):
        RegisteredPrimitive.objects.all().delete()
        self.serve()
        count = RegisteredPrimitive.objects.count()
        assert count > 0
        RegisteredPrimitive.objects.all().delete()
        self.serve()
        assert not RegisteredPrimitive.objects.exists()
        with default_server.registry.override():
            tool(name="new")(lambda: "")
            self.serve()
            assert RegisteredPrimitive.objects.count() == count + 1

    def test_before_the_table_is_made_it_is_named_in_the_log(self):
        with (
            patch.object(RegisteredPrimitive._meta, "db_table", "not_there_yet"),
            self.assertLogs("django_mcp", "WARNING") as logs,
        ):
            self.serve()
        [line] = [line for line in logs.output if "Migrate the database" in line]
        assert "'default'" in line

    def test_a_failure_is_logged_and_hinders_nobody(self):
        with (
            patch("django_mcp.inventory.sync", side_effect=ZeroDivisionError),
            self.assertLogs("django_mcp", "ERROR") as logs,
        ):
            self.addCleanup(inventory._due.clear)
            self.serve()
        assert "'default' are not in step" in logs.output[0]

    def test_it_is_tried_again_a_minute_after_a_failure(self):
        self.addCleanup(inventory._due.clear)
        with (
            patch("django_mcp.inventory.sync", side_effect=OperationalError) as failing,
            patch("django_mcp.inventory.time") as clock,
            self.assertLogs("django_mcp", "ERROR"),
        ):
            clock.monotonic.return_value = 1000.0
            self.serve()
            clock.monotonic.return_value = 1059.9
            self.serve()
            assert failing.call_count == 1
            clock.monotonic.return_value = 1060.0
            self.serve()
            assert failing.call_count == 2


@pytest.mark.django_db
def test_nothing_is_asked_of_the_database_when_the_site_starts(django_assert_num_queries):
    config = SimpleMCPConfig("django_mcp", __import__("django_mcp"))
    with django_assert_num_queries(0), patch("django_mcp.checks.register_checks"):
        config.ready()
    post_migrate.disconnect(record_after_migrate, sender=config)
