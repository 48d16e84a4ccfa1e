"""Code of ours and its own threads."""

import asyncio
import contextvars
import threading

from asgiref.sync import async_to_sync
from django.db import OperationalError, connection
from django.test import override_settings

from django_mcp.running import Runner, exchange, run_store, step, write_later, write_store
from tests.running import doors
from tests.running.doors import Boom, add, kill, run_once, saved
from tests.shop.models import Category, Product

is_sqlite = connection.vendor == "sqlite"


class StoreTests(doors.Lane):
    def test_runs_on_its_own_threads(self):
        async def scenario():
            async with exchange():
                lane = await Runner().call(threading.get_ident)
                return lane, await run_store(threading.get_ident), threading.get_ident()

        self.assertEqual(len(set(self.drive(scenario))), 3)

    def test_a_write_that_waits_delays_no_read(self):
        """On SQLite it waits for a tool that has written and goes on."""
        opened = threading.Event()

        async def scenario():
            writes = [asyncio.create_task(write_store(opened.wait, 30)) for _ in range(4)]
            read = await asyncio.wait_for(run_store(threading.get_ident), 30)
            opened.set()
            return read, await asyncio.gather(*writes)

        read, writes = self.drive(scenario)
        self.assertNotEqual(read, threading.get_ident())
        self.assertEqual(writes, [True] * 4)

    def test_what_is_written_later_under_wsgi_leaves_no_thread(self):
        worker = write_later(threading.current_thread).result(30)
        worker.join(30)
        self.assertFalse(worker.is_alive())

    def test_below_a_sync_function_it_is_no_part_of_the_call(self):
        def body():
            if not is_sqlite:
                add("pen")
            # Another table: MariaDB's gap locks may reach from one name to the next.
            async_to_sync(run_store)(Category.objects.create, name="tools")
            raise Boom

        with self.assertRaises(Boom):
            self.drive(run_once, body)
        self.assertEqual((saved(), str(Category.objects.get())), ([], "tools"))

    def test_exchange_below_a_sync_function_still_uses_the_store_pool(self):
        async def inner():
            async with exchange():
                return await run_store(threading.get_ident)

        def body():
            return threading.get_ident(), async_to_sync(inner)()

        self.assertNotEqual(*self.drive(run_once, body))

    def test_below_a_sync_ancestor_it_runs_on_its_thread(self):
        async def outside():
            return await run_store(threading.get_ident)

        async def inside():
            async with exchange():
                return await run_store(threading.get_ident)

        async def below():
            return await run_once(lambda: async_to_sync(run_store)(threading.get_ident))

        for function in (outside, inside, below):
            with self.subTest(function=function):
                self.assertEqual(async_to_sync(function)(), threading.get_ident())
                self.assertEqual(async_to_sync(in_fresh_context)(function), threading.get_ident())

    def test_in_a_function_without_a_loop_it_runs_at_once(self):
        self.assertEqual(step(run_store(threading.get_ident)), threading.get_ident())

    def test_result_exception_and_arguments(self):
        async def scenario():
            self.assertEqual(await run_store(int, "11", base=2), 3)
            with self.assertRaises(Boom):
                await run_store(self.fail_with, Boom())
            with self.assertRaises(RuntimeError):
                await run_store(self.fail_with, StopIteration())
            with self.assertRaises(OperationalError):
                await run_store(self.fail_with, OperationalError("locked"))

        self.drive(scenario)

    def fail_with(self, error):
        Product.objects.count()
        raise error

    def test_lost_connection_is_tried_once_more(self):
        attempts = []

        def lose():
            Product.objects.count()
            attempts.append(connection.connection)
            if len(attempts) == 1:
                connection.connection.close() if is_sqlite else kill(connection)
            return Product.objects.count()

        def lose_always():
            attempts.append(None)
            Product.objects.count()
            connection.close()
            raise OperationalError("gone")

        async def twice():
            # The thread has to have used its connection for it to be lost.
            await run_store(Product.objects.count)
            return await run_store(lose)

        with override_settings(DJANGO_MCP={"STORE_WORKERS": 1}):
            if not is_sqlite:
                self.assertEqual(self.drive(twice), 0)
                self.assertEqual(len(attempts), 2)
            attempts.clear()
            with self.assertRaises(OperationalError):
                self.drive(self.prepared, lose_always)
            self.assertEqual(len(attempts), 2)

    async def prepared(self, function):
        await run_store(Product.objects.count)
        return await run_store(function)


async def in_fresh_context(function):
    """A callback of the loop has the ancestor's loop, but not its context."""
    return await asyncio.create_task(function(), context=contextvars.Context())
