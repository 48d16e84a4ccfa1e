"""Ending what would keep a server process alive.

An ASGI server waits for open responses before it exits, and an open stream never ends by itself.
The first open stream, or call that takes its time, therefore puts a handler of ours in front of the
server's own for SIGTERM and SIGINT.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from django_mcp.transports.journal import close_journals, journal_of
from django_mcp.transports.streams import open_streams

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Seconds that last frames have to leave before the server hears of the signal: daphne drops what is not written
# yet. The second signal goes straight to the server.
FAREWELL = 0.1
WRITE_WITHIN = 2.0  # seconds that the last things calls have sent may take to be written


class RunningExchanges:
    """Exchanges that are not over yet, strongly referenced."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel_all(self) -> None:
        for task in list(self._tasks):
            with suppress(RuntimeError):  # its loop has ended
                task.get_loop().call_soon_threadsafe(task.cancel)


class DetachedExchanges(RunningExchanges):
    """Legacy calls that outlive their connection (LH-14): counted and capped."""

    def adopt(self, task: asyncio.Task[Any], limit: int) -> bool:
        """Whether *task* may go on, which it may not where *limit* is reached. Harmless the second time."""
        if task not in self._tasks:
            if len(self._tasks) >= limit:
                return False
            self.add(task)
        return True

    async def drain(self, timeout: float) -> None:
        """Wait at most *timeout* seconds for those of this loop."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)


# Those whose client still waits. A server that waits for them too would not exit before they end.
attached_exchanges = RunningExchanges()
detached_exchanges = DetachedExchanges()


class SignalHook:
    """Our place in front of the server's signal handlers. Only the main thread may take it."""

    def __init__(self) -> None:
        self._installed = False
        self._previous: dict[int, Any] = {}

    def install(self, grace: float) -> None:
        """*grace*: seconds that running calls get after the signal."""
        if self._installed or threading.current_thread() is not threading.main_thread():
            return
        self._installed = True
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            self._previous[number] = signal.getsignal(number)
            signal.signal(number, self._handler(loop, grace))

    def _handler(self, loop: asyncio.AbstractEventLoop, grace: float) -> Callable[[int, FrameType | None], None]:
        waits = set()

        def handle(number: int, stack: FrameType | None) -> None:
            has_streams = len(open_streams) > 0
            open_streams.end_all()
            close_journals()
            previous = partial(call_previous, self._previous[number], number, stack)
            try:
                loop.call_soon_threadsafe(loop.call_later, grace, cancel_all)
                if has_streams and number not in waits:
                    waits.add(number)
                    loop.call_soon_threadsafe(loop.call_later, FAREWELL, previous)
                    return
            except RuntimeError:  # the loop has ended, and what ran in it
                pass
            previous()

        return handle

    def uninstall(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()
        self._installed = False


async def shut_down(grace: float) -> None:
    """End the streams, and what runs on for clients that are gone after at most *grace* seconds."""
    open_streams.end_all()
    journal = journal_of(asyncio.get_running_loop())
    journal.close()
    await detached_exchanges.drain(grace)
    detached_exchanges.cancel_all()
    await detached_exchanges.drain(WRITE_WITHIN)  # each has a last thing to say
    await journal.drain(WRITE_WITHIN)


def cancel_all() -> None:
    open_streams.abort_all()
    attached_exchanges.cancel_all()
    detached_exchanges.cancel_all()


def call_previous(previous: Any, number: int, stack: FrameType | None) -> None:
    """Do what would have happened without us."""
    if callable(previous):
        previous(number, stack)
    elif previous == signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


signal_hook = SignalHook()
