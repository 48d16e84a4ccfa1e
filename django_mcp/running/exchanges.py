"""Where the code of one exchange runs.

a running loop and nothing else                     on a lane, leased at the first touch
a sync ancestor (TestCase, a sync-only middleware)  on the ancestor's thread and connections
no running loop (WSGI)                              here and now
in the code of another exchange                     on the thread of that exchange
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, Token, copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext

from django_mcp.primitives.base import Invocation
from django_mcp.running.lanes import lane_pool
from django_mcp.running.leases import OUTLIVED, Lease, Turn
from django_mcp.running.runs import Run, current_run, guarded
from django_mcp.running.store import StorePool, in_store, read_pool, write_pool
from django_mcp.running.threads import Job

P = ParamSpec("P")
R = TypeVar("R")

_current: ContextVar[Exchange | None] = ContextVar("django_mcp_exchange", default=None)
# By the id of an executor, which its turn keeps alive
_turns: WeakValueDictionary[int, Turn] = WeakValueDictionary()
_to_thread = SyncToAsync(guarded, thread_sensitive=True)
_to_reads = SyncToAsync(in_store, thread_sensitive=False, executor=cast("ThreadPoolExecutor", read_pool))
_to_writes = SyncToAsync(in_store, thread_sensitive=False, executor=cast("ThreadPoolExecutor", write_pool))


class Exchange(Executor):
    """Enter it around everything that may run the site's code.

    It is the executor of asgiref's thread-sensitive code inside, so a sync function, async ORM and
    async ORM below a sync function share one thread and its connections.
    """

    __slots__ = (
        "_context",
        "_is_open",
        "_lease",
        "_loop",
        "_outer_context",
        "_token",
        "_turn",
        "ancestor",
        "has_ancestor",
        "is_inline",
    )

    def __init__(self) -> None:
        self.is_inline = False
        # Whether our own rows go through the connections of an ancestor as well.
        self.has_ancestor = False
        self.ancestor: Executor | None = None
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lease: Lease | None = None
        self._turn: Turn | None = None
        self._context: Any = None
        self._outer_context: Token[ThreadSensitiveContext] | None = None
        self._token: Token[Exchange | None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a lane is occupied, after the end too if its function was abandoned."""
        return self._lease is not None and self._lease.is_held

    async def __aenter__(self) -> Exchange:
        outer = open_exchange()
        loop = running_loop()
        ancestor = None if loop is None else getattr(AsyncToSync.executors, "current", None)
        if loop is not None and ancestor is None:
            if outer is not None and outer._loop is loop:
                return outer
            ancestor = AsyncToSync.loop_thread_executors.get(loop)
        self.has_ancestor = (loop is None or ancestor is not None) if outer is None else outer.has_ancestor
        self.is_inline = loop is None
        if loop is not None:
            self._loop = loop
            self.ancestor = ancestor
            if ancestor is None:
                self._outer_context = SyncToAsync.thread_sensitive_context.set(_lanes)
            else:  # which asgiref would prefer to any context that does not hide it
                self._context = ThreadSensitiveContext(executor=self)
                await self._context.__aenter__()
        self._token = _current.set(self)
        self._is_open = True
        return self

    @property
    def turn(self) -> Turn:
        """What the calls on the thread of this exchange take, one after the other."""
        if self._turn is None:
            if self.ancestor is not None:
                self._turn = _turn_on(self.ancestor)
            else:
                self._lease = Lease(lane_pool)
                self._turn = Turn(self._lease.put)
        return self._turn

    async def __aexit__(self, *exc_info: object) -> None:
        if self._token is None:  # another exchange was open and has done the work
            return
        self._is_open = False
        _current.reset(self._token)
        self._token = None
        if self._outer_context is not None:
            SyncToAsync.thread_sensitive_context.reset(self._outer_context)
        elif self._context is not None:
            await self._context.__aexit__(None, None, None)
        if self._lease is not None:
            self._lease.close()

    def release(self) -> None:
        """Give the lane back; the next touch leases another one."""
        if self._lease is not None:
            self._lease.close()
            self._lease = self._turn = None

    def new_run(self, invocation: Invocation, timeout: float | None) -> Run:
        outer = current_run.get()
        if outer is None or outer.is_over or outer.exchange is not self:
            outer = None
        return Run(invocation, timeout=timeout, exchange=self, outer=outer)

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run ``function`` on the thread of the exchange."""
        if self.is_inline and running_loop() is None:
            return guarded(function, *args)
        return await _to_thread(function, *args)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Called by asgiref on the loop's thread, in the context of the code that waits."""
        function = partial(fn, *args, **kwargs)
        run = current_run.get()
        if run is not None and run.exchange is self and not run.is_over:
            return run.submit(function)
        job = Job(function)
        self.turn.put(job)
        return job.future


class _CurrentExchange(Executor):
    """Passes on to the exchange whose code asks."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        found = open_exchange()
        if found is None:
            raise RuntimeError(OUTLIVED)
        return found.submit(fn, *args, **kwargs)


def _entered(executor: Executor) -> ThreadSensitiveContext:
    """asgiref knows the executor of a context from its entry on. This one is never left."""
    context: Any = ThreadSensitiveContext(executor=executor)
    with suppress(StopIteration):
        copy_context().run(context.__aenter__().send, None)
    return cast("ThreadSensitiveContext", context)


# One for all exchanges: to enter a context of asgiref costs more than all else that an exchange does.
_lanes = _entered(_CurrentExchange())


def exchange() -> Exchange:
    """``async with exchange():`` around one request and its answer."""
    return Exchange()


def close_lanes(timeout: float = 5.0) -> None:
    """End the threads and close their connections, waiting for code that still runs; new ones start when needed."""
    lane_pool.close(timeout)
    read_pool.close(timeout)
    write_pool.close(timeout)


def open_exchange() -> Exchange | None:
    """The exchange that the running code belongs to, if it has not ended."""
    found = _current.get()
    return found if found is not None and found._is_open else None


def has_ancestor() -> bool:
    """Whether the code of this exchange runs on a thread, and perhaps in a transaction, that is not ours."""
    found = open_exchange()
    return found is None or found.has_ancestor


def running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def run_store(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run code of ours that reads the database, and writes at most what need not wait. It is no part of any call."""
    return await _run_in(_to_reads, partial(function, *args, **kwargs))


async def write_store(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run code of ours that writes to the database and may have to wait for that."""
    return await _run_in(_to_writes, partial(function, *args, **kwargs))


def write_later(function: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Future[Any]:
    """Have it done on the writing thread while the call that noticed it goes on. Only outside an ancestor."""
    work = partial(function, *args, **kwargs)
    if running_loop() is not None:
        return write_pool.submit(in_store, work)
    # Under WSGI nothing else writes there, so neither the thread nor its connection is kept.
    once = StorePool("mcp-store-once", lambda: 1)
    future = once.submit(in_store, work)
    once.close(0)
    return future


async def _run_in(pool: SyncToAsync[[Callable[[], Any]], Any], work: Callable[[], R]) -> R:
    loop = running_loop()
    if loop is None:
        return work()
    ancestor = _store_ancestor(loop)
    if ancestor is None:
        result: R = await pool(work)
    else:
        executor = cast("ThreadPoolExecutor", ancestor)
        result = await SyncToAsync(guarded, thread_sensitive=False, executor=executor)(work)
    return result


def _store_ancestor(loop: asyncio.AbstractEventLoop) -> Executor | None:
    found = open_exchange()
    if found is not None and not found.has_ancestor:
        return None
    nearest: Executor | None = getattr(AsyncToSync.executors, "current", None)
    if nearest is not None:
        return nearest
    return AsyncToSync.loop_thread_executors.get(loop) if found is None else found.ancestor


def _turn_on(executor: Executor) -> Turn:
    """Exchanges on one thread share its connections, so their calls take turns."""
    turn = _turns.get(id(executor))
    if turn is None:
        turn = _turns[id(executor)] = Turn(partial(_put_on, executor))
    return turn


def _put_on(executor: Executor, job: Job) -> None:
    executor.submit(job.run)
