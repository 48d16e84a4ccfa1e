"""The stream of a legacy call, for a client that comes back to it: at any worker, during the call and after it.

An id names the stream and the number of the message: ``p<stream>.<number>`` (LH-22, LH-23, LH-26). What follows it
is read from the rows that the call's own worker writes. Of several who come back the last one counts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from datetime import datetime
from typing import NamedTuple

from django.db import Error

from django_mcp.events import call_streams
from django_mcp.events.call_streams import Chunk, State
from django_mcp.events.workers import SILENT
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError
from django_mcp.protocol.jsonrpc import encode, error_message
from django_mcp.running import run_store, write_store
from django_mcp.server.call import SessionState, SessionWriter
from django_mcp.transports import sse
from django_mcp.transports.exchange import HTTPExchange, beginning_for
from django_mcp.transports.journal import BEAT, find_here, want_here
from django_mcp.transports.messages import Response
from django_mcp.transports.recording import age_of
from django_mcp.transports.shutdown import signal_hook
from django_mcp.transports.stream_access import StreamAccess
from django_mcp.transports.streams import Stream, open_streams
from django_mcp.transports.upkeep import in_background

logger = logging.getLogger("django_mcp.http")

PAUSES = (0.01, 0.1)  # seconds between two looks for what comes next: the shortest, and the longest
# Seconds within which others are told of a call, however busy its worker is: until then nobody may know its id.
KNOWN_WITHIN = 10.0
GONE = ProtocolError(INTERNAL_ERROR, "The worker that ran this call is gone.")

_ID = re.compile(r"p([0-9a-f]{24})\.(\d{1,18})", re.ASCII)


class Place(NamedTuple):
    """Where a client was: its stream, and the last message it has seen."""

    stream: str
    number: int


def read_place(last_event_id: str | None) -> Place | None:
    found = None if last_event_id is None else _ID.fullmatch(last_event_id)
    return None if found is None else Place(found[1], int(found[2]))


async def resume(exchange: HTTPExchange, session: SessionState, sessions: SessionWriter) -> Response | None:
    """The rest of the stream, or ``None`` where the request names none that this session has (LH-27).

    Raises ``ProtocolError`` 503 where there are too many streams.
    """
    place = read_place(exchange.request.headers.get("last-event-id"))
    if place is None or not await _is_known(session.pk, place.stream):
        return None
    access = StreamAccess(exchange, session.revision, sessions)
    stream = open_streams.open(session.principal, exchange.conf, expires=access.expires)
    begin = beginning_for(session.revision)
    stream.put(sse.OPENED + begin(f"p{place.stream}.{place.number}"))
    signal_hook.install(exchange.conf.shutdown_grace)
    in_background(stream.loop, Resumption(stream, session.pk, place).run())
    return Response(status=200, headers=sse.HEADERS, stream=stream)


async def _is_known(session: int, key: str) -> bool:
    pause, longest = PAUSES
    while True:
        own = find_here(key)
        if own is not None:
            return own.session == session
        if await run_store(call_streams.find, session, key) is not None:
            return True
        if abs(age_of(key)) > KNOWN_WITHIN:  # clocks of other machines may be ahead
            return False
        await asyncio.sleep(pause)
        pause = min(2 * pause, longest)


class Resumption:
    """One connection of a client that has come back."""

    def __init__(self, stream: Stream, session: int, place: Place) -> None:
        self._stream = stream
        self._session = session
        self._key = place.stream
        self._last = place.number
        self._name = secrets.token_hex(8)
        self._is_there = False
        self._claim: asyncio.Task[None] | None = None
        self._beat: datetime | None = None
        self._silent_since = 0.0
        self._is_probed = False

    async def run(self) -> None:
        pause, longest = PAUSES
        try:
            while self._stream.is_open:
                is_over, has_news = await self._look()
                if is_over:
                    break
                if has_news:
                    pause = PAUSES[0]
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)
        except Exception:  # the client comes back once more
            logger.exception("A stream could not be resumed")
        finally:
            if self._claim is not None:
                self._claim.cancel()
            self._stream.end()

    async def _look(self) -> tuple[bool, bool]:
        """Whether there is nothing more to come, and whether something has."""
        is_claimed = self._claim is not None and self._claim.done()  # before what is read now
        try:
            state, chunks = await run_store(call_streams.read, self._session, self._key, self._last)
        except Error as error:
            logger.warning("What a call has sent cannot be read: %s", error)
            return False, False
        for chunk in chunks:
            await self._send(chunk)
            if chunk.is_final:
                return True, True
        if state is None:  # gone with its session, unless it is not there yet
            return self._is_there or find_here(self._key) is None, False
        self._is_there = True
        if self._claim is None:
            self._claim = self._stream.loop.create_task(self._say_so())
        # The client has come back once more, or is to do so.
        is_replaced = is_claimed and state.resumer != self._name
        if is_replaced or await self._is_orphaned(state):
            return True, bool(chunks)
        return False, bool(chunks)

    async def _send(self, chunk: Chunk) -> None:
        for number, message in chunk.after(self._last):
            if not await self._stream.drained():
                return
            self._stream.put(sse.event(message, f"p{self._key}.{number}"))
            self._last = number

    async def _say_so(self) -> None:
        """Tell the others who has come back. Waits as long as it takes: on SQLite the call may hold the only lock."""
        while True:
            try:
                await write_store(call_streams.claim, self._session, self._key, self._name)
            except Error as error:
                logger.warning("A stream is resumed, and others could not be told: %s", error)
                await asyncio.sleep(PAUSES[1])
            else:
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
        self._stream.put(sse.event(_gone(json.loads(state.request)), f"p{self._key}.{self._last + 1}"))
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
