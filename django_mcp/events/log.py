"""The event log: written in the caller's transaction, read in the order of the numbers.

An event commits or vanishes with the data it is about. Equal events of one transaction are one.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

from django.db import Error, connections, transaction
from django.db.models import Max

from django_mcp.conf import mcp_settings
from django_mcp.events.kinds import Entry
from django_mcp.events.numbering import HEAD, has_waiting, log_alias, number_waiting
from django_mcp.managers import MAX_BATCH, delete_in_batches

logger = logging.getLogger("django_mcp.events")

PAGE = 500  # rows a read
RETRY = 2000  # milliseconds after which clients are asked to come back
# However few are kept, a client that comes back in time finds what it missed.
MIN_AGE = 10 * RETRY / 1000

_COLUMNS = Entry._fields
Key = tuple[str, str, str, str, str]


def append(kind: str, *, server: str = "", uri: str = "", audience: str = "", data: Any = None) -> None:
    """Add an event to the transaction that is open on the log's database, or to one of its own."""
    append_all([{"kind": kind, "server": server, "uri": uri, "audience": audience, "data": data or {}}])


def append_all(events: Iterable[dict[str, Any]]) -> None:
    """Add many events, each with the fields of ``append``."""
    from django_mcp.models import Event

    alias = log_alias()
    connection = connections[alias]
    waiting = _waiting_on(connection)
    fresh = {key: event for event in events if not waiting.holds(connection, key := _key(event))}
    rows = iter([Event(**event) for event in fresh.values()])
    while batch := list(islice(rows, PAGE)):
        Event.objects.using(alias).bulk_create(batch)
    if connection.in_atomic_block:
        for key in fresh:
            waiting.add(connection, key)
    elif fresh and connection.get_autocommit():  # committed already, so they are numbered together
        waiting.finish()
    # Otherwise the site commits by hand, and a reader numbers what it finds.


def append_after(using: str, kind: str, **fields: Any) -> None:
    """Add an event about data of another database: when that is committed, so that neither waits for the other.

    A process that dies between the two loses the event.
    """
    if using == log_alias():
        append(kind, **fields)
    else:
        transaction.on_commit(lambda: append(kind, **fields), using=using, robust=True)


def _key(event: dict[str, Any]) -> Key:
    data = json.dumps(event["data"], sort_keys=True) if event["data"] else ""
    return (event["kind"], event["server"], event["uri"], event["audience"], data)


class _Waiting:
    """The events of one connection that wait for their commit, each with its ``on_commit`` hook.

    Every event has a hook, since a savepoint that is rolled back takes its hooks along; the first one
    that survives numbers the events of all. The connection is not kept, which goes with its thread.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._hooks: dict[Key, _Hook] = {}

    def holds(self, connection: Any, key: Key) -> bool:
        hook = self._hooks.get(key)
        return hook is not None and any(known is hook for _, known, *_ in reversed(connection.run_on_commit))

    def add(self, connection: Any, key: Key) -> None:
        if not connection.run_on_commit:  # those of a transaction that was rolled back
            self._hooks.clear()
        hook = self._hooks[key] = _Hook(self)
        connection.on_commit(hook, robust=True)

    def finish(self) -> None:
        for hook in self._hooks.values():
            hook.is_done = True
        self._hooks.clear()
        try:
            number_waiting(self._alias)
        except Error as error:  # the events are committed, so whoever reads next numbers them
            logger.warning("Events on %r are not numbered yet: %s", self._alias, error)


class _Hook:
    def __init__(self, waiting: _Waiting) -> None:
        self._waiting = waiting
        self.is_done = False

    def __call__(self) -> None:
        if not self.is_done:
            self._waiting.finish()


_connections: WeakKeyDictionary[Any, _Waiting] = WeakKeyDictionary()


def _waiting_on(connection: Any) -> _Waiting:
    found = _connections.get(connection)
    if found is None:
        found = _connections[connection] = _Waiting(connection.alias)
    return found


def look(alias: str) -> tuple[int, bool]:
    """The last number that was given, and whether some event waits for one."""
    from django_mcp.models import Event, EventHead

    heads = EventHead.objects.using(alias).filter(pk=HEAD).annotate(has_waiting=has_waiting(alias))
    found = heads.values_list("seq", "has_waiting").first()
    return found or (0, Event.objects.using(alias).filter(seq=None).exists())


def position(alias: str) -> int:
    """The highest number there is, which is where a new reader begins."""
    from django_mcp.models import Event, EventHead

    head = EventHead.objects.using(alias).filter(pk=HEAD).values_list("seq", flat=True).first()
    highest = Event.objects.using(alias).aggregate(highest=Max("seq"))["highest"]
    return max(head or 0, highest or 0)


def read(alias: str, cursor: int) -> list[Entry]:
    """At most ``PAGE`` entries above the cursor, in order."""
    from django_mcp.models import Event

    rows = Event.objects.using(alias).filter(seq__gt=cursor).order_by("seq")
    return [Entry._make(row) for row in rows.values_list(*_COLUMNS)[:PAGE]]


def find(kind: str, *, audience: str, since: int) -> list[Entry]:
    """The entries of one kind and audience whose number is not below ``since``, in order."""
    from django_mcp.models import Event

    rows = Event.objects.using(log_alias()).filter(kind=kind, audience=audience, seq__gte=since).order_by("seq")
    return [Entry._make(row) for row in rows.values_list(*_COLUMNS)]


def unbroken(cursor: int, entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries up to the first one that does not follow the one before it."""
    for entry in entries:
        if entry.prev != cursor:
            return
        cursor = entry.seq
        yield entry


def prune(batch_size: int = MAX_BATCH) -> int:
    """Remove events beyond ``EVENT_AGE`` and ``EVENT_ROWS``; how many there were."""
    from django_mcp.models import Event

    alias = log_alias()
    conf = mcp_settings()
    now = time.time()
    horizon = _microseconds(now - retention())
    rows = Event.objects.using(alias).filter(seq__isnull=False)
    surplus = rows.order_by("-seq").values_list("seq", flat=True)[conf.event_rows : conf.event_rows + 1]
    for seq in surplus:
        horizon = max(horizon, min((seq or 0) + 1, _microseconds(now - MIN_AGE)))
    return delete_in_batches(rows.filter(seq__lt=horizon), batch_size)


def retention() -> float:
    """How long, in seconds, events are kept for clients that come back."""
    return max(mcp_settings().event_age, MIN_AGE)


def _microseconds(seconds: float) -> int:
    return int(seconds * 1_000_000)
