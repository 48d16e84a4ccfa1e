"""The async ORM, and code that goes back and forth between sync and async, through every door."""

import asyncio
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from channels.db import database_sync_to_async
from django.db import connection, transaction
from django.test import SimpleTestCase
from django.utils import timezone, translation

from django_mcp.exceptions import CallCancelled, NotSaved
from django_mcp.running import Runner, exchange, is_cancelled, step
from django_mcp.server.call import Locale
from tests.running import doors
from tests.running.doors import LIMIT, Boom, add, invocation, run_once, saved
from tests.shop.models import Category, Product


class Unwind(BaseException):
    """Control flow that no function may catch, as a question to the client is."""


class Scenarios(doors.Door):
    def assert_tool_is_all_or_nothing(self, tool, names):
        async def fail():
            await tool()
            raise Boom

        before = saved()
        with self.assertRaises(Boom):
            self.drive(run_once, fail)
        self.assertEqual(saved(), before)
        self.drive(run_once, tool)
        self.assertEqual(saved(), sorted(names))

    def test_async_orm(self):
        async def tool():
            pen = await Product.objects.acreate(name="pen")
            pen.stock = 3
            await pen.asave()
            await Product.objects.aget_or_create(name="ink")
            await Product.objects.abulk_create([Product(name="glue"), Product(name="paper")])
            await Product.objects.filter(name="glue").adelete()
            async for product in Product.objects.all():
                await Product.objects.filter(pk=product.pk).aupdate(stock=1)

        self.assert_tool_is_all_or_nothing(tool, ["ink", "paper", "pen"])

    def test_parallel_awaits_share_the_transaction(self):
        async def tool():
            await asyncio.gather(*(Product.objects.acreate(name=f"pen {number}") for number in range(5)))

        self.assert_tool_is_all_or_nothing(tool, [f"pen {number}" for number in range(5)])

    def test_transaction_of_an_async_function_begins_with_its_first_write(self):
        in_transaction = sync_to_async(lambda: connection.in_atomic_block)

        async def tool():
            await Product.objects.acount()
            before = await in_transaction()
            await Product.objects.acreate(name="pen")
            return before, await in_transaction()

        self.assertEqual(self.drive(run_once, tool), (not self.is_saved_at_once, True))

    def test_atomic_async_function_begins_at_the_start(self):
        async def tool():
            return await sync_to_async(lambda: connection.in_atomic_block)()

        self.assertTrue(self.drive(run_once, tool, atomic=True))

    def test_sync_to_async_in_an_async_function(self):
        """BL-086."""

        async def tool():
            return await sync_to_async(Product.objects.count)()

        self.assertEqual(self.drive(run_once, tool), 0)

    def test_async_to_sync_in_a_sync_function(self):
        """BL-086: async ORM below a sync function lands in the same transaction."""

        async def below():
            await Product.objects.acreate(name="ink")

        def body():
            with transaction.atomic():
                add("pen")
            async_to_sync(below)()

        def fail():
            body()
            raise Boom

        with self.assertRaises(Boom):
            self.drive(run_once, fail)
        self.assertEqual(saved(), [])
        self.drive(run_once, body)
        self.assertEqual(saved(), ["ink", "pen"])

    def test_async_to_sync_below_an_async_function(self):
        async def below():
            await Product.objects.acreate(name="ink")

        async def tool():
            await sync_to_async(async_to_sync(below))()

        self.assert_tool_is_all_or_nothing(tool, ["ink"])

    def test_channels_database_sync_to_async_does_not_end_the_transaction(self):
        async def tool():
            await database_sync_to_async(add)("pen")
            await database_sync_to_async(add)("ink")

        self.assert_tool_is_all_or_nothing(tool, ["ink", "pen"])

    def test_lazy_values_are_converted_on_the_thread(self):
        add("pen")

        async def queryset():
            return Product.objects.values_list("name", flat=True)

        async def nested():
            return {"names": Product.objects.values_list("name", flat=True)}

        async def plain():
            return [1]

        self.assertEqual(self.drive(run_once, queryset, finish=list), ["pen"])
        self.assertEqual(self.drive(run_once, nested, finish=lambda value: list(value["names"])), ["pen"])
        self.assertEqual(self.drive(run_once, plain, finish=list), [1])

    def test_failed_conversion_undoes_an_async_function(self):
        async def tool():
            await Product.objects.acreate(name="pen")

        def refuse(value):
            raise Boom

        with self.assertRaises(Boom):
            self.drive(run_once, tool, finish=refuse)
        self.assertEqual(saved(), [])

    def test_control_flow_undoes_and_passes(self):
        def body():
            add("pen")
            raise Unwind

        async def tool():
            await Product.objects.acreate(name="pen")
            raise Unwind

        for function in (body, tool):
            with self.subTest(function=function), self.assertRaises(Unwind):
                self.drive(run_once, function)
            self.assertEqual(saved(), [])

    def test_call_cancelled_that_the_function_raises_passes(self):
        def body():
            raise CallCancelled

        with self.assertRaises(CallCancelled):
            self.drive(run_once, body)

    def test_exceptions_that_would_stop_the_machinery_are_ordinary_ones(self):
        for error in (StopIteration, SystemExit, asyncio.CancelledError):

            def body(error=error):
                add("pen")
                raise error

            async def tool(error=error):
                await Product.objects.acreate(name="pen")
                raise error

            for function in (body, tool):
                with self.subTest(error=error, function=function), self.assertRaises(RuntimeError):
                    self.drive(run_once, function)
                self.assertEqual(saved(), [])

    def test_async_call_inside_a_call(self):
        async def inner(name):
            await Product.objects.acreate(name=name)
            if name == "bad":
                raise Boom

        async def tool():
            await asyncio.gather(*(run_once(inner, name=name) for name in ("pen", "ink")))
            await asyncio.gather(*(run_once(inner, name=name) for name in ("bad", "glue")), return_exceptions=True)

        self.assert_tool_is_all_or_nothing(tool, ["glue", "ink", "pen"])

    def test_concurrent_exchanges_do_not_mix(self):
        async def tool(name):
            await Product.objects.acreate(name=name)
            await asyncio.sleep(0)
            await Category.objects.acreate(name=name)
            if "bad" in name:
                raise Boom

        async def several():
            names = ["pen", "bad pen", "ink", "bad ink", "glue"]
            async with asyncio.timeout(LIMIT * 3):
                return await asyncio.gather(*(run_once(tool, name=name) for name in names), return_exceptions=True)

        if connection.vendor == "sqlite" and isinstance(self, doors.Lane):
            self.skipTest("SQLite has one writer")
        results = self.drive(several)
        self.assertEqual([isinstance(result, Boom) for result in results], [False, True, False, True, False])
        self.assertEqual(saved(), ["glue", "ink", "pen"])
        self.assertEqual(Category.objects.count(), 3)

    # Language and time zone

    def test_language_and_time_zone_are_active_during_the_call_only(self):
        def look():
            return translation.get_language(), timezone.get_current_timezone_name()

        def sync_tool():
            found = look()
            translation.activate("fr")
            timezone.activate("Asia/Tokyo")
            return found

        async def async_tool():
            found = look()
            assert await sync_to_async(look)() == found
            translation.activate("fr")
            timezone.activate("Asia/Tokyo")
            return found

        outside = look()
        for tool in (sync_tool, async_tool):
            for locale, expected in (
                (Locale(language="de", time_zone="Europe/Berlin"), ("de", "Europe/Berlin")),
                (Locale(), outside),
            ):
                with self.subTest(tool=tool, locale=locale):
                    self.assertEqual(self.drive(run_once, tool, locale=locale), expected)
                    self.assertEqual(self.run_here(look), outside)
                    self.assertEqual(look(), outside)

    # Small code of the site

    def run_small(self, function, *args):
        async def visit():
            async with exchange():
                return await Runner().call(function, *args)

        return self.drive(visit)

    def test_small_code_may_be_sync_or_async(self):
        async def is_staff(context):
            return context + await Product.objects.acount()

        self.assertEqual(self.run_small(lambda context: context + Product.objects.count(), 3), 3)
        self.assertEqual(self.run_small(is_staff, 3), 3)
        self.assertEqual(self.run_small(lambda context: is_staff(context), 3), 3)

    def test_small_code_is_in_no_transaction_of_ours(self):
        def body():
            add("pen")
            raise Boom

        with self.assertRaises(Boom):
            self.run_small(body)
        self.assertEqual(saved(), ["pen"])

    # Time

    def test_call_within_its_time(self):
        async def tool():
            await Product.objects.acreate(name="ink")
            return "fine"

        self.assertEqual(self.drive(run_once, lambda: add("pen").name, timeout=LIMIT), "pen")
        self.assertEqual(self.drive(run_once, tool, timeout=LIMIT), "fine")
        self.assertEqual(saved(), ["ink", "pen"])

    def test_timeout_of_the_function_itself_passes(self):
        async def tool():
            await Product.objects.acreate(name="pen")
            raise TimeoutError("mine")

        with self.assertRaisesMessage(TimeoutError, "mine"):
            self.drive(run_once, tool, timeout=LIMIT)
        with self.assertRaises(Boom):
            self.drive(run_once, self.fail_slowly, timeout=LIMIT)
        self.assertEqual(saved(), [])

    def fail_slowly(self):
        raise Boom

    def test_is_cancelled_is_false_in_a_running_call(self):
        self.assertIs(self.drive(run_once, is_cancelled), False)
        self.assertIs(is_cancelled(), False)

    def test_runner_needs_an_exchange(self):
        async def forget():
            return await Runner().run(invocation(lambda: None), Locale())

        with self.assertRaisesMessage(RuntimeError, "async with exchange()"):
            self.drive(forget)


class LaneTests(Scenarios, doors.Lane):
    pass


class AncestorTests(Scenarios, doors.Ancestor):
    pass


class InlineTests(Scenarios, doors.Inline):
    test_concurrent_exchanges_do_not_mix: Any = None  # nothing is concurrent without a loop


class AncestorInTestCaseTests(Scenarios, doors.AncestorInTestCase):
    pass


class InlineInTestCaseTests(Scenarios, doors.InlineInTestCase):
    test_concurrent_exchanges_do_not_mix: Any = None  # nothing is concurrent without a loop


class StepTests(SimpleTestCase):
    def test_waiting_coroutine_is_refused(self):
        async def wait():
            await asyncio.sleep(0)

        with self.assertRaisesMessage(RuntimeError, "event loop"):
            step(wait())

    def test_result_and_exception(self):
        async def work(value):
            if value is None:
                raise NotSaved
            return value

        self.assertEqual(step(work(3)), 3)
        with self.assertRaises(NotSaved):
            step(work(None))
