"""The GET streams of legacy sessions: ids, resumption, and use of the session for as long as one is open.

Ids that name no stream of this session open a new one (LH-27).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from django.db import Error

from django_mcp.events import legacy
from django_mcp.events.hub import Hub, broadcast_of, hub
from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.log import RETRY
from django_mcp.events.spans import Span
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError, session_not_found
from django_mcp.protocol.notifications import Broadcast
from django_mcp.running import run_store, write_store
from django_mcp.server.call import SessionState
from django_mcp.transports import sse
from django_mcp.transports.event_ids import GET, Place, event_id
from django_mcp.transports.stream_access import StreamAccess
from django_mcp.transports.streams import Stream
from django_mcp.transports.upkeep import in_background, join, keep_up, too_late

logger = logging.getLogger("django_mcp.http")


class GetStream:
    """One connection of a stream. While it is resumed, what is new waits behind what was missed."""

    __slots__ = ("_held", "_stream", "access", "boundary", "span")

    def __init__(self, stream: Stream, access: StreamAccess, span: Span) -> None:
        self.access = access
        self.span = span
        self.boundary = span.start
        self._stream = stream
        self._held: list[bytes] | None = []

    def put(self, entry: Entry, broadcast: Broadcast) -> None:
        frame = sse.event(broadcast.plain, event_id(GET, self.span.stream, entry.seq))
        if self._held is None:
            self._stream.put(frame)
        else:
            self._held.append(frame)

    def begin(self, entries: Sequence[Entry]) -> None:
        """Send what was missed, then what has come since."""
        held, self._held = self._held or [], None
        for entry in entries:
            self.put(entry, broadcast_of(entry))
        for frame in held:
            self._stream.put(frame)

    def end(self) -> None:
        self._stream.end()


async def begin(stream: Stream, access: StreamAccess, session: SessionState, place: Place | None) -> None:
    """Make this the GET stream that *place* names, or else a new one (LH-16, LH-24).

    Raises ``ProtocolError``: 404 where the session has just ended, 503 where the log cannot be read.
    """
    here = await join(stream)
    try:
        await _begin(here, stream, access, session, place)
    except legacy.SessionGone:
        raise session_not_found() from None
    except TimeoutError:
        raise ProtocolError(
            INTERNAL_ERROR, "The event log cannot be read", status=503, headers=(("Retry-After", "1"),)
        ) from None


async def _begin(here: Hub, stream: Stream, access: StreamAccess, session: SessionState, place: Place | None) -> None:
    named = place.stream if place is not None and place.kind == GET else None
    span, is_resumed = await _open_span(stream, session.pk, named)
    connection = GetStream(stream, access, span)
    # What lies between its own number and what this process has given out already is read from the log.
    connection.boundary = max(span.start, here.position)
    here.connect(session.pk, connection)
    keep_up(here)
    stream.on_close = partial(_close, here, session.pk, connection)
    after = place.number if place is not None and is_resumed else span.start
    if session.revision.has_priming:
        stream.put(sse.priming(event_id(GET, span.stream, after), RETRY))
    else:
        stream.put(sse.OPENED + sse.interval(RETRY))
    missed: list[Entry] = []
    if after < connection.boundary:
        await here.passed(connection.boundary)
        missed = await run_store(legacy.missed, session.pk, session.server, span.stream, after, connection.boundary)
        missed = await _visible(missed, connection)
    connection.begin(missed)


async def _open_span(stream: Stream, session: int, named: str | None) -> tuple[Span, bool]:
    """One that nobody takes any more is closed again: events would belong to a connection that is nowhere."""
    opening = asyncio.ensure_future(write_store(legacy.open_span, session, named))
    try:
        opened = await asyncio.shield(opening)
    except asyncio.CancelledError:  # the thread goes on all the same
        in_background(stream.loop, _undo(opening, session))
        raise
    if stream.is_closed:
        in_background(stream.loop, _undo(opening, session))
        raise too_late()
    return opened


async def _undo(opening: asyncio.Future[tuple[Span, bool]], session: int) -> None:
    try:
        span, _ = await opening
    except (legacy.SessionGone, Error):
        return
    await _note_end(session, span.connection)


async def _visible(entries: Sequence[Entry], connection: GetStream) -> list[Entry]:
    """Without the resources that the user may not see now (RES-15)."""
    uris = {entry.uri for entry in entries if entry.kind == Kind.RESOURCE_UPDATED}
    here = hub()
    allowed = {uri for uri in uris if await here.allows(connection.access, uri)}
    return [entry for entry in entries if entry.kind != Kind.RESOURCE_UPDATED or entry.uri in allowed]


def _close(here: Hub, session: int, connection: GetStream) -> None:
    here.disconnect(session, connection)
    here.leave()
    if not here.loop.is_closed():
        in_background(here.loop, _note_end(session, connection.span.connection))


async def _note_end(session: int, connection: str) -> None:
    try:
        await write_store(legacy.close_span, session, connection)
    except Error as error:  # the next connection of the stream ends it
        logger.warning("The end of a stream was not noted: %s", error)
