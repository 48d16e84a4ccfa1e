"""What is done for all open streams of a loop together, and for none of them alone."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from django.db import Error

from django_mcp.events import hub as hubs
from django_mcp.events import legacy, workers
from django_mcp.events.hub import Guest, Hub
from django_mcp.events.workers import Watch
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError
from django_mcp.running import run_store, write_store
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
    if stream.is_closed:
        here.leave()
        raise too_late()
    stream.on_close = here.leave
    return here


def too_late() -> ProtocolError:
    """A stream was given up while it was being opened, as when the database takes its time."""
    return ProtocolError(
        INTERNAL_ERROR, "The stream could not be opened in time", status=503, headers=(("Retry-After", "1"),)
    )


async def enter(stream: Stream, guest: Guest) -> Hub:
    """Join, and have the stream end with its credentials; the hub is for what else it wants to hear of."""
    here = await join(stream)

    def leave() -> None:
        here.discard(guest)
        here.leave()

    stream.on_close = leave
    here.admit(guest)
    keep_up(here)
    return here


class Timer:
    """Something that is done every ``interval()`` seconds for each loop that has streams."""

    def __init__(self, interval: Callable[[], float], work: Callable[[Hub], Awaitable[None]]) -> None:
        self._interval = interval
        self._work = work
        self._running: WeakSet[Hub] = WeakSet()

    def start(self, hub: Hub) -> None:
        """Go on until the hub has no streams."""
        if hub not in self._running:
            self._running.add(hub)
            hub.loop.call_later(self._interval(), self._tick, hub)

    def _tick(self, hub: Hub) -> None:
        if not len(hub):
            self._running.discard(hub)
            return
        in_background(hub.loop, self._work_and_go_on(hub))

    async def _work_and_go_on(self, hub: Hub) -> None:
        """The next time counts from the end of this one, so a database that is slow is not asked ever more."""
        try:
            await self._work(hub)
        except Error as error:  # the next time may do
            logger.warning("The streams could not be seen to: %s", error)
        finally:
            hub.loop.call_later(self._interval(), self._tick, hub)


async def touch(hub: Hub) -> None:
    """An open stream is use of its session (BL-059), and ends with it."""
    sessions = {streams.pk: streams for streams in hub.sessions.values()}
    if sessions:
        alive = await run_store(touch_sessions, list(sessions))
        for pk, streams in sessions.items():
            if pk not in alive:
                streams.end()


async def check(hub: Hub) -> None:
    await hub.check_everybody()


_watches: WeakKeyDictionary[Hub, Watch] = WeakKeyDictionary()


async def beat(hub: Hub) -> None:
    """Tell others that this process lives, and close the connections of those that do not."""
    if not hub.sessions:
        return
    await write_store(workers.beat, workers.this.key)
    await hub.refresh()
    elsewhere: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for streams in hub.sessions.values():
        for span in streams.elsewhere():
            elsewhere[span.worker].append((streams.pk, span.connection))
    beats = await run_store(workers.beats, list(elsewhere)) if elsewhere else {}
    for worker in _watches.setdefault(hub, Watch()).gone(beats):
        for session, connection in elsewhere[worker]:
            await write_store(legacy.close_span, session, connection)


timers = (Timer(lambda: touch_interval(), touch), Timer(lambda: CHECK_EVERY, check), Timer(lambda: workers.BEAT, beat))


def keep_up(hub: Hub) -> None:
    """See to the streams of this hub until there are none."""
    for timer in timers:
        timer.start(hub)
