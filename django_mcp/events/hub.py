"""From the entries of the log to the streams of one event loop: who hears of what, and who may.

Entries are taken one after the other, so every stream hears of them in order. The hub never waits for a client:
it puts frames into streams, which send them or end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar, cast

from django.db import Error

from django_mcp.conf import mcp_settings
from django_mcp.events import legacy
from django_mcp.events.attention import Attention
from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.sessions import Connection, SessionStreams
from django_mcp.protocol.notifications import RESOURCE_UPDATED, Broadcast
from django_mcp.running import exchange, run_store
from django_mcp.running.loops import PerLoop
from django_mcp.server.call import Call, Caller
from django_mcp.server.catalogue import permitted

logger = logging.getLogger("django_mcp.events")

T = TypeVar("T")
G = TypeVar("G", bound="Guest")
Topic = tuple[str, str]  # a kind, and the URI if it is about one

AT_A_TIME = 100  # streams, before others of the loop get their turn
MAX_VERDICTS = 10_000
PASS_WITHIN = 5.0  # seconds that the reader may need to a number that was given
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds between tries while the database is away

METHODS = {
    Kind.TOOLS_CHANGED: "notifications/tools/list_changed",
    Kind.PROMPTS_CHANGED: "notifications/prompts/list_changed",
    Kind.RESOURCES_CHANGED: "notifications/resources/list_changed",
    Kind.RESOURCE_UPDATED: RESOURCE_UPDATED,
}


class Access(Protocol):
    """Whose stream it is. Streams with the same key are of the same credentials, at the same place."""

    key: Hashable

    @property
    def principal(self) -> str: ...

    @property
    def server_name(self) -> str: ...

    @property
    def lists(self) -> Sequence[str]:
        """What the lists are of that the server has."""

    async def identify(self) -> Caller | None:
        """Who the credentials stand for now; ``None`` if they are no good any more."""

    def call(self, caller: Caller) -> Call:
        """A request of this caller, for permissions to look at."""


class Guest(Protocol):
    """Something that ends when its credentials do."""

    @property
    def access(self) -> Access: ...

    def end(self) -> None: ...


class Listener(Guest, Protocol):
    """Something that hears of topics besides: a stream, or the streams of a session."""

    def topics(self) -> Iterable[Topic]: ...

    def wants(self, entry: Entry) -> bool: ...

    def put(self, entry: Entry, broadcast: Broadcast) -> None: ...


class Hub:
    """All methods are called on the thread of its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.position = 0  # everything up to this number was given to the listeners
        self.sessions: dict[str, SessionStreams] = {}
        self._members = 0
        self._attaching = asyncio.Lock()
        self._attention = Attention(self._take)
        self._life: AsyncGenerator[None, None] | None = None
        self._index: dict[Topic, dict[Listener, None]] = {}
        self._topics: dict[Guest, tuple[Topic, ...]] = {}
        self._stale: set[SessionStreams] = set()
        self._loading = asyncio.Lock()
        self._queue: deque[Sequence[Entry]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._passing: list[tuple[int, asyncio.Future[None]]] = []
        self._verdicts: dict[Hashable, tuple[float, bool]] = {}
        self._signals: dict[str, Callable[[Entry], Awaitable[None] | None]] = {
            Kind.STREAM_OPENED: self._hear_opened,
            Kind.STREAM_CLOSED: self._hear_closed,
            Kind.SUBSCRIPTIONS_CHANGED: self._mark_stale,
            Kind.SESSION_CLOSED: self._end_session,
            Kind.STREAMS_PARTED: self._part_streams,
            Kind.ACCESS_CHANGED: self._check_access,
            Kind.CATALOGUE_CHANGED: self._forget_verdicts,
        }

    def __len__(self) -> int:
        return len(self._topics)

    async def join(self) -> None:
        """Have the log read for as long as somebody has joined. Raises ``django.db.Error``."""
        self._members += 1
        try:
            async with self._attaching:
                if not self._attention.is_held:
                    await self._attend()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        self._members -= 1
        if not self._members:
            self._attention.end()

    async def _attend(self) -> None:
        if self._life is None:
            self._life = self._live()
            await anext(self._life)
        self._attention = attention = Attention(self._take)
        try:
            await run_store(attention.begin)
        except BaseException:  # the thread goes on where only this task was cancelled
            attention.end()
            raise
        self.position = attention.start

    async def _live(self) -> AsyncGenerator[None, None]:
        """A loop that ends closes its generators: those who have not left by then hear of nothing more."""
        try:
            yield
        finally:
            self._attention.end()

    def admit(self, guest: Guest) -> None:
        """It hears of nothing, unless it is added as well."""
        self._topics[guest] = ()

    def add(self, listener: Listener) -> None:
        """From now on it hears of its topics. Again, after these have changed."""
        self.discard(listener)
        topics = self._topics[listener] = tuple(listener.topics())
        for topic in topics:
            self._index.setdefault(topic, {})[listener] = None

    def discard(self, guest: Guest) -> None:
        for topic in self._topics.pop(guest, ()):
            listeners = self._index[topic]
            del listeners[cast("Listener", guest)]  # nobody else has topics
            if not listeners:
                del self._index[topic]

    def connect(self, pk: int, connection: Connection) -> None:
        """Give a legacy session one more stream; its rows are read before the next event is given out."""
        streams = self.sessions.get(str(pk))
        if streams is None:
            streams = self.sessions[str(pk)] = SessionStreams(pk)
        streams.connections[connection.span.connection] = connection
        self._stale.add(streams)
        self.add(streams)

    def disconnect(self, pk: int, connection: Connection) -> None:
        streams = self.sessions[str(pk)]
        del streams.connections[connection.span.connection]
        if not streams.connections:
            self.discard(streams)
            self._stale.discard(streams)
            del self.sessions[str(pk)]

    async def passed(self, seq: int) -> None:
        """Wait until everything up to this number was given out. Raises ``TimeoutError``."""
        if self.position < seq:
            future = self.loop.create_future()
            self._passing.append((seq, future))
            async with asyncio.timeout(PASS_WITHIN):
                await future

    async def allowed(self, uri: str, listeners: Iterable[Listener]) -> list[Listener]:
        """Those whose user may see the resource now (SUB-13, RES-15). One check for equal credentials."""
        found: list[Listener] = []
        for access, group in _by_access(listeners):
            if await self.allows(access, uri):
                found += group
            elif await _identify(access) is None:
                _end(group)
        return found

    async def allows(self, access: Access, uri: str) -> bool:
        """Whether its user may see the resource; remembered for ``CACHE_SECONDS``."""
        key = (access.key, uri)
        known = self._verdicts.get(key)
        if known is not None and time.monotonic() - known[0] < mcp_settings().cache_seconds:
            return known[1]
        caller = await _identify(access)
        verdict = caller is not None and await may_see(access.call(caller), uri)
        if len(self._verdicts) >= MAX_VERDICTS:
            self._verdicts.clear()
        self._verdicts[key] = (time.monotonic(), verdict)
        return verdict

    async def check_everybody(self) -> None:
        """End the streams whose credentials are no good any more."""
        await self._check("")

    # On the reader's thread.

    def _take(self, entries: Sequence[Entry]) -> None:
        try:
            self.loop.call_soon_threadsafe(self._enqueue, entries)
        except RuntimeError:  # the loop has ended, and everybody in it
            self._attention.end()

    # On the loop.

    def _enqueue(self, entries: Sequence[Entry]) -> None:
        self._queue.append(entries)
        if self._task is None:
            self._task = self.loop.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._queue:
                for entry in self._queue.popleft():
                    await self._give_out(entry)
        finally:
            self._task = None

    async def _give_out(self, entry: Entry) -> None:
        try:
            signal = self._signals.get(entry.kind)
            if signal is not None:
                if (work := signal(entry)) is not None:
                    await work
            elif entry.kind in METHODS:
                await self._notify(entry)
        except Exception:  # the next entries are as good as ever
            logger.exception("Event %d (%s) was not given out", entry.seq, entry.kind)
        self.position = max(self.position, entry.seq)
        self._wake()

    def _wake(self) -> None:
        waiting, self._passing = self._passing, []
        for seq, future in waiting:
            if seq > self.position:
                self._passing.append((seq, future))
            elif not future.done():
                future.set_result(None)

    async def _notify(self, entry: Entry) -> None:
        try:
            await self.refresh()
        except Error as error:
            logger.warning("The sessions of some streams cannot be read, which end: %s", error)
            _end(list(self._stale))  # they come back, and what they missed is replayed
        listeners = [
            one
            for one in self._index.get((entry.kind, entry.uri), ())
            if entry.server in ("", one.access.server_name) and one.wants(entry)
        ]
        if listeners and entry.kind == Kind.RESOURCE_UPDATED:
            listeners = await self.allowed(entry.uri, listeners)
        broadcast = broadcast_of(entry)
        for place, listener in enumerate(listeners):
            if place % AT_A_TIME == 0:
                await asyncio.sleep(0)
            listener.put(entry, broadcast)

    async def refresh(self) -> None:
        """Read again what the log said has changed. Raises ``django.db.Error``."""
        async with self._loading:
            while self._stale:
                stale = list(self._stale)
                self._stale.clear()
                try:
                    rows = await _persistently(partial(run_store, legacy.load, [one.pk for one in stale]))
                except Error:
                    self._stale.update(stale)
                    raise
                for streams in stale:
                    # Else its streams have ended meanwhile, though others of the session may have begun.
                    if self.sessions.get(str(streams.pk)) is streams:
                        streams.rows = rows[streams.pk]
                        self.add(streams)

    def _mark_stale(self, entry: Entry) -> None:
        streams = self.sessions.get(entry.audience)
        if streams is not None:
            self._stale.add(streams)

    def _hear_opened(self, entry: Entry) -> None:
        self._mark_stale(entry)
        streams = self.sessions.get(entry.audience)
        if streams is not None:
            streams.end_before(entry.seq, entry.data["stream"])

    def _hear_closed(self, entry: Entry) -> None:
        self._mark_stale(entry)
        streams = self.sessions.get(entry.audience)
        if streams is not None:
            streams.end_closed(entry)

    def _end_session(self, entry: Entry) -> None:
        streams = self.sessions.get(entry.audience)
        if streams is not None:
            streams.end()

    def _part_streams(self, entry: Entry) -> None:
        streams = self.sessions.get(entry.audience)
        if streams is not None:
            streams.end_before(entry.seq)

    def _forget_verdicts(self, entry: Entry) -> None:
        self._verdicts.clear()

    async def _check_access(self, entry: Entry) -> None:
        self._verdicts.clear()
        await self._check(entry.audience)

    async def _check(self, principal: str) -> None:
        """End the streams of those who may not come in any more: of one principal, or of all."""
        for access, group in _by_access(self._topics):
            if principal in ("", access.principal) and await _identify(access) is None:
                _end(group)


def _by_access(guests: Iterable[G]) -> list[tuple[Access, list[G]]]:
    """Taken at once, since they come and go while one is asked about."""
    groups: dict[Hashable, tuple[Access, list[G]]] = {}
    for guest in guests:
        access = guest.access
        groups.setdefault(access.key, (access, []))[1].append(guest)
    return list(groups.values())


def _end(guests: Iterable[Guest]) -> None:
    for guest in guests:
        guest.end()


async def _identify(access: Access) -> Caller | None:
    """Who it is now; ``None`` if the credentials are no good, or of somebody else."""
    try:
        caller = await _persistently(access.identify)
    except Exception:  # a broken authentication lets nobody in
        logger.exception("The credentials of a stream could not be checked")
        return None
    return caller if caller is not None and caller.principal == access.principal else None


async def may_see(call: Call, uri: str) -> bool:
    """Whether there is such a resource for this caller (RES-15)."""
    found = call.server.registry.find_resource(uri)
    async with exchange():
        return found is not None and bool(await permitted(call, [found[0]]))


async def _persistently(work: Callable[[], Awaitable[T]]) -> T:
    """What ``work`` gives, with patience for a database that is away for a moment."""
    for pause in _PAUSES:
        try:
            return await work()
        except Error as error:
            logger.warning("The database is away, next try in %.1f s: %s", pause, error)
            await asyncio.sleep(pause)
    return await work()


def broadcast_of(entry: Entry) -> Broadcast:
    method = METHODS[Kind(entry.kind)]
    return Broadcast(method, {"uri": entry.uri} if entry.kind == Kind.RESOURCE_UPDATED else None)


_hubs = PerLoop(Hub)


def hub() -> Hub:
    """The one of the running loop."""
    return _hubs.of(asyncio.get_running_loop())
