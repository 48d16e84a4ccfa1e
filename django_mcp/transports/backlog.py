"""What waits to be sent to a client, and the senders that it holds back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

# Bytes that are kept before whoever sends has to wait
ROOM = 64 * 1024


class Backlog:
    """Counts the bytes that wait. Used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = 0
        self._is_over = False
        self._waiting: list[Callable[[], object]] = []

    @property
    def size(self) -> int:
        return self._size

    def add(self, size: int) -> None:
        with self._lock:
            self._size += size

    def remove(self, size: int) -> None:
        with self._lock:
            self._size -= size
            waiting = self._take_waiting() if self._size <= ROOM else []
        for wake in waiting:
            wake()

    def end(self) -> None:
        """Nothing is sent any more, so nobody has to wait."""
        with self._lock:
            self._is_over = True
            waiting = self._take_waiting()
        for wake in waiting:
            wake()

    def wait(self, timeout: float) -> bool:
        """Block this thread until there is room; false if there was none within *timeout* seconds."""
        woken = threading.Event()
        return not self._must_wait(woken.set) or woken.wait(timeout)

    async def wait_async(self, timeout: float) -> bool:
        """The same for a task."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and the wait with it
                loop.call_soon_threadsafe(woken.set)

        if not self._must_wait(wake):
            return True
        try:
            async with asyncio.timeout(timeout):
                await woken.wait()
        except TimeoutError:
            return False
        return True

    def _must_wait(self, wake: Callable[[], object]) -> bool:
        with self._lock:
            if self._is_over or self._size <= ROOM:
                return False
            self._waiting.append(wake)
            return True

    def _take_waiting(self) -> list[Callable[[], object]]:
        waiting, self._waiting = self._waiting, []
        return waiting
