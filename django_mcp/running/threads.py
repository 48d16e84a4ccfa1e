"""Daemon threads that run jobs one after the other, and the state of their database connections.

Threads live as long as the process, so each keeps its connections as ``CONN_MAX_AGE`` allows.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from django.db import Error, close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger("django_mcp.running")

# Seconds after which a connection that nobody used may have been cut by a server or a firewall.
CHECK_AFTER = 1.0


class Job:
    """A function and the future of its result. Whoever claims it first, runs it or gives it up."""

    __slots__ = ("_claim", "_function", "future")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._claim = threading.Lock()
        self.future: Future[Any] = Future()

    @property
    def is_waiting(self) -> bool:
        return not self._claim.locked() and not self.future.cancelled()

    def run(self) -> None:
        if not self._claim.acquire(blocking=False) or not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self._function()
        except StopIteration as error:
            # asyncio refuses it as a result, and whoever waits would wait for ever.
            self.future.set_exception(RuntimeError(f"{error!r} left the code that was called"))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the future
            self.future.set_exception(error)
            del error
        else:
            self.future.set_result(result)
        finally:
            del self._function

    def fail(self, error: Exception) -> None:
        """Give the job up, unless it runs or has been cancelled."""
        if self._claim.acquire(blocking=False) and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def fail_after(self, seconds: float, error: Exception) -> None:
        """Must be called on the thread of a running event loop."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, self.fail, error)

        def stop_timer(future: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop has ended, and the timer with it
                loop.call_soon_threadsafe(timer.cancel)

        self.future.add_done_callback(stop_timer)


class Worker:
    """One thread that takes jobs from a queue until it is told to stop."""

    def __init__(self, name: str, jobs: SimpleQueue[Callable[[], None] | None]) -> None:
        self._jobs = jobs
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception:  # a thread outlives what fails on it
                logger.exception("A step between two jobs failed")
            del job
        connections.close_all()


def after_fork(forget: Callable[[], None]) -> None:
    """A forked child has no thread but the one that forked."""
    with suppress(AttributeError):  # Windows has no fork
        os.register_at_fork(after_in_child=forget)


class Idleness:
    """How long the connections of a thread have not been used."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = time.monotonic()

    def begin_work(self) -> None:
        """As at the start of a request, and connections that may have been cut are tried first."""
        close_old_connections()
        if time.monotonic() - self._since > CHECK_AFTER:
            for connection in connections.all(initialized_only=True):
                _check(connection)

    def end_work(self) -> None:
        """As at the end of a request; the next use of a connection left in a transaction opens a new one."""
        for connection in connections.all(initialized_only=True):
            if is_in_transaction(connection):
                discard(connection)
        close_old_connections()
        self.begin_idling()

    def begin_idling(self) -> None:
        self._since = time.monotonic()


def _check(connection: Any) -> None:
    if connection.connection is not None:
        if not connection.is_usable():
            connection.close()
        connection.health_check_done = True


def is_in_transaction(connection: BaseDatabaseWrapper) -> bool:
    """Asks nothing of the server and opens no connection."""
    return connection.in_atomic_block or (connection.connection is not None and not connection.autocommit)


def may_wait_open() -> bool:
    """Whether the next exchange may find the connections of this thread as they are."""
    now = time.monotonic()
    return not any(
        is_in_transaction(connection)
        or connection.errors_occurred
        or (connection.close_at is not None and connection.close_at <= now)
        for connection in connections.all(initialized_only=True)
    )


def discard(connection: BaseDatabaseWrapper) -> None:
    """Close a connection whatever its state; the server rolls back what was open."""
    connection.in_atomic_block = False
    connection.atomic_blocks = []
    connection.savepoint_ids = []
    connection.needs_rollback = False
    connection.closed_in_transaction = False
    with suppress(Error):  # it may be cut already
        connection.close()
    connection.connection = None
