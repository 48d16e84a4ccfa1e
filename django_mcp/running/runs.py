"""One call of the site's code: its jobs, its transaction and the decision how it ends.

The thread that wants to commit and the event loop that gives up may come to the decision at the same
moment; the first one takes it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

from django_mcp.exceptions import CallCancelled, CallTimeout
from django_mcp.primitives.base import Invocation
from django_mcp.running.leases import Lease, Turn
from django_mcp.running.pauses import Pauses
from django_mcp.running.threads import Job
from django_mcp.running.transactions import CallTransaction
from django_mcp.server.notifying import Notifying

logger = logging.getLogger("django_mcp.running")

current_run: ContextVar[Run | None] = ContextVar("django_mcp_run", default=None)


class Threaded(Protocol):
    """An exchange, as far as a call has to know it."""

    is_inline: bool
    ancestor: Executor | None

    def release(self) -> None: ...

    @property
    def turn(self) -> Turn: ...


class Run:
    """``outer`` is the call of the same exchange that this one runs in."""

    __slots__ = (
        "_cancelling",
        "_deadline",
        "_decision",
        "_is_abandoned",
        "_lease",
        "_outer",
        "_pauses",
        "_task",
        "_transaction",
        "_turn",
        "context",
        "exchange",
        "invocation",
        "is_over",
        "outcome",
        "timeout",
        "timer",
    )

    def __init__(self, invocation: Invocation, *, timeout: float | None, exchange: Threaded, outer: Run | None) -> None:
        self.invocation = invocation
        self.exchange = exchange
        self.timeout = timeout
        # What the function knows about the request, if it knows anything
        self.context: Notifying | None = None
        self.is_over = False
        self._outer = outer
        self._lease: Lease | None = None
        self._turn: Turn | None = None
        self._pauses: Pauses | None = None
        # What runs out with its time limit
        self.timer: asyncio.Timeout | None = None
        self._transaction = CallTransaction(invocation.atomic)
        self._decision = threading.Lock()
        self._is_abandoned = False
        self._task = None if exchange.is_inline else asyncio.current_task()
        self._cancelling = 0 if self._task is None else self._task.cancelling()
        self._deadline: float | None = None
        # Only a call with a time limit is asked what became of it after it was given up.
        self.outcome: Future[Any] | None = None
        if timeout is not None:
            self._deadline = time.monotonic() + timeout
            self.outcome = Future()
            self.outcome.set_running_or_notify_cancel()

    @property
    def task_is_cancelled(self) -> bool:
        """Whether the task was cancelled since the call began; may be asked on any thread."""
        return self._task is not None and self._task.cancelling() > self._cancelling

    def forgive_task_group(self) -> None:
        """Before Python 3.13 a ``TaskGroup`` that fails leaves the task cancelled that waited for it."""
        if sys.version_info < (3, 13) and self._task is not None and self.task_is_cancelled:
            self._task.uncancel()

    @property
    def is_cancelled(self) -> bool:
        return self._is_abandoned or self.task_is_cancelled

    @property
    def has_begun(self) -> bool:
        """Whether it has met the database."""
        return self._transaction.state != "new"

    @property
    def holds_transaction(self) -> bool:
        """Whether others may have to wait for it; may be asked on any thread."""
        return self._transaction.has_begun_any or (self._outer is not None and self._outer.holds_transaction)

    @property
    def is_open(self) -> bool:
        return self._transaction.state == "open"

    def raise_if_cancelled(self) -> None:
        if self.is_cancelled:
            raise asyncio.CancelledError

    @property
    def turn(self) -> Turn:
        """Calls inside this one work on its thread one after the other."""
        if self._turn is None:
            self._turn = Turn(self.put)
        return self._turn

    # On the event loop.

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        job = Job(partial(self._run, function))
        self.put(job)
        return job.future

    def put(self, job: Job) -> None:
        if self._pauses is not None and self._pauses.holds_back(job):
            return
        self.put_at_once(job)

    def put_at_once(self, job: Job) -> None:
        if self._lease is None:
            self._lease = Lease(self.exchange.turn if self._outer is None else self._outer.turn)
        self._lease.put(job)

    @property
    def is_undone(self) -> bool:
        return self.invocation.atomic is not False

    @property
    def waits_inline(self) -> bool:
        """Not on a thread that belongs to somebody else, who would have to wait with it."""
        exchange = self.exchange
        is_alone = self._outer is None and self._turn is None
        return self.invocation.wait_inline and is_alone and not exchange.is_inline and exchange.ancestor is None

    def pausing(self) -> AbstractAsyncContextManager[None]:
        """While a person is waited for: no time passes, and neither thread nor connection is held.

        Raises ``RuntimeError`` where the call is in a transaction.
        """
        if self._pauses is None:
            self._pauses = Pauses(self)
        return self._pauses.pause()

    def let_go(self) -> None:
        """Give the connections back; the next touch gets others."""
        if self._lease is not None:
            self._lease.close()
            self._lease = None
            self._transaction = CallTransaction(self.invocation.atomic)
        self.exchange.release()

    def stop_reading(self) -> bool:
        """End the watch over connections that have only been read from; false where there is a transaction."""
        if self._transaction.has_begun_any:
            return False
        self._transaction.roll_back()
        return True

    def add_time(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline += seconds

    def abandon(self) -> bool:
        """Whether the call is undone; otherwise its commit has begun."""
        self._is_abandoned = self._is_abandoned or self._decision.acquire(blocking=False)
        return self._is_abandoned

    def close(self) -> None:
        """Nothing waits for the call any more. What it left open is rolled back behind its last job."""
        self.is_over = True
        if self._lease is None:
            return
        try:
            if self._transaction.state != "ended":
                self._lease.put(Job(self._transaction.roll_back))
            self._lease.close()
        except RuntimeError:  # the thread of a sync ancestor has gone on, or ended
            logger.warning("A call outlived the thread it belonged to", exc_info=True)

    # On the thread that has the connections.

    def _run(self, function: Callable[[], Any]) -> Any:
        self.begin()
        return function()

    def begin(self) -> None:
        if self._outer is not None:
            self._outer.begin()
        self._transaction.begin()

    @contextmanager
    def refusing_writes(self) -> Iterator[None]:
        self._transaction.refuses_writes = True
        try:
            yield
        finally:
            self._transaction.refuses_writes = False

    def roll_back(self) -> None:
        self._transaction.roll_back()

    def conclude(self, produce: Callable[[], Any]) -> Any:
        """What ``produce`` returns, with everything saved; or its exception, with nothing saved."""
        try:
            result = self._conclude(produce)
        except BaseException as error:
            if self.outcome is not None:
                self.outcome.set_exception(error)
            raise
        if self.outcome is not None:
            self.outcome.set_result(result)
        return result

    def _conclude(self, produce: Callable[[], Any]) -> Any:
        try:
            self.begin()
            result = guarded(produce)
            self.decide()
        except BaseException:
            self._transaction.roll_back()
            raise
        self._transaction.commit()
        return result

    def decide(self) -> None:
        """From here on the call is good; raises if it has been given up."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise timed_out(self.timeout)
        if self.is_cancelled or not self._decision.acquire(blocking=False):
            raise CallCancelled

    def execute(self) -> Any:
        """A synchronous function and the conversion of its value, in one step."""
        invocation = self.invocation
        return invocation.finish(invocation.function(**invocation.kwargs))


def timed_out(seconds: float | None) -> CallTimeout:
    return CallTimeout(f"The call took longer than {seconds:g} seconds and was stopped. Nothing was saved.")


def guarded(function: Callable[..., Any], *args: Any) -> Any:
    """Exceptions that would stop the machinery around the site's code become ordinary ones."""
    try:
        return function(*args)
    except (StopIteration, SystemExit, asyncio.CancelledError, GeneratorExit) as error:
        raise stray(error) from error
    except KeyboardInterrupt as error:
        # On the main thread, where WSGI servers work, it is meant for the process. Elsewhere none can come.
        if threading.current_thread() is threading.main_thread():
            raise
        raise stray(error) from error


def stray(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__} left the code that was called")
