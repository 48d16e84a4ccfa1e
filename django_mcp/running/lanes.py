"""Lanes: threads with their own database connections, where the site's code meets the ORM.

An exchange leases one at its first touch and gives it back after its outcome. A lane whose function
was abandoned stays leased until the function returns. Waiting for a lane is bounded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from django_mcp.conf import mcp_settings
from django_mcp.running.leases import Lease
from django_mcp.running.threads import Idleness, Job, Worker, after_fork, may_wait_open


class Lane:
    """A thread with its own connections, kept for the life of the process."""

    def __init__(self, pool: LanePool) -> None:
        self._pool = pool
        self._steps: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idleness = Idleness()
        self._worker = Worker("mcp-lane", self._steps)
        self._is_fresh = False
        self._is_clean = False
        # Each is counted up by one thread alone: the loop's and the lane's.
        self._given = 0
        self._done = 0

    def begin(self) -> None:
        self._is_fresh = True

    def put(self, job: Job) -> None:
        self._given += 1
        self._steps.put(partial(self._run, job, self._is_fresh))
        self._is_fresh = False

    def give_back(self, returned: Callable[[], None]) -> None:
        # Waking the thread costs more than most calls do, so it is left asleep if it has nothing to tidy.
        if self._given == self._done and self._is_clean:
            self._idleness.begin_idling()
            returned()
            self._pool.offer(self)
        else:
            self._steps.put(partial(self._end_with, returned))

    def _run(self, job: Job, is_first: bool) -> None:
        try:
            if is_first:
                self._idleness.begin_work()
        finally:
            job.run()
            self._is_clean = may_wait_open()
            self._done += 1

    def _end_with(self, returned: Callable[[], None]) -> None:
        try:
            self._idleness.end_work()
        finally:
            returned()
            self._pool.offer(self)

    def stop(self) -> None:
        self._steps.put(None)

    def join(self, timeout: float) -> None:
        self._worker.join(timeout)


class LanePool:
    """The lanes of the process, at most ``SYNC_WORKERS`` of them at work."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: the threads are gone."""
        self._lock = threading.Condition(threading.Lock())
        self._idle: list[Lane] = []
        self._waiting: deque[Lease] = deque()
        self._count = 0

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def in_use(self) -> int:
        with self._lock:
            return self._count - len(self._idle)

    def request(self, lease: Lease) -> None:
        with self._lock:
            self._waiting.append(lease)
            if self._count - len(self._idle) >= mcp_settings().sync_workers:
                return
            if self._idle:
                lane = self._idle.pop()
            else:
                self._count += 1
                lane = Lane(self)
        self.offer(lane)

    def withdraw(self, lease: Lease) -> None:
        with self._lock, suppress(ValueError):
            self._waiting.remove(lease)

    def offer(self, lane: Lane) -> None:
        """Give ``lane`` to whoever waits longest; put it aside if nobody does."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._put_aside(lane)
                    return
                lease = self._waiting.popleft()
            if lease.attach(lane):
                return

    def _put_aside(self, lane: Lane) -> None:
        if self._count > mcp_settings().sync_workers:
            self._count -= 1
            lane.stop()
        else:
            self._idle.append(lane)
        self._lock.notify_all()

    def close(self, timeout: float) -> None:
        """Wait for the lanes at work, then end the idle ones and close their connections.

        New lanes start when they are needed.
        """
        end = time.monotonic() + timeout
        with self._lock:
            self._lock.wait_for(lambda: self._count == len(self._idle), timeout)
            lanes, self._idle = self._idle, []
            self._count -= len(lanes)
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join(max(0.0, end - time.monotonic()))


lane_pool = LanePool()
after_fork(lane_pool.forget)


def lanes_in_use() -> int:
    return lane_pool.in_use


def lanes_idle() -> int:
    return lane_pool.idle
