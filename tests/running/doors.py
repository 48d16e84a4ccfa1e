"""The ways a call can reach the runner, so that every scenario is run through each of them.

    Lane                a server's event loop: asyncio.run() in a test without transaction
    Ancestor            below a sync middleware: async_to_sync() in a test without transaction
    Inline              WSGI: no event loop, in a test without transaction
    AncestorInTestCase  AsyncClient or Client in a TestCase
    InlineInTestCase    Client and a WSGI view in a TestCase

``run_call`` takes a synchronous body. With ``is_async`` it becomes an async tool that reaches the
database through ``sync_to_async``, which is what Django's own async ORM does.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections
from django.test import TestCase, TransactionTestCase

from django_mcp.primitives.base import Invocation
from django_mcp.running import Runner, close_lanes, exchange, is_cancelled, lanes_idle, lanes_in_use, step
from django_mcp.running.lanes import lane_pool
from django_mcp.server.call import Locale
from tests.shop.models import Product

LIMIT = 30
ALIASES = ("default", "other")


def identity(value):
    return value


def invocation(body, *, is_async=None, finish=identity, atomic=None, timeout=None, **kwargs):
    return Invocation(
        function=body,
        kwargs=kwargs,
        is_async=inspect.iscoroutinefunction(body) if is_async is None else is_async,
        finish=finish,
        atomic=atomic,
        timeout=timeout,
    )


async def run_once(body, *, locale=None, **options):
    """One exchange with one call, as a door runs it."""
    async with exchange():
        return await Runner().run(invocation(body, **options), locale or Locale())


async def limited(function, *args, **kwargs):
    async with asyncio.timeout(LIMIT):
        return await function(*args, **kwargs)


def saved(using="default"):
    """The names of all products, read outside of every call."""
    return sorted(Product.objects.using(using).values_list("name", flat=True))


def add(name, using="default", **fields):
    return Product.objects.using(using).create(name=name, **fields)


def assert_untouched():
    """No trace of a call is left on the connections of this thread."""
    for connection in connections.all():
        traces = {"set_autocommit", "on_commit", "close_if_unusable_or_obsolete", "_cursor"}
        assert not traces & set(vars(connection)), connection.alias
        assert not connection.execute_wrappers, connection.alias


class Boom(Exception):
    """What a function fails with in these tests."""


def boom():
    raise Boom


class Blocker:
    """A function that stops in the middle until it is released; it can be waited for from a loop."""

    def __init__(self, before=lambda: None):
        self.before = before
        self.loop = asyncio.get_running_loop()
        self.entered = asyncio.Semaphore(0)
        self.released = threading.Event()
        self.left = asyncio.Semaphore(0)
        self.was_cancelled = None

    def __call__(self):
        self.before()
        self.loop.call_soon_threadsafe(self.entered.release)
        assert self.released.wait(LIMIT)
        self.was_cancelled = is_cancelled()
        self.loop.call_soon_threadsafe(self.left.release)
        return "released"


def wait_until_idle():
    with lane_pool._lock:
        assert lane_pool._lock.wait_for(lambda: lane_pool._count == len(lane_pool._idle), LIMIT)


def kill(victim):
    """End the session of ``victim`` on the server, from a connection of its own."""
    with victim.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()" if victim.vendor == "postgresql" else "SELECT CONNECTION_ID()")
        (number,) = cursor.fetchone()
    killer = victim.copy()
    killer.inc_thread_sharing()
    with killer.cursor() as cursor:
        if victim.vendor == "postgresql":
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [number])
        else:
            cursor.execute(f"KILL {number}")
    killer.close()


if TYPE_CHECKING:
    Base = TestCase
else:
    Base = object


class Door(Base):
    """Runs calls. The class says how, ``is_async`` what kind of tool."""

    databases = set(ALIASES)
    is_async = False
    is_saved_at_once = True
    drive: Callable[..., Any]

    def run_call(self, body, **options):
        if not self.is_async:
            return self.drive(run_once, body, **options)

        async def tool():
            return await sync_to_async(body)()

        return self.drive(run_once, tool, **options)

    def assert_undone(self, body, **options):
        """``body`` followed by a failure leaves nothing behind."""
        before = {alias: saved(alias) for alias in ALIASES}

        def fail():
            body()
            boom()

        with self.assertRaises(Boom):
            self.run_call(fail, **options)
        self.assertEqual({alias: saved(alias) for alias in ALIASES}, before)

    def assert_all_or_nothing(self, body, names, using="default"):
        self.assert_undone(body)
        self.run_call(body)
        self.assertEqual(saved(using), sorted(names))

    def run_here(self, function):
        """``function`` on the thread that calls run on, outside of a call."""

        async def visit():
            async with exchange():
                return await Runner().call(function)

        return self.drive(visit)

    def tearDown(self):
        self.run_here(assert_untouched)
        assert_untouched()
        super().tearDown()


class _Alone(Door, TransactionTestCase):
    available_apps = ["tests.shop"]

    def setUp(self):
        close_lanes()  # those that other tests have left would be counted, or take turns
        super().setUp()

    def tearDown(self):
        self.run_here(self.assert_autocommit)
        super().tearDown()
        close_lanes()

    def assert_autocommit(self):
        for connection in connections.all():
            assert not connection.in_atomic_block
            assert connection.connection is None or connection.autocommit


class Lane(_Alone):
    def drive(self, function, *args, **kwargs):
        return asyncio.run(limited(function, *args, **kwargs))

    def assert_nothing_left(self):
        close_lanes(LIMIT)
        self.assertEqual((lanes_in_use(), lanes_idle()), (0, 0))


class Ancestor(_Alone):
    def drive(self, function, *args, **kwargs):
        return async_to_sync(limited)(function, *args, **kwargs)


class Inline(_Alone):
    def drive(self, function, *args, **kwargs):
        return step(function(*args, **kwargs))


class AncestorInTestCase(Door, TestCase):
    is_saved_at_once = False

    def drive(self, function, *args, **kwargs):
        return async_to_sync(limited)(function, *args, **kwargs)


class InlineInTestCase(Door, TestCase):
    is_saved_at_once = False

    def drive(self, function, *args, **kwargs):
        return step(function(*args, **kwargs))


ALONE = (Lane, Ancestor, Inline)
IN_TEST_CASE = (AncestorInTestCase, InlineInTestCase)


def through(doors, scenarios):
    """A test class for each door, and for sync and async functions."""
    classes = {}
    for door in doors:
        for kind, is_async in (("", False), ("Async", True)):
            name = f"{kind}{door.__name__}{scenarios.__name__}Tests"
            classes[name] = type(name, (scenarios, door), {"is_async": is_async, "__module__": scenarios.__module__})
    return classes
