"""Legacy calls of this process that their client may cancel (CAN-03), and the one place where that happens.

The notification may reach any worker (CAN-10). One that does not run the call writes an entry to the event log.
Only a call that has run for a moment has the log read, so a short one costs a timer that never fires.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from django.db import Error

from django_mcp.events import Entry, Kind, append, on
from django_mcp.events.attention import Attention
from django_mcp.events.log import find
from django_mcp.events.numbering import clock
from django_mcp.managers import digest_of
from django_mcp.protocol.jsonrpc import RequestId
from django_mcp.running import run_store, running_loop, write_store
from django_mcp.server.call import SessionState
from django_mcp.transports.upkeep import in_background

logger = logging.getLogger("django_mcp.http")

WATCH_AFTER = 1.0  # seconds that a call runs before it has the log read
OVERTAKING = 1_000_000  # microseconds by which a cancellation may be ahead of its call, clocks of machines included


class Cancellable:
    """``with Cancellable(session, id) as cancellable:`` around one request of a session.

    A task may answer several requests, as in a batch: only what runs inside the block is cancelled.
    """

    __slots__ = ("_attention", "_began", "_key", "_task", "_timer", "is_cancelled")

    def __init__(self, session: SessionState, request_id: RequestId) -> None:
        self._key = (session.pk, request_id)
        # Under WSGI nobody could cancel it before it ends.
        self._task = asyncio.current_task() if running_loop() is not None else None
        self._attention: Attention | None = None
        self.is_cancelled = False

    def __enter__(self) -> Cancellable:
        if self._task is not None:
            _running.setdefault(self._key, set()).add(self)
            self._began = clock()
            self._timer = self._task.get_loop().call_later(WATCH_AFTER, self._watch)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._task is None:
            return
        self._timer.cancel()
        if self._attention is not None:
            self._attention.end()
        running = _running[self._key]
        running.discard(self)
        if not running:
            del _running[self._key]
        if self.is_cancelled:
            self._task.uncancel()

    def cancel(self) -> None:
        """May be called on any thread."""
        if self._task is not None:
            with suppress(RuntimeError):  # its loop has ended
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None and not self.is_cancelled and self._is_running:
            self.is_cancelled = True
            self._task.cancel()

    @property
    def _is_running(self) -> bool:
        """It may have left the block meanwhile."""
        return self in _running.get(self._key, ())

    def _watch(self) -> None:
        """From now on its cancellation may come through the log."""
        loop = asyncio.get_running_loop()
        if self._attention is None:
            self._attention = Attention()
        in_background(loop, self._heed(loop, self._attention))

    async def _heed(self, loop: asyncio.AbstractEventLoop, attention: Attention) -> None:
        try:
            await run_store(self._look, attention)
        except Error as error:
            logger.warning("Cancellations cannot be heard, next try in %.1f s: %s", WATCH_AFTER, error)
            if self._is_running:
                self._timer = loop.call_later(WATCH_AFTER, self._watch)

    def _look(self, attention: Attention) -> None:
        """On a store thread: hear of what comes, and see what has come before."""
        attention.begin()
        session_pk, request_id = self._key
        wanted = _mark(request_id)
        earlier = find(Kind.CALL_CANCELLED, audience=str(session_pk), since=self._began - OVERTAKING)
        if any(entry.data == wanted for entry in earlier):
            self.cancel()


_running: dict[tuple[int, RequestId], set[Cancellable]] = {}


async def cancel_request(session: SessionState, request_id: Any, reason: Any) -> None:
    """Cancel every call of the session under this id, wherever it runs (CAN-10). Unknown ids are ignored (CAN-02).

    Exact types: to Python ``True`` and ``1.0`` are ``1``, to JSON-RPC they are no id.
    """
    if type(request_id) is str or type(request_id) is int:
        logger.info("The client cancelled request %r: %.200r", request_id, reason)
        if not cancel_here(session.pk, request_id):
            await _tell_others(session, request_id)


async def _tell_others(session: SessionState, request_id: RequestId) -> None:
    try:
        await write_store(append, Kind.CALL_CANCELLED, audience=str(session.pk), data=_mark(request_id))
    except Error as error:  # on SQLite, the call itself may hold the only lock
        logger.warning("Other workers could not be told of a cancellation: %s", error)


def cancel_here(session_pk: int, request_id: RequestId) -> bool:
    """Cancel those that run in this process; whether there were any."""
    found = tuple(_running.get((session_pk, request_id), ()))
    for cancellable in found:
        cancellable.cancel()
    return bool(found)


def _mark(request_id: RequestId) -> dict[str, str]:
    """What stands for an id in the log: of one length, however long the id, and without the id itself."""
    return {"request": digest_of(json.dumps(request_id))}


def _hear(entry: Entry) -> None:
    """On the reader's thread: some worker was told to cancel a call."""
    for session_pk, request_id in tuple(_running):
        if str(session_pk) == entry.audience and _mark(request_id) == entry.data:
            cancel_here(session_pk, request_id)


on(Kind.CALL_CANCELLED, _hear)
