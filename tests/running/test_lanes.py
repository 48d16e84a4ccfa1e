"""Threads: who gets one and who waits. A server's loop throughout."""

import asyncio
import contextvars
import threading

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test import TestCase, override_settings

from django_mcp.exceptions import Busy
from django_mcp.running import Runner, exchange, lanes_idle, lanes_in_use, run_store
from django_mcp.server.call import Locale
from tests.running import doors
from tests.running.doors import LIMIT, Blocker, invocation, run_once, wait_until_idle
from tests.shop.models import Product

is_sqlite = connection.vendor == "sqlite"


class ParallelTests(doors.Lane):
    def test_four_sync_functions_run_in_parallel(self):
        """BL-003: a barrier that only four threads at once can pass."""
        barrier = threading.Barrier(4)

        async def four():
            return await asyncio.gather(*(run_once(barrier.wait, timeout=LIMIT) for _ in range(4)))

        self.assertEqual(sorted(self.drive(four)), [0, 1, 2, 3])

    def test_slow_sync_functions_delay_neither_async_ones_nor_the_store(self):
        """BL-003: with every lane taken, only what needs a lane waits."""

        async def scenario():
            blocker = Blocker()
            slow = [asyncio.create_task(run_once(blocker)) for _ in range(8)]
            for _ in slow:
                await blocker.entered.acquire()
            in_use = lanes_in_use()

            async def plain():
                return "quick"

            quick = await run_once(plain)
            stored = await run_store(Product.objects.count)
            waiting = asyncio.create_task(run_once(lambda: "waited"))
            await asyncio.sleep(0)
            blocker.released.set()
            return in_use, quick, stored, await waiting, await asyncio.gather(*slow)

        self.assertEqual(self.drive(scenario), (8, "quick", 0, "waited", ["released"] * 8))
        self.assert_nothing_left()

    @override_settings(DJANGO_MCP={"SYNC_WORKERS": 1, "LANE_TIMEOUT": 0.02})
    def test_waiting_for_a_lane_is_bounded(self):
        async def scenario():
            blocker = Blocker()
            slow = asyncio.create_task(run_once(blocker))
            await blocker.entered.acquire()

            async def twice():
                attempts = (Product.objects.acount() for _ in range(2))
                results = await asyncio.gather(*attempts, return_exceptions=True)
                return [str(result) for result in results]

            results = await asyncio.gather(
                run_once(lambda: "late"), run_once(Product.objects.acount), return_exceptions=True
            )
            handled = await run_once(twice)
            blocker.released.set()
            await slow
            return results, handled

        results, handled = self.drive(scenario)
        self.assertEqual([type(result) for result in results], [Busy, Busy])
        self.assertEqual([str(result) for result in results], handled)
        wait_until_idle()
        self.assertEqual(self.drive(run_once, lambda: "free again"), "free again")

    @override_settings(DJANGO_MCP={"SYNC_WORKERS": 1})
    def test_lane_is_not_given_to_calls_that_gave_up(self):
        async def scenario():
            blocker = Blocker()
            slow = asyncio.create_task(run_once(blocker))
            await blocker.entered.acquire()
            ran = []
            hasty = asyncio.create_task(run_once(lambda: ran.append("hasty")))
            await asyncio.sleep(0)
            async with exchange():  # its only job is cancelled while it waits
                stale = asyncio.create_task(sync_to_async(ran.append)("stale"))
                await asyncio.sleep(0)
                stale.cancel()
                hasty.cancel()
                await asyncio.wait([stale, hasty], timeout=LIMIT)
                patient = asyncio.create_task(run_once_elsewhere(ran.append, "patient"))
                await asyncio.sleep(0)
                blocker.released.set()
                await patient
            await slow
            return ran

        self.assertEqual(self.drive(scenario), ["patient"])
        self.assert_nothing_left()

    def test_lanes_above_a_lowered_limit_end(self):
        barrier = threading.Barrier(3)

        async def three():
            await asyncio.gather(*(run_once(barrier.wait, timeout=LIMIT) for _ in range(3)))

        self.drive(three)
        with override_settings(DJANGO_MCP={"SYNC_WORKERS": 1}):
            self.drive(run_once, lambda: None)
            wait_until_idle()
            self.assertLess(lanes_idle(), 3)

    def test_touching_nothing_leases_nothing(self):
        async def tool():
            return lanes_in_use()

        self.assertEqual(self.drive(run_once, tool), 0)

    def test_one_exchange_uses_one_thread(self):
        async def scenario():
            async with exchange():
                runner = Runner()

                async def tool():
                    return await sync_to_async(threading.get_ident)()

                return {
                    await runner.run(invocation(threading.get_ident), Locale()),
                    await runner.run(invocation(tool), Locale()),
                    await runner.call(threading.get_ident),
                    await sync_to_async(threading.get_ident)(),
                }

        self.assertEqual(len(self.drive(scenario)), 1)

    def test_exchange_in_an_exchange_shares_its_thread(self):
        async def inner():
            return await run_once(threading.get_ident)

        async def tool():
            return {await sync_to_async(threading.get_ident)(), await inner()}

        self.assertEqual(len(self.drive(run_once, tool)), 1)
        self.assertEqual(
            *self.drive(run_once, lambda: (threading.get_ident(), async_to_sync(inner)())),
        )

    def test_loop_that_a_function_starts_itself_gets_its_own_lane(self):
        def body():
            return threading.get_ident(), asyncio.run(run_once(threading.get_ident))

        self.assertNotEqual(*self.drive(run_once, body))

    def test_task_that_outlives_its_call_is_in_no_transaction(self):
        async def scenario():
            go, done = asyncio.Event(), []

            async def later():
                await go.wait()
                done.append(await sync_to_async(lambda: connection.in_atomic_block)())

            async def tool():
                await Product.objects.acreate(name="pen")
                return asyncio.create_task(later())

            async with exchange():
                task = await Runner().run(invocation(tool), Locale())
                go.set()
                await task
            return done

        self.assertEqual(self.drive(scenario), [False])

    def test_task_that_outlives_its_exchange_can_not_reach_the_database(self):
        async def scenario():
            go = asyncio.Event()

            async def later():
                await go.wait()
                await Product.objects.acount()

            async def tool():
                return asyncio.create_task(later())

            task = await run_once(tool)
            go.set()
            with self.assertRaisesMessage(RuntimeError, "outlived"):
                await task

        self.drive(scenario)


async def run_once_elsewhere(function, *args):
    """As another task of the server would, outside of the exchange that is open here."""
    task = asyncio.create_task(run_once(lambda: function(*args)), context=contextvars.Context())
    return await task


class AncestorThatIsGoneTests(TestCase):
    def test_call_that_outlives_its_ancestor_is_an_error(self):
        """A sync-only middleware has returned while the exchange below it goes on."""

        async def scenario():
            go, tasks = asyncio.Event(), []

            async def serve():
                async with exchange():
                    await go.wait()
                    return await Runner().run(invocation(Product.objects.count), Locale())

            async def view():
                tasks.append(asyncio.create_task(serve()))
                await asyncio.sleep(0)

            await sync_to_async(async_to_sync(view), thread_sensitive=False)()
            go.set()
            with self.assertRaises(RuntimeError), self.assertLogs("django_mcp.running", "WARNING"):
                await tasks[0]

        asyncio.run(scenario())
