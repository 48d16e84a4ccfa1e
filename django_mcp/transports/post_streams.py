"""The stream of a legacy call, for a client that comes back to it: at any worker, during the call and after it.

What follows the last message that it has seen is read from the rows that the call's own worker writes (LH-26). Of
several who come back the last one counts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from contextlib import suppress
from datetime import datetime

from django.db import Error

from django_mcp.events import call_streams
from django_mcp.events.call_streams import Chunk, State
from django_mcp.events.workers import SILENT
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError
from django_mcp.protocol.jsonrpc import encode, error_message
from django_mcp.running import run_store, write_store
from django_mcp.server.call import SessionState
from django_mcp.transports import sse
from django_mcp.transports.event_ids import POST, Place, event_id
from django_mcp.transports.exchange import beginning_for
from django_mcp.transports.journal import BEAT, find_here, want_here
from django_mcp.transports.outages import Outage
from django_mcp.transports.recording import age_of
from django_mcp.transports.stream_access import StreamAccess
from django_mcp.transports.streams import Stream
from django_mcp.transports.upkeep import enter, in_background

logger = logging.getLogger("django_mcp.http")

# Seconds between two looks for what comes next: the shortest, and the longest. Each is a fifth longer than the one
# before, so what comes after a silence is late by a sixth of that.
PAUSES = (0.01, 0.5)
GROWTH = 1.2
WITH_BELL = 5.0  # the longest where the call runs in this process, which rings
# Seconds within which others are told of a call, however busy its worker is: until then nobody may know its id.
KNOWN_WITHIN = 10.0
AHEAD = 2.0  # seconds by which the clocks of other machines may be ahead
GONE = ProtocolError(INTERNAL_ERROR, "The worker that ran this call is gone.")


async def resume(stream: Stream, access: StreamAccess, session: SessionState, place: Place | None) -> bool:
    """Make this the rest of the call's stream that *place* names; false where this session has none such (LH-27)."""
    if place is None or place.kind != POST or not await _is_known(stream, session.pk, place.stream):
        return False
    resumption = Resumption(stream, access, session.pk, place)
    await enter(stream, resumption)
    stream.put(sse.OPENED + beginning_for(session.revision)(event_id(*place)))
    in_background(stream.loop, resumption.run())
    return True


async def _is_known(stream: Stream, session: int, key: str) -> bool:
    """Whether the session has such a call. One that has just begun may have no row yet."""
    pause = PAUSES[0]
    while True:
        own = find_here(key)
        if own is not None:
            return own.session == session
        if await run_store(call_streams.find, session, key) is not None:
            return True
        if not (stream.is_open and -AHEAD <= age_of(key) <= KNOWN_WITHIN):
            return False
        await asyncio.sleep(pause)
        pause = min(PAUSES[1], GROWTH * pause)


class Resumption:
    """One connection of a client that has come back."""

    def __init__(self, stream: Stream, access: StreamAccess, session: int, place: Place) -> None:
        self.access = access
        self._stream = stream
        self._session = session
        self._key = place.stream
        self._last = place.number
        self._name = secrets.token_hex(8)
        self._recording = find_here(self._key)
        self._bell = asyncio.Event()
        self._is_there = False
        self._claim: asyncio.Task[None] | None = None
        self._beat: datetime | None = None
        self._silent_since = 0.0
        self._is_probed = False

    def end(self) -> None:
        self._stream.end()

    async def run(self) -> None:
        if self._recording is not None:
            self._recording.readers.add(self._ring)
        try:
            await self._read()
        except Exception:  # the client comes back once more
            logger.exception("A stream could not be resumed")
        finally:
            if self._recording is not None:
                self._recording.readers.discard(self._ring)
            if self._claim is not None:
                self._claim.cancel()
            self._stream.end()

    async def _read(self) -> None:
        outage = Outage("What a call has sent cannot be read", "What a call has sent is read again")
        longest = PAUSES[1] if self._recording is None else WITH_BELL
        pause = PAUSES[0]
        while self._stream.is_open:
            self._bell.clear()
            try:
                is_over, has_news = await self._look()
            except Error as error:
                self._beat = None  # the call's worker is given its time anew: it could not write either
                await asyncio.sleep(outage.failed(error))
                continue
            outage.succeeded()
            if is_over:
                return
            pause = PAUSES[0] if has_news else min(longest, GROWTH * pause)
            await self._wait(pause)

    async def _wait(self, pause: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._bell.wait()

    def _ring(self) -> None:
        """May be called on any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._stream.loop.call_soon_threadsafe(self._bell.set)

    async def _look(self) -> tuple[bool, bool]:
        """Whether there is nothing more to come, and whether something has. Raises ``django.db.Error``."""
        is_claimed = self._claim is not None and self._claim.done()  # before what is read now
        state, chunks = await run_store(call_streams.read, self._session, self._key, self._last)
        if is_claimed and state is not None and state.resumer not in (self._name, ""):
            return True, False  # the client has come back once more, and gets the rest there (LH-19)
        for chunk in chunks:
            await self._send(chunk)
            if chunk.is_final:
                return True, True
        if state is None:  # gone with its session, unless it is not there yet
            return self._is_there or find_here(self._key) is None, False
        self._is_there = True
        if self._claim is None:
            self._claim = self._stream.loop.create_task(self._say_so())
        is_sent_away = is_claimed and not state.resumer
        if is_sent_away or await self._is_orphaned(state):
            return True, bool(chunks)
        return False, bool(chunks)

    async def _send(self, chunk: Chunk) -> None:
        for number, message in chunk.after(self._last):
            if not await self._stream.drained():
                return
            self._stream.put(sse.event(message, event_id(POST, self._key, number)))
            self._last = number

    async def _say_so(self) -> None:
        """Tell the others who has come back. Waits as long as it takes: on SQLite the call may hold the only lock."""
        outage = Outage("Others cannot be told of a resumed stream", "Others were told of a resumed stream")
        while True:
            try:
                await write_store(call_streams.claim, self._session, self._key, self._name)
            except Error as error:
                await asyncio.sleep(outage.failed(error))
            else:
                outage.succeeded()
                want_here(self._key)
                return

    async def _is_orphaned(self, state: State) -> bool:
        """Whether the worker is gone that ran the call; the client is told then (-32603)."""
        now = time.monotonic()
        if state.beat != self._beat:
            self._beat, self._silent_since, self._is_probed = state.beat, now, False
        if now - self._silent_since <= SILENT * BEAT:
            return False
        if not self._is_probed:
            await self._probe()
            return False
        self._stream.put(sse.event(_gone(json.loads(state.request)), event_id(POST, self._key, self._last + 1)))
        return True

    async def _probe(self) -> None:
        """On SQLite one writer keeps all others from giving a sign of life: it gets one more beat."""
        began = time.monotonic()
        try:
            await write_store(call_streams.probe, self._key)
        except Error as error:
            logger.debug("Nobody can write: %s", error)
            self._silent_since = time.monotonic()
            return
        now = time.monotonic()
        self._is_probed = now - began < BEAT
        self._silent_since = now - (SILENT - 1) * BEAT if self._is_probed else now


def _gone(request: object) -> bytes:
    if isinstance(request, list):
        return encode([error_message(each, GONE) for each in request])
    assert isinstance(request, str | int)  # noqa: S101 - the id of a request
    return encode(error_message(request, GONE))
