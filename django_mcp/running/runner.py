"""Runs the site's code: on its thread, in its transaction, in the caller's language, within its time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation
from django.db.models.query import QuerySet, RawQuerySet

from django_mcp.conf import MCPSettings, mcp_settings
from django_mcp.exceptions import InputRequired
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.functions import is_async
from django_mcp.running.exchanges import Exchange, open_exchange
from django_mcp.running.isolation import activate, run_in
from django_mcp.running.runs import Run, current_run, stray, timed_out
from django_mcp.server.call import Locale
from django_mcp.server.notifying import Notifying

T = TypeVar("T")

# Values that do their work, and meet the database, while they are converted
_LAZY = (Iterator, QuerySet, RawQuerySet)


class Runner:
    """``settings`` says how long a call may take that has no limit of its own."""

    def __init__(self, settings: Callable[[], MCPSettings] = mcp_settings) -> None:
        self._settings = settings

    async def run(self, invocation: Invocation, locale: Locale, context: Notifying | None = None) -> Any:
        """The finished value of one call. Its writes are committed when this returns, undone when it raises."""
        exchange = _required_exchange()
        timeout = invocation.timeout if invocation.timeout is not None else self._settings().tool_timeout
        run = exchange.new_run(invocation, timeout)
        if context is not None:
            run.context = context
            context.attach(run)
        variables = copy_context()
        variables.run(_prepare, run, locale)
        try:
            return await run_in(variables, _limited(exchange, run) if timeout is not None else _steps(exchange, run))
        except BaseException as error:
            if isinstance(error, BaseExceptionGroup):
                run.forgive_task_group()
            if run.task_is_cancelled:  # whatever the function made of it
                run.abandon()
                raise asyncio.CancelledError from error
            if isinstance(error, asyncio.CancelledError):
                raise stray(error) from error
            if isinstance(error, BaseExceptionGroup):
                raise _without_questions(error) from None
            raise
        finally:
            run.close()
            # Who was given up may ask for it yet; of all others no reference cycle is left.
            if context is not None and not run.is_cancelled:
                context.attach(None)

    def release(self) -> None:
        """Give the lane back between two runs of a function, so that who waits for a person holds none."""
        _required_exchange().release()

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What small code of the site returns, sync or async, in no transaction of ours."""
        exchange = _required_exchange()
        value = function(*args) if is_async(function) else await exchange.run(function, *args)
        if not inspect.isawaitable(value):
            return value
        try:
            return async_to_sync(_value_of)(value) if exchange.is_inline else await value
        except SystemExit as error:  # sync code is guarded where it runs
            raise stray(error) from error


def is_cancelled() -> bool:
    """Whether the call that asks has been given up; for synchronous code, which nothing can stop."""
    run = current_run.get()
    return run is not None and run.is_cancelled


def _without_questions(error: BaseExceptionGroup[Any]) -> BaseExceptionGroup[Any]:
    """Where one task failed and another one asks, the call has failed."""
    _, failures = error.split(InputRequired)
    return error if failures is None else failures


@contextmanager
def refusing_writes() -> Iterator[None]:
    """Every statement of the running call that may write raises ``WriteRefused`` inside the block."""
    run = current_run.get()
    if run is None:
        yield
        return
    with run.refusing_writes():
        yield


def step(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, driven on this thread without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("A coroutine that was driven without an event loop waits for one.")


def _required_exchange() -> Exchange:
    exchange = open_exchange()
    if exchange is None:
        raise RuntimeError("The runner was used outside an exchange. Write: async with exchange(): ...")
    return exchange


def _prepare(run: Run, locale: Locale) -> None:
    current_run.set(run)
    activate(locale)


async def _limited(exchange: Exchange, run: Run) -> Any:
    if exchange.is_inline:
        return await _steps(exchange, run)
    run.timer = timer = asyncio.timeout(run.timeout)
    try:
        async with timer:
            return await _steps(exchange, run)
    except BaseException:
        if not timer.expired():
            raise
    if run.abandon():
        raise timed_out(run.timeout)
    assert run.outcome is not None  # noqa: S101 - a call with a time limit has one
    return await asyncio.wrap_future(run.outcome)  # its commit had begun: tell what came of it


async def _steps(exchange: Exchange, run: Run) -> Any:
    if exchange.is_inline:
        return run.conclude(partial(_execute_inline, run))
    if not run.invocation.is_async:
        return await exchange.run(run.conclude, run.execute)
    try:
        return await _await(exchange, run)
    except (asyncio.CancelledError, GeneratorExit):
        raise  # at once; Run.close() rolls back
    except BaseException as error:
        if run.is_open:
            await exchange.run(run.roll_back)
        if isinstance(error, SystemExit):
            raise stray(error) from error
        raise


async def _await(exchange: Exchange, run: Run) -> Any:
    invocation = run.invocation
    if invocation.atomic:
        await exchange.run(run.begin)
    value = await invocation.function(**invocation.kwargs)
    run.raise_if_cancelled()  # the function may have swallowed it
    if not run.has_begun and not isinstance(value, _LAZY):
        with suppress(SynchronousOnlyOperation):  # lazy further down, so convert it on the thread after all
            result = invocation.finish(value)
            run.decide()
            return result
    return await exchange.run(run.conclude, partial(invocation.finish, value))


def _execute_inline(run: Run) -> Any:
    invocation = run.invocation
    if not invocation.is_async:
        return run.execute()
    return invocation.finish(async_to_sync(_await_inline)(run))


async def _value_of(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


async def _await_inline(run: Run) -> Any:
    timer = asyncio.timeout(run.timeout)
    try:
        async with timer:
            return await run.invocation.function(**run.invocation.kwargs)
    except TimeoutError:
        if timer.expired():
            raise timed_out(run.timeout) from None
        raise
