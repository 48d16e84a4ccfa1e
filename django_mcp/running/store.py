"""The store pools: a few threads for our own rows and for authentication.

It never waits for a lane, nor a lane for it, so slow tools do not delay anybody's session lookup. Writes
have a thread of their own: on SQLite one waits for a tool that has written and goes on, and no read
may wait behind it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from django_mcp.conf import mcp_settings
from django_mcp.running.threads import Idleness, Job, Worker, after_fork

_thread = threading.local()


class StorePool(Executor):
    """Threads that share one queue; ``size`` says how many there may be."""

    def __init__(self, name: str, size: Callable[[], int]) -> None:
        self._name = name
        self._size = size
        self.forget()

    def forget(self) -> None:
        """Start over: the threads are gone."""
        self._lock = threading.Lock()
        self._steps: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._workers: list[Worker] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        job = Job(partial(fn, *args, **kwargs))
        with self._lock:
            self._steps.put(job.run)
            if len(self._workers) < self._size():
                self._workers.append(Worker(self._name, self._steps))
        return job.future

    def close(self, timeout: float) -> None:
        with self._lock:
            workers, self._workers = self._workers, []
            steps, self._steps = self._steps, SimpleQueue()
        for _ in workers:
            steps.put(None)
        for worker in workers:
            worker.join(timeout)


read_pool = StorePool("mcp-store", lambda: mcp_settings().store_workers)
write_pool = StorePool("mcp-store-writes", lambda: 1)
after_fork(read_pool.forget)
after_fork(write_pool.forget)


def in_store(function: Callable[[], Any]) -> Any:
    """Run ``function`` on a thread of the pool, once more if its connection was lost meanwhile."""
    idleness = _thread.__dict__.setdefault("idleness", Idleness())
    idleness.begin_work()
    try:
        before = {connection: connection.connection for connection in connections.all(initialized_only=True)}
        try:
            return function()
        except (InterfaceError, OperationalError):
            if not _has_lost(before):
                raise
        return function()
    finally:
        idleness.end_work()


def _has_lost(before: dict[BaseDatabaseWrapper, Any]) -> bool:
    """Whether a connection was cut, be it one that the function opened itself; what is cut is closed."""
    lost = False
    for connection in connections.all(initialized_only=True):
        raw = before.get(connection)
        if connection.connection is not None and not connection.is_usable():
            connection.close()
            lost = True
        lost = lost or (raw is not None and connection.connection is not raw)
    return lost
