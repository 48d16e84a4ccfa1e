"""What open streams need while nothing happens: keep-alives, and an end to what takes too long.

One timer a loop does it. It looks once a second, and at a stream that is idle only when its keep-alive is due.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_mcp.transports.streams import Stream

KEEP_ALIVE_SECONDS = 15.0
SWEEP_EVERY = 1.0
AT_A_TIME = 100  # keep-alives, before others of the loop get their turn


class Sweep:
    """The streams of one loop, and their timer, which runs while there are some."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.streams: OrderedDict[Stream, None] = OrderedDict()  # by their next keep-alive
        self._watched: set[Stream] = set()
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def add(self, stream: Stream) -> None:
        stream.keep_alive_at = time.monotonic() + KEEP_ALIVE_SECONDS
        self.streams[stream] = None
        self.watch(stream)
        if self._timer is None:
            self._timer = self._loop.call_later(SWEEP_EVERY, self._run)

    def watch(self, stream: Stream) -> None:
        """Look at this one each time, for as long as it is not idle or may soon have to end."""
        self._watched.add(stream)

    def discard(self, stream: Stream) -> None:
        self.streams.pop(stream, None)
        self._watched.discard(stream)

    def _run(self) -> None:
        self._timer = self._loop.call_later(SWEEP_EVERY, self._run) if self.streams else None
        self._keep_alive()
        now, wall = time.monotonic(), time.time()
        soon = _soon(wall)
        for stream in list(self._watched):
            if stream.is_stuck(now):
                stream.abort()
            elif stream.deadline <= wall:
                stream.end()
            elif stream.is_idle and stream.deadline > soon:
                self._watched.discard(stream)

    def _keep_alive(self) -> None:
        """For thousands of streams, each of them cold in memory: every step counts."""
        now, soon = time.monotonic(), _soon(time.time())
        due = []
        for stream in self.streams:
            if stream.keep_alive_at > now:
                break
            due.append(stream)
            if len(due) == AT_A_TIME:
                self._loop.call_soon(self._keep_alive)
                break
        later = now + KEEP_ALIVE_SECONDS
        for stream in due:
            stream.keep_alive_at = later
            self.streams.move_to_end(stream)
            if stream.deadline <= soon:
                self._watched.add(stream)
            stream.keep_alive()


def _soon(wall: float) -> float:
    """A stream whose deadline is not after that may end before its next keep-alive."""
    return wall + KEEP_ALIVE_SECONDS + 2 * SWEEP_EVERY
