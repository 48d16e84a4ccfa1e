"""Numbers for committed events, in the order of their commits.

An event is inserted without a number in whatever transaction its publisher is in, and gets one afterwards in
a short transaction that holds the head row. So no publisher waits for another one's business, and what was
rolled back leaves no hole. Each numbered row names the number before it, which is how a reader knows that it
has missed none.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import Error, IntegrityError, OperationalError, connections, router, transaction
from django.db.models import Exists, F, Max

from django_mcp.events import doorbells
from django_mcp.managers import without_waiting

T = TypeVar("T")

HEAD = 1  # the primary key of the head row
BATCH = 500  # rows a transaction
ATTEMPTS = 8

# Serialization failure and deadlock of PostgreSQL; deadlock, lock timeout and changed row of MySQL and MariaDB.
_SQLSTATES = frozenset({"40001", "40P01"})
_CODES = frozenset({1213, 1205, 1020})


class StaleHead(Exception):
    """Two have made the head row at once, or it comes from an older backup than the events."""


def log_alias() -> str:
    """The database that the event log is written to and read from."""
    from django_mcp.models import Event

    return router.db_for_write(Event)


def number_waiting(alias: str) -> int:
    """Number what is committed and has none yet; how many rows there were. Does nothing inside ``atomic()``."""
    total = 0
    while not connections[alias].in_atomic_block:
        numbered = _retried(alias, lambda: _number_batch(alias))
        total += numbered
        if numbered < BATCH:
            break
    if total:
        doorbells.ring()
    return total


def number_at_leisure(alias: str) -> int:
    """One batch, by somebody who has other work to do while another one writes on SQLite; raises ``Error`` then."""
    with without_waiting(connections[alias]):
        numbered = _number_batch(alias)
    if numbered:
        doorbells.ring()
    return numbered


def append_numbered(values: dict[str, Any], then: Callable[[int], T]) -> T:
    """Add an event of our own, numbered at once; ``then`` writes what belongs to its number beside it.

    Inside ``atomic()``, as in a ``TestCase``, it is part of that transaction.
    """
    alias = log_alias()
    result = _retried(alias, lambda: _append(alias, values, then))
    doorbells.ring()
    return result


def has_waiting(alias: str) -> Any:
    """A condition for queries: some committed event has no number yet."""
    from django_mcp.models import Event

    return Exists(Event.objects.using(alias).filter(seq=None))


def _number_batch(alias: str) -> int:
    with _holding_head(alias) as head:
        keys = _waiting_keys(alias)
        if keys:
            _number(alias, head, keys)
            doorbells.announce(connections[alias])
    return len(keys)


def _append(alias: str, values: dict[str, Any], then: Callable[[int], T]) -> T:
    from django_mcp.models import Event

    with _holding_head(alias) as head:
        row = Event.objects.using(alias).create(**values)
        last = _number(alias, head, [*_waiting_keys(alias, below=row.pk), row.pk])
        result = then(last)
        doorbells.announce(connections[alias])
    return result


def _waiting_keys(alias: str, below: int | None = None) -> list[int]:
    from django_mcp.models import Event

    rows = Event.objects.using(alias).filter(seq=None).order_by("pk")
    if below is not None:
        rows = rows.filter(pk__lt=below)
    return list(rows.values_list("pk", flat=True)[:BATCH])


def _number(alias: str, head: int, keys: Sequence[int]) -> int:
    """Give the rows their numbers; the last one, which is the head's now."""
    from django_mcp.models import Event, EventHead

    # By the clock, so that no number comes twice after a flush, a restore or a fail-over.
    first = max(head + 1, clock())
    rows = Event.objects.using(alias)
    with _noticing_a_stale_head():
        if len(keys) == 1:
            rows.filter(pk=keys[0]).update(seq=first, prev=head)
        else:
            numbered = [
                Event(pk=key, seq=first + place, prev=first + place - 1 if place else head)
                for place, key in enumerate(keys)
            ]
            rows.bulk_update(numbered, ["seq", "prev"], batch_size=100)
    last = first + len(keys) - 1
    EventHead.objects.using(alias).filter(pk=HEAD).update(seq=last)
    return last


pause = time.sleep


def clock() -> int:
    """Microseconds since 1970, which numbers are never below."""
    return time.time_ns() // 1000


@contextmanager
def _holding_head(alias: str) -> Iterator[int]:
    """A transaction of our own that holds the head row; its number."""
    from django_mcp.models import EventHead

    connection = connections[alias]
    _read_what_is_committed(connection, before=True)
    with transaction.atomic(using=alias):
        _read_what_is_committed(connection, before=False)
        heads = EventHead.objects.using(alias).filter(pk=HEAD)
        # A write comes first, so that SQLite waits for its lock instead of failing.
        if not heads.update(seq=F("seq")):
            with _noticing_a_stale_head():
                EventHead.objects.using(alias).create(pk=HEAD, seq=_highest(alias))
        yield heads.values_list("seq", flat=True).get()


@contextmanager
def _noticing_a_stale_head() -> Iterator[None]:
    """Other rows that are written beside the events may be refused too, and trying again would not help."""
    try:
        yield
    except IntegrityError as error:
        raise StaleHead from error


def _read_what_is_committed(connection: Any, *, before: bool) -> None:
    """READ COMMITTED for the next transaction; MySQL wants to hear it before, PostgreSQL inside."""
    vendor = {True: "mysql", False: "postgresql"}[before]
    if connection.vendor == vendor and not (before and connection.in_atomic_block) and not connection.savepoint_ids:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")


def _highest(alias: str) -> int:
    from django_mcp.models import Event

    return Event.objects.using(alias).aggregate(highest=Max("seq"))["highest"] or 0


def _retried(alias: str, work: Callable[[], T]) -> T:
    attempts = 1 if connections[alias].in_atomic_block else ATTEMPTS
    for attempt in range(1, attempts):
        try:
            return work()
        except StaleHead:
            _raise_head(alias)
        except OperationalError as error:
            if not _may_succeed_later(error):
                raise
        pause(random.uniform(0, 0.005 * 2**attempt))  # noqa: S311 - to keep two from meeting again
    return work()


def _raise_head(alias: str) -> None:
    from django_mcp.models import EventHead

    highest = _highest(alias)
    EventHead.objects.using(alias).filter(pk=HEAD, seq__lt=highest).update(seq=highest)


def _may_succeed_later(error: Error) -> bool:
    cause = error.__cause__
    if getattr(cause, "sqlstate", None) in _SQLSTATES or getattr(cause, "pgcode", None) in _SQLSTATES:
        return True
    return (bool(error.args) and error.args[0] in _CODES) or "locked" in str(error)
