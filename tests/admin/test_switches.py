"""What a process remembers of the switches, and for how long."""

import asyncio
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import OperationalError, transaction
from django.db.models import ProtectedError
from django.test import TestCase, TransactionTestCase, override_settings

from django_mcp import inventory, switches
from django_mcp.models import PrimitiveGroup, RegisteredPrimitive
from django_mcp.running import close_lanes, run_store
from django_mcp.server.call import Caller
from django_mcp.switches import switchboard
from tests.first_rows import SIGNAL
from tests.rows import fresh_primitives
from tests.stdio.client import talk

ECHO = {"name": "echo", "arguments": {"text": "a"}}


class Clock:
    """What the memory takes for the time."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


class Named:
    """The identity of a stdio client, with a user that was read beforehand."""

    def __init__(self, user):
        self.principal = f"user:{user.pk}"
        self.user = user

    async def caller(self):
        return Caller(user=self.user, principal=self.principal)


@contextmanager
def reads():
    """Counts how often the switches were read from the database, on whatever thread."""
    counted = []

    def load():
        rows = real()
        counted.append(rows)
        return rows

    real = switches._load
    with patch("django_mcp.switches._load", load):
        yield counted


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "CACHE_SECONDS": 60})
class MemoryTests(TransactionTestCase):
    """In a loop of its own, as a server is: no ancestor and no transaction."""

    def setUp(self):
        self.clock = self.enterContext(patch("django_mcp.managers.time", Clock()))
        self.forget()
        self.addCleanup(self.forget)

    def forget(self):
        fresh_primitives()
        switchboard.forget()
        switchboard._latest = None
        inventory._in_step.clear()
        close_lanes()

    def switch(self, **values):
        """As another process does it: nothing in this one hears of it."""
        RegisteredPrimitive.objects.filter(key="echo").update(**values)

    def knows(self, identity=None):
        """Whether a client of each era may call the tool, and sees it."""
        seen = []

        async def steps(client):
            await client.initialize()
            for ask in (client.legacy, client.modern):
                listed = await ask("tools/list", {})
                seen.append("echo" in {tool["name"] for tool in listed["result"]["tools"]})
                seen.append("result" in await ask("tools/call", ECHO))

        talk(steps, identity=identity)
        assert len(set(seen)) == 1
        return seen[0]

    def test_a_switch_of_another_process_holds_within_cache_seconds(self):
        with reads() as counted:
            assert self.knows()
            self.switch(enabled=False)
            self.clock.now += 59.9
            assert self.knows()
            assert len(counted) == 1
            self.clock.now += 0.1
            assert not self.knows()
            self.switch(enabled=True)
            self.clock.now += 60
            assert self.knows()
            assert len(counted) == 3

    def test_one_of_this_process_holds_at_once(self):
        assert self.knows()
        row = RegisteredPrimitive.objects.get(key="echo")
        row.enabled = False
        row.save()
        assert not self.knows()
        row.delete()
        assert self.knows()

    def test_nothing_is_left_where_the_database_was_flushed(self):
        """As between two tests of a TransactionTestCase."""
        self.switch(enabled=False)
        assert not self.knows()
        with patch(SIGNAL, emit_post_migrate_signal):
            call_command("flush", verbosity=0, interactive=False)
        assert self.knows()

    def test_what_is_rolled_back_was_never_switched(self):
        row = RegisteredPrimitive.objects.get(key="echo")
        with transaction.atomic():
            row.enabled = False
            row.save()
            transaction.set_rollback(True)
        assert self.knows()

    def test_what_other_threads_read_before_the_commit_is_forgotten_after_it(self):
        row = RegisteredPrimitive.objects.get(key="echo")
        with patch.object(switchboard, "forget", wraps=switchboard.forget) as forget, transaction.atomic():
            row.enabled = False
            row.save()
            before = forget.call_count
        assert (before, forget.call_count) == (1, 2)

    def test_forgetting_is_all_that_an_event_needs(self):
        assert self.knows()
        self.switch(enabled=False)
        switchboard.forget()
        assert not self.knows()

    def test_many_requests_at_once_read_once(self):
        async def main():
            await asyncio.gather(*(run_store(switchboard.read) for _ in range(20)))

        with reads() as counted:
            asyncio.run(main())
        assert len(counted) == 1

    def test_calls_in_between_go_nowhere(self):
        assert self.knows()
        with patch("django_mcp.switches.run_store", side_effect=AssertionError):
            assert self.knows()

    def test_an_error_keeps_what_was_read_before(self):
        self.switch(enabled=False)
        assert not self.knows()
        self.clock.now += 60
        with patch("django_mcp.switches._load", side_effect=OperationalError("gone")) as load:
            with self.assertLogs("django_mcp", "ERROR") as logs:
                assert not self.knows()
            assert "stay in force: gone" in logs.output[0]
            assert load.call_count == 1
        self.switch(enabled=True)
        self.clock.now += 60
        assert self.knows()

    def test_who_has_never_read_a_switch_lets_nobody_pass(self):
        answers = []

        async def steps(client):
            answers.append(await client.modern("tools/call", ECHO))

        with (
            patch("django_mcp.switches._load", side_effect=OperationalError("gone")),
            self.assertLogs("django_mcp.server", "ERROR"),
        ):
            talk(steps)
        assert answers[0]["error"] == {"code": -32603, "message": "Internal error"}

    def test_an_error_of_a_table_that_is_there_is_one(self):
        assert self.knows()
        self.clock.now += 60
        gone = patch("django_mcp.switches._snapshot_of", side_effect=OperationalError("gone"))
        with gone, self.assertLogs("django_mcp", "ERROR") as logs:
            assert self.knows()
        assert "stay in force: gone" in logs.output[0]

    def test_before_the_tables_are_made_everything_is_on(self):
        with patch.object(RegisteredPrimitive._meta, "db_table", "not_there_yet"):
            assert self.knows()

    def test_other_reads_take_the_switches_along(self):
        with reads() as counted:
            switchboard.freshen()
            switchboard.freshen()
            self.clock.now += 60
            gone = patch("django_mcp.switches._load", side_effect=OperationalError("gone"))
            with gone, self.assertLogs("django_mcp", "ERROR"):
                switchboard.freshen()
            with override_settings(DJANGO_MCP={"CACHE_SECONDS": 0}):
                switchboard.freshen()  # nobody would remember
        assert len(counted) == 1

    def test_the_groups_of_a_user_are_remembered_as_long(self):
        ann = User.objects.create_user("ann")
        agents = Group.objects.create(name="agents")
        RegisteredPrimitive.objects.get(key="echo").groups.add(agents)
        identity = Named(ann)
        assert not self.knows(identity)
        ann.groups.add(agents)
        assert not self.knows(identity)
        self.clock.now += 60
        assert self.knows(identity)
        ann.groups.clear()
        self.clock.now += 60
        assert not self.knows(identity)

    def test_a_user_model_without_groups_is_in_none(self):
        class Plain:
            is_authenticated, pk = True, 1

        RegisteredPrimitive.objects.get(key="echo").groups.add(Group.objects.create(name="agents"))
        assert not self.knows(Named(Plain()))


class RowTests(TestCase):
    def setUp(self):
        fresh_primitives()

    def test_a_group_that_restricts_something_cannot_be_deleted(self):
        """Or the tool would be open to everybody."""
        group = Group.objects.create(name="agents")
        row = RegisteredPrimitive.objects.get(key="echo")
        row.groups.add(group)
        with pytest.raises(ProtectedError):
            group.delete()
        assert str(PrimitiveGroup.objects.get()) == "echo: agents"
        row.groups.clear()
        group.delete()

    def test_a_test_sees_its_own_switches_at_once_and_leaves_none(self):
        with self.assertNumQueries(3):
            assert switchboard.read() == switchboard.read() == {}
            RegisteredPrimitive.objects.filter(key="echo").update(enabled=False)
        assert switchboard.read()["default"].off == {("tool", "echo")}
        assert switchboard._remembered() is None
