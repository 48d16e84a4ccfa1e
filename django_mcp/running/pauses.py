"""Waiting for a person inside an async function: what it held is given back first, and its time stands still."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from django_mcp.running.threads import Job

if TYPE_CHECKING:
    from django_mcp.running.runs import Run

IN_TRANSACTION = (
    "A tool with wait_inline=True asked its client after it had written to the database. Its transaction would stay "
    "open for as long as a person takes: ask first, or leave out wait_inline."
)


class Pauses:
    """Those of one call, whose tasks may wait side by side."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._letting_go = asyncio.Lock()
        self._held_back: list[Job] | None = None
        self._open = 0
        self._began = 0.0
        self._left = 0.0

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        async with self._letting_go:
            await self._let_go()
        self._stop_clock()
        try:
            yield
        finally:
            self._start_clock()

    def holds_back(self, job: Job) -> bool:
        """What other tasks of the call want from the database meanwhile is done on the next connection."""
        if self._held_back is None:
            return False
        self._held_back.append(job)
        return True

    async def _let_go(self) -> None:
        run = self._run
        if not run.has_begun:
            run.let_go()
            return
        job = Job(run.stop_reading)
        run.put_at_once(job)
        self._held_back = []
        try:
            is_free = await asyncio.wrap_future(job.future)
            if is_free:
                run.let_go()
        finally:
            waiting, self._held_back = self._held_back, None
            for one in waiting:
                run.put_at_once(one)
        if not is_free:
            raise RuntimeError(IN_TRANSACTION)

    def _stop_clock(self) -> None:
        self._open += 1
        if self._open == 1:
            self._began = time.monotonic()
            timer = self._run.timer
            if timer is not None:
                self._left = (timer.when() or 0.0) - asyncio.get_running_loop().time()
                timer.reschedule(None)

    def _start_clock(self) -> None:
        self._open -= 1
        if self._open:
            return
        run = self._run
        run.add_time(time.monotonic() - self._began)
        if run.timer is not None:
            with suppress(RuntimeError):  # the call has ended before one of its tasks
                run.timer.reschedule(asyncio.get_running_loop().time() + self._left)
