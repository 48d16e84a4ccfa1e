"""What is done for all open streams of a loop together, and for none of them alone."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from django.db import DatabaseError

from django_mcp.events import hub as hubs
from django_mcp.events.hub import Guest, Hub
from django_mcp.running import run_store
from django_mcp.sessions import touch_interval, touch_sessions
from django_mcp.transports.streams import Stream

logger = logging.getLogger("django_mcp.http")

CHECK_EVERY = 600.0  # seconds between two looks at credentials whose end nobody has announced

_tasks: set[asyncio.Task[None]] = set()


def in_background(loop: asyncio.AbstractEventLoop, steps: Coroutine[Any, Any, None]) -> None:
    """Run something that nobody waits for."""
    task = loop.create_task(steps)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def join(stream: Stream) -> Hub:
    """Have the log read for a stream that was just opened; one for which it cannot be is closed again."""
    here = hubs.hub()
    try:
        await here.join()
    except BaseException:
        stream.close()
        raise
    stream.on_close = here.leave
    return here


async def enter(stream: Stream, guest: Guest) -> Hub:
    """Join, and have the stream end with its credentials; the hub is for what else it wants to hear of."""
    here = await join(stream)

    def leave() -> None:
        here.discard(guest)
        here.leave()

    stream.on_close = leave
    here.admit(guest)
    upkeep.start(here)
    return here


class Upkeep:
    """A timer for each loop that has streams."""

    def __init__(self) -> None:
        self._checked: WeakKeyDictionary[Hub, float] = WeakKeyDictionary()

    def start(self, hub: Hub) -> None:
        """See to the streams of this hub until there are none."""
        if hub not in self._checked:
            self._checked[hub] = time.monotonic()
            hub.loop.call_later(touch_interval(), self._tick, hub)

    def _tick(self, hub: Hub) -> None:
        if not len(hub):
            del self._checked[hub]
            return
        in_background(hub.loop, self._see_to_and_go_on(hub))

    async def _see_to_and_go_on(self, hub: Hub) -> None:
        """The next time counts from the end of this one, so a database that is slow is not asked ever more."""
        try:
            await self._see_to(hub)
        finally:
            hub.loop.call_later(touch_interval(), self._tick, hub)

    async def _see_to(self, hub: Hub) -> None:
        try:
            await touch(hub)
        except DatabaseError as error:  # the next time may do
            logger.warning("The use of sessions was not noted: %s", error)
        if time.monotonic() - self._checked.get(hub, 0.0) >= CHECK_EVERY:
            self._checked[hub] = time.monotonic()
            await hub.check_everybody()


async def touch(hub: Hub) -> None:
    """An open stream is use of its session (BL-059), and ends with it."""
    sessions = {streams.pk: streams for streams in hub.sessions.values()}
    if sessions:
        alive = await run_store(touch_sessions, list(sessions))
        for pk, streams in sessions.items():
            if pk not in alive:
                streams.end()


upkeep = Upkeep()
