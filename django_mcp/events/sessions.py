"""What one process knows of a legacy session that has GET streams here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.events import workers
from django_mcp.events.kinds import CHANGES_OF, Entry, Kind
from django_mcp.events.legacy import SessionRows
from django_mcp.events.spans import Span, owner

if TYPE_CHECKING:
    from django_mcp.protocol.notifications import Broadcast


class Connection(Protocol):
    """A GET stream that is open here. ``boundary``: it carries what is above this number."""

    access: Any
    span: Span
    boundary: int

    def put(self, entry: Entry, broadcast: Broadcast) -> None: ...

    def end(self) -> None: ...


class SessionStreams:
    """Hears of everything the session wants, and gives each event to the connection that owns it, if that is here."""

    __slots__ = ("connections", "pk", "rows")

    def __init__(self, pk: int) -> None:
        self.pk = pk
        self.connections: dict[str, Connection] = {}
        self.rows = SessionRows([], {})

    @property
    def access(self) -> Any:
        return next(iter(self.connections.values())).access

    def topics(self) -> Iterable[tuple[str, str]]:
        yield from ((CHANGES_OF[name], "") for name in self.access.lists)
        yield from ((Kind.RESOURCE_UPDATED, uri) for uri in self.rows.subscriptions)

    def wants(self, entry: Entry) -> bool:
        if not self.rows.is_initialized:
            return False
        if entry.kind == Kind.RESOURCE_UPDATED and self.rows.subscriptions[entry.uri] > entry.seq:
            return False
        return self._owner(entry) is not None

    def put(self, entry: Entry, broadcast: Broadcast) -> None:
        connection = self._owner(entry)
        if connection is not None:
            connection.put(entry, broadcast)

    def end(self) -> None:
        for connection in list(self.connections.values()):
            connection.end()

    def end_before(self, seq: int, stream: str | None = None) -> None:
        """What was opened before this number is over: of one stream, which was resumed, or of all."""
        for connection in list(self.connections.values()):
            if connection.span.start < seq and stream in (None, connection.span.stream):
                connection.end()

    def elsewhere(self) -> Iterator[Span]:
        """The connections that are open at other workers."""
        return (span for span in self.rows.spans if span.end is None and span.worker != workers.this.key)

    def end_closed(self, closed: Entry) -> None:
        """Others took this worker for dead: its client comes back, and finds what has passed it by."""
        connection = self.connections.get(closed.data["connection"])
        if connection is not None:
            connection.end()

    def _owner(self, entry: Entry) -> Connection | None:
        found = owner(self.rows.spans, entry.seq)
        connection = None if found is None else self.connections.get(found.connection)
        return connection if connection is not None and entry.seq > connection.boundary else None
