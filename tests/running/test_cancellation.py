"""Calls that are given up: cancelled, or out of time."""

import asyncio
import threading
from contextlib import suppress
from unittest import mock

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.test import override_settings

from django_mcp.exceptions import CallTimeout, NotSaved
from django_mcp.running import Runner, close_lanes, exchange, lanes_in_use
from django_mcp.running.runs import Run
from django_mcp.running.threads import Job
from django_mcp.running.transactions import CallTransaction
from django_mcp.server.call import Locale
from tests.running import doors
from tests.running.doors import LIMIT, Blocker, Boom, add, invocation, run_once, saved, wait_until_idle
from tests.shop.models import Product

is_sqlite = connection.vendor == "sqlite"


class Cancellation(doors.Door):
    """In a transaction of the test or alone; ``drive`` comes from the door."""

    def cancel_in_the_middle(self, start):
        """Cancel what ``start`` begins once it has written, then let its function return."""

        async def scenario():
            blocker = Blocker(lambda: add("pen"))
            task = asyncio.create_task(start(blocker))
            await blocker.entered.acquire()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            was_running = not blocker.released.is_set()
            blocker.released.set()
            await blocker.left.acquire()
            return was_running, task.cancelled(), blocker.was_cancelled

        return self.drive(scenario)

    def test_sync_function_is_undone_though_it_returns(self):
        self.assertEqual(self.cancel_in_the_middle(run_once), (True, True, True))
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_async_function_in_the_middle_of_a_query_is_undone(self):
        async def start(blocker):
            async def tool():
                await sync_to_async(blocker)()

            await run_once(tool)

        self.assertEqual(self.cancel_in_the_middle(start), (True, True, True))
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_async_function_between_two_queries_is_undone(self):
        async def scenario():
            written, never = asyncio.Event(), asyncio.Event()

            async def tool():
                await Product.objects.acreate(name="pen")
                written.set()
                await never.wait()

            task = asyncio.create_task(run_once(tool))
            await written.wait()
            task.cancel()
            await asyncio.wait([task], timeout=LIMIT)
            return task.cancelled()

        self.assertTrue(self.drive(scenario))
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_swallowed_cancellation_is_undone_all_the_same(self):
        async def scenario():
            written, never = asyncio.Event(), asyncio.Event()

            async def tool():
                await Product.objects.acreate(name="pen")
                written.set()
                with suppress(asyncio.CancelledError):
                    await never.wait()
                return "as if nothing had happened"

            task = asyncio.create_task(run_once(tool))
            await written.wait()
            task.cancel()
            await asyncio.wait([task], timeout=LIMIT)
            return task.cancelled()

        self.assertTrue(self.drive(scenario))
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_error_in_the_clean_up_of_a_cancelled_function_is_a_cancellation(self):
        async def scenario():
            waiting = asyncio.Semaphore(0)

            async def wait():
                waiting.release()
                try:
                    await asyncio.Event().wait()
                finally:
                    raise Boom

            tasks = [
                asyncio.create_task(run_once(wait)),
                asyncio.create_task(run_once(lambda: async_to_sync(wait)())),
            ]
            for _ in tasks:
                await waiting.acquire()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=LIMIT)
            return [task.cancelled() for task in tasks]

        self.assertEqual(self.drive(scenario), [True, True])

    def test_swallowed_cancellation_below_a_sync_function_is_undone(self):
        async def scenario():
            written, never = asyncio.Event(), asyncio.Event()

            async def wait():
                written.set()
                with suppress(asyncio.CancelledError):
                    await never.wait()

            def body():
                add("pen")
                async_to_sync(wait)()

            task = asyncio.create_task(run_once(body))
            await written.wait()
            task.cancel()
            await asyncio.wait([task], timeout=LIMIT)
            return task.cancelled()

        self.assertTrue(self.drive(scenario))
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_coroutine_that_is_closed_in_the_middle_cleans_up(self):
        async def scenario():
            ended = []

            async def tool():
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(asyncio.get_running_loop())

            coroutine = run_once(tool)
            coroutine.send(None)
            coroutine.close()
            return len(ended)

        self.assertEqual(self.drive(scenario), 1)

    def test_function_that_has_not_begun_never_begins(self):
        async def scenario():
            ran = []
            task = asyncio.create_task(run_once(lambda: ran.append("begun")))
            asyncio.get_running_loop().call_soon(task.cancel)
            with mock.patch.object(Job, "run"):
                await asyncio.wait([task], timeout=LIMIT)
            return task.cancelled(), ran

        self.assertEqual(self.drive(scenario), (True, []))

    def test_time_limit_undoes_a_sync_function(self):
        async def scenario():
            blocker = Blocker(lambda: add("pen"))
            with self.assertRaisesMessage(CallTimeout, "0.05 seconds"):
                await run_once(blocker, timeout=0.05)
            blocker.released.set()
            await blocker.left.acquire()

        self.drive(scenario)
        close_lanes(LIMIT)
        self.assertEqual(saved(), [])

    def test_time_limit_undoes_an_async_function(self):
        async def stubborn():
            await Product.objects.acreate(name="pen")
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

        async def obedient():
            await Product.objects.acreate(name="pen")
            await asyncio.Event().wait()

        for tool in (stubborn, obedient):
            with self.subTest(tool=tool), self.assertRaises(CallTimeout):
                self.drive(run_once, tool, timeout=0.05)
            close_lanes(LIMIT)
            self.assertEqual(saved(), [])

    @override_settings(DJANGO_MCP={"TOOL_TIMEOUT": 0.05})
    def test_time_limit_of_the_settings(self):
        async def tool():
            await asyncio.Event().wait()

        with self.assertRaises(CallTimeout):
            self.drive(run_once, tool)

    def test_time_limit_that_strikes_during_the_commit_is_too_late(self):
        """The answer says what became of the data."""

        async def scenario(commit):
            loop, given_up = asyncio.get_running_loop(), threading.Event()
            timers: list[asyncio.Timeout] = []
            abandon, timeout = Run.abandon, asyncio.timeout

            def late_commit(transaction):
                loop.call_soon_threadsafe(timers[0].reschedule, loop.time())
                assert given_up.wait(LIMIT)
                commit(transaction)

            def abandon_loudly(call):
                outcome = abandon(call)
                given_up.set()
                return outcome

            def remembered_timeout(seconds):
                timers.append(timeout(seconds))
                return timers[-1]

            with (
                mock.patch.object(CallTransaction, "commit", late_commit),
                mock.patch.object(Run, "abandon", abandon_loudly),
                mock.patch.object(asyncio, "timeout", remembered_timeout),
            ):
                return await run_once(lambda: add("pen").name, timeout=LIMIT)

        def refuse(transaction):
            transaction.roll_back()
            raise NotSaved("refused")

        self.assertEqual(self.drive(scenario, CallTransaction.commit), "pen")
        self.assertEqual(saved(), ["pen"])
        Product.objects.all().delete()
        with self.assertRaisesMessage(NotSaved, "refused"):
            self.drive(scenario, refuse)
        self.assertEqual(saved(), [])


class LaneCancellationTests(Cancellation, doors.Lane):
    def test_lane_of_an_abandoned_function_is_in_use_until_it_returns(self):
        async def scenario():
            blocker = Blocker()
            opened = exchange()

            async def serve():
                async with opened:
                    await Runner().run(invocation(blocker), Locale())

            task = asyncio.create_task(serve())
            await blocker.entered.acquire()
            task.cancel()
            await asyncio.wait([task], timeout=LIMIT)
            abandoned = lanes_in_use(), opened.is_busy
            blocker.released.set()
            await blocker.left.acquire()
            return abandoned, opened

        abandoned, opened = self.drive(scenario)
        self.assertEqual(abandoned, (1, True))
        wait_until_idle()
        self.assertEqual((lanes_in_use(), opened.is_busy), (0, False))


class AncestorCancellationTests(Cancellation, doors.Ancestor):
    pass


class TestCaseCancellationTests(Cancellation, doors.AncestorInTestCase):
    pass


class InlineTimeTests(doors.Inline):
    """Without a loop nothing can be interrupted but what waits in a loop of its own."""

    def test_async_function_is_stopped(self):
        async def tool():
            await Product.objects.acreate(name="pen")
            await asyncio.Event().wait()

        with self.assertRaises(CallTimeout):
            self.drive(run_once, tool, timeout=0.05)
        self.assertEqual(saved(), [])

    def test_sync_function_is_undone_when_it_returns_too_late(self):
        def body():
            add("pen")
            threading.Event().wait(0.03)

        with self.assertRaises(CallTimeout):
            self.drive(run_once, body, timeout=0.01)
        self.assertEqual(saved(), [])
