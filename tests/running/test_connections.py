"""What becomes of database connections."""

import asyncio
import os
import threading
import time
from contextlib import contextmanager, suppress
from unittest import mock, skipIf, skipUnless

import pytest
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.test import override_settings

from django_mcp.exceptions import NotSaved
from django_mcp.running import Runner, exchange, lanes_idle, run_store
from django_mcp.running import threads as running_threads
from tests.running import doors
from tests.running.doors import ALIASES, LIMIT, add, kill, run_once, saved, wait_until_idle
from tests.shop.models import Category, Product
from tests.threads import close_connections_of_asgiref

is_sqlite = connection.vendor == "sqlite"


def kill_the_others():
    """Every session on the test database but the one of this thread."""
    close_connections_of_asgiref()  # which would not come back by itself
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return len(cursor.fetchall())
        cursor.execute("SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
        victims = [number for (number,) in cursor.fetchall()]
        for number in victims:
            cursor.execute(f"KILL {number}")
        return len(victims)


def our_threads():
    """Those that run code of the site or read our rows."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(("mcp-lane", "mcp-store"))]


def count_sessions():
    """Open connections to the default database, as the server or the process sees them."""
    if is_sqlite:
        name = os.path.realpath(connection.settings_dict["NAME"])
        return sum(os.path.realpath(f"/proc/self/fd/{number}") == name for number in os.listdir("/proc/self/fd"))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        else:
            cursor.execute("SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()")
        return cursor.fetchone()[0]


@contextmanager
def connection_settings(**values):
    before = {alias: {key: connections.settings[alias][key] for key in values} for alias in ALIASES}
    for alias in ALIASES:
        connections.settings[alias].update(values)
    try:
        yield
    finally:
        for alias in ALIASES:
            connections.settings[alias].update(before[alias])


class ConnectionTests(doors.Lane):
    def assert_thousand_calls_leak_nothing(self, most_sessions):
        async def count():
            return await Product.objects.acount()

        async def calls():
            tasks = len(asyncio.all_tasks())
            for _ in range(50):
                await asyncio.gather(
                    *(run_once(count if number % 2 else Product.objects.count) for number in range(20))
                )
                await run_store(Product.objects.count)
            return len(asyncio.all_tasks()) - tasks

        Product.objects.count()
        sessions = count_sessions()

        async def limited():
            async with asyncio.timeout(60):
                return await calls()

        self.assertEqual(asyncio.run(limited()), 0)
        wait_until_idle()
        self.assertLessEqual(lanes_idle(), 8)
        self.assertLessEqual(len(our_threads()), 8 + 2 + 1)  # lanes, and the readers and the writer of the store
        self.assertLessEqual(self.wait_for_sessions(sessions + most_sessions), sessions + most_sessions)
        self.assert_nothing_left()
        self.assertEqual(our_threads(), [])
        # Some of those at the start may have been on their way out.
        self.assertLessEqual(self.wait_for_sessions(sessions), sessions)

    def wait_for_sessions(self, most):
        """A server takes a moment to notice that a session has been closed."""
        end = time.monotonic() + LIMIT
        counts = iter(count_sessions, None)
        return next(count for count in counts if count <= most or time.monotonic() > end)

    @pytest.mark.repeats
    def test_thousand_calls_with_connections_that_are_closed_leak_nothing(self):
        """BL-002."""
        with connection_settings(CONN_MAX_AGE=0):
            self.assert_thousand_calls_leak_nothing(0)

    def test_thousand_calls_with_connections_that_are_kept_leak_nothing(self):
        """BL-002."""
        with connection_settings(CONN_MAX_AGE=600):
            self.assert_thousand_calls_leak_nothing(8 + 2)

    def count_both(self):
        async def both():
            await run_once(Product.objects.count)
            return await run_store(Product.objects.count)

        return self.drive(both)

    @skipIf(is_sqlite, "there is no server that could end a session")
    def test_killed_session_costs_no_call(self):
        """BL-002: the connections check themselves where the setting says so."""
        with connection_settings(CONN_MAX_AGE=600, CONN_HEALTH_CHECKS=True):
            self.count_both()
            wait_until_idle()
            self.assertGreaterEqual(kill_the_others(), 2)
            self.assertEqual(self.count_both(), 0)

    @skipIf(is_sqlite, "there is no server that could end a session")
    def test_killed_session_costs_no_call_on_a_thread_that_was_idle(self):
        with (
            connection_settings(CONN_MAX_AGE=600, CONN_HEALTH_CHECKS=False),
            mock.patch.object(running_threads, "CHECK_AFTER", -1),
        ):
            self.count_both()
            wait_until_idle()
            self.assertGreaterEqual(kill_the_others(), 2)
            self.assertEqual(self.count_both(), 0)

    def test_usable_connection_of_an_idle_thread_is_kept(self):
        with (
            connection_settings(CONN_MAX_AGE=600),
            mock.patch.object(running_threads, "CHECK_AFTER", -1),
            override_settings(DJANGO_MCP={"SYNC_WORKERS": 1}),
        ):

            def look():
                Product.objects.count()
                return id(connection.connection)

            self.assertEqual(self.drive(run_once, look), self.drive(run_once, look))

    @skipIf(is_sqlite, "there is no server that could end a session")
    def test_session_killed_during_a_call_is_an_error_and_the_next_call_works(self):
        def body():
            add("pen")
            kill(connection)
            add("ink")

        with self.assertRaises(DatabaseError):
            self.drive(run_once, body)
        self.assertEqual(saved(), [])
        self.drive(run_once, lambda: add("glue"))
        self.assertEqual(saved(), ["glue"])

    def test_transaction_left_open_outside_of_a_call_is_closed_with_the_exchange(self):
        async def scenario():
            async with exchange():
                await Runner().call(lambda: transaction.atomic().__enter__())
                await Runner().call(add, "pen")

        self.drive(scenario)
        wait_until_idle()
        self.assertEqual(saved(), [])
        self.assertEqual(self.drive(run_once, lambda: add("ink").name), "ink")

    @skipUnless(connection.vendor == "mysql", "the server undoes a whole transaction only there")
    def test_swallowed_deadlock_is_not_saved(self):
        for name in ("one", "two"):
            Category.objects.create(name=name)
        barrier = threading.Barrier(2)

        def body(names):
            first, second = names
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO shop_product (name, stock, updated_at) VALUES (%s, 0, NOW())", [first])
                cursor.execute("SELECT name FROM shop_category WHERE name = %s FOR UPDATE", [first])
                barrier.wait(LIMIT)
                with suppress(OperationalError):
                    cursor.execute("SELECT name FROM shop_category WHERE name = %s FOR UPDATE", [second])
            return first

        async def both():
            return await asyncio.gather(
                run_once(body, names=("one", "two")), run_once(body, names=("two", "one")), return_exceptions=True
            )

        results = self.drive(both)
        good = [result for result in results if isinstance(result, str)]
        self.assertEqual([type(result) for result in results if result not in good], [NotSaved])
        self.assertEqual(saved(), good)
