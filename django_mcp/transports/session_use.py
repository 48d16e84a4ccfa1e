"""A call is use of its session for as long as it runs, so idle time counts from its end (BL-059)."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import DatabaseError

from django_mcp.running import run_store, running_loop
from django_mcp.server.call import SessionState
from django_mcp.sessions import touch_interval, touch_session

logger = logging.getLogger("django_mcp.http")


class InUse:
    """``async with InUse(session):`` around a call. Costs a timer, and nothing more while calls are short."""

    __slots__ = ("_began", "_session", "_task", "_timer")

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._began = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        loop = running_loop()
        if loop is not None:  # under WSGI nothing runs beside the call
            self._timer = loop.call_later(touch_interval(), self._start)

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        ended = kind is None or issubclass(kind, Exception)  # and is not cancelled
        if ended and time.monotonic() - self._began >= touch_interval():
            await _touch(self._session)

    def _start(self) -> None:
        self._task = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        while await _touch(self._session):
            await asyncio.sleep(touch_interval())


async def _touch(session: SessionState) -> bool:
    try:
        return await run_store(touch_session, session)
    except DatabaseError as error:  # the next one may succeed, and the call must not fail for it
        logger.warning("The use of a session was not noted: %s", error)
        return True
