"""A lease collects jobs until it is given a place to run them, and keeps the place until it is closed.

Two sources give places: the pool of lanes, and a ``Turn``, which lets the calls that share one
connection work on it one after the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from django_mcp.conf import mcp_settings
from django_mcp.exceptions import Busy
from django_mcp.running.threads import Job

OUTLIVED = "This code outlived its exchange and can no longer reach the database."


class Place(Protocol):
    """Runs jobs in order on one thread."""

    def begin(self) -> None: ...

    def put(self, job: Job) -> None: ...

    def give_back(self, returned: Callable[[], None]) -> None:
        """The holder is done; call ``returned`` when the place is free again."""


class Source(Protocol):
    """Gives places to leases."""

    def request(self, lease: Lease) -> None:
        """Attach a place to ``lease``, now or when one is free."""

    def withdraw(self, lease: Lease) -> None:
        """``lease`` no longer waits."""


class Lease:
    """A claim to a place, which it gets at its first job."""

    __slots__ = ("_backlog", "_closed", "_lock", "_place", "_source", "is_held")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._place: Place | None = None
        self._backlog: list[Job] = []
        self._closed = False
        # Stays true after the end for as long as an abandoned function occupies the place.
        self.is_held = False

    def put(self, job: Job) -> None:
        """Must be called on the thread of a running event loop."""
        with self._lock:
            if self._closed:
                raise RuntimeError(OUTLIVED)
            if self._place is not None:
                self._place.put(job)
                return
            self._backlog.append(job)
            is_first = len(self._backlog) == 1
        if is_first:
            self._source.request(self)
        if self._place is None:
            job.fail_after(mcp_settings().lane_timeout, _busy())

    def attach(self, place: Place) -> bool:
        """Take ``place``, unless nothing waits for it any more."""
        with self._lock:
            waiting = [job for job in self._backlog if job.is_waiting]
            self._backlog = []
            if not waiting:
                return False
            self._place = place
            self.is_held = True
            place.begin()
            for job in waiting:
                place.put(job)
        return True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            place, self._place = self._place, None
            backlog, self._backlog = self._backlog, []
        if place is not None:
            place.give_back(self._mark_returned)
        elif backlog:
            self._source.withdraw(self)

    def _mark_returned(self) -> None:
        self.is_held = False


def _busy() -> Busy:
    return Busy("The server is busy: no thread became free in time. Nothing was done. Try again later.")


class Turn:
    """A place that one lease holds at a time; used on the thread of one event loop."""

    def __init__(self, put: Callable[[Job], None]) -> None:
        self.put = put
        self._is_free = True
        self._waiting: deque[Lease] = deque()

    def begin(self) -> None:
        """Nothing to prepare: the connections belong to someone else."""

    def request(self, lease: Lease) -> None:
        self._waiting.append(lease)
        if self._is_free:
            self._next()

    def withdraw(self, lease: Lease) -> None:
        with suppress(ValueError):
            self._waiting.remove(lease)

    def give_back(self, returned: Callable[[], None]) -> None:
        returned()
        self._next()

    def _next(self) -> None:
        self._is_free = False
        while self._waiting:
            if self._waiting.popleft().attach(self):
                return
        self._is_free = True
