"""The rows of legacy sessions: what they subscribed to, and which numbers their GET streams carried.

Every change is an entry of the log as well, written in one transaction with the row, so all workers see it at
the same place between the events. These functions are sync and run in the store pools.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q

from django_mcp.events import log, workers
from django_mcp.events.kinds import LIST_CHANGES, NOTIFICATIONS, Entry, Kind
from django_mcp.events.numbering import append_numbered, clock, log_alias
from django_mcp.events.spans import Span, owner
from django_mcp.managers import digest_of

MAX_SUBSCRIPTIONS = 1000
MAX_REPLAY = 10_000
_MICROSECONDS = 1_000_000


class TooManySubscriptions(Exception):
    """The session has as many as it may have."""


class SessionGone(Exception):
    """The session has ended meanwhile, so nothing can be stored for it."""


class SessionRows(NamedTuple):
    """What is stored of a session: its spans, and from which number on it hears of each URI.

    Before its client is ready it hears of nothing (INIT-08).
    """

    spans: Sequence[Span]
    subscriptions: dict[str, int]
    is_initialized: bool = True


def subscribe(session: int, uri: str) -> None:
    """Idempotent (RES-09). Raises ``TooManySubscriptions`` and ``SessionGone``."""
    from django_mcp.models import Subscription

    rows = Subscription.objects.using(log_alias()).filter(session=session)
    digest = digest_of(uri)
    if rows.filter(digest=digest).exists():
        return
    if rows.count() >= MAX_SUBSCRIPTIONS:
        raise TooManySubscriptions

    def write(seq: int) -> None:
        rows.get_or_create(session_id=session, digest=digest, defaults={"uri": uri, "since": seq})

    with _noticing_its_end():
        append_numbered(_entry(Kind.SUBSCRIPTIONS_CHANGED, session), write)


def unsubscribe(session: int, uri: str) -> None:
    """Idempotent: what was not subscribed to is not any more."""
    from django_mcp.models import Subscription

    rows = Subscription.objects.using(log_alias()).filter(session=session, digest=digest_of(uri))
    if rows.exists():
        append_numbered(_entry(Kind.SUBSCRIPTIONS_CHANGED, session), lambda seq: rows.delete())


def open_span(session: int, resumed: str | None) -> tuple[Span, bool]:
    """A connection for a new stream, or for the one that is named if the session has it; whether it has.

    Resuming closes the connection that the stream had. Raises ``SessionGone``.
    """
    from django_mcp.models import StreamSpan

    rows = StreamSpan.objects.using(log_alias()).filter(session=session)
    is_known = resumed is not None and rows.filter(stream=resumed).exists()
    stream = resumed if resumed is not None and is_known else secrets.token_hex(8)
    connection = secrets.token_hex(8)

    def write(seq: int) -> Span:
        rows.filter(stream=stream, end=None).update(end=seq)
        oldest = clock() - int(log.retention() * _MICROSECONDS)
        rows.filter(end__lt=oldest).delete()
        span = Span(stream, connection, seq, worker=workers.this.key)
        rows.create(session_id=session, **span._asdict())
        return span

    data = {"stream": stream, "connection": connection}
    with _noticing_its_end():
        return append_numbered(_entry(Kind.STREAM_OPENED, session) | {"data": data}, write), is_known


def close_span(session: int, connection: str) -> None:
    """Say that a connection is gone, here or with its worker, unless its stream was resumed meanwhile."""
    from django_mcp.models import StreamSpan

    rows = StreamSpan.objects.using(log_alias()).filter(connection=connection, end=None)
    if rows.exists():
        values = _entry(Kind.STREAM_CLOSED, session) | {"data": {"connection": connection}}
        append_numbered(values, lambda seq: rows.update(end=seq))


def announce_end(session: int) -> None:
    """End the streams that a session has on any worker; to be called before its rows go."""
    _announce(Kind.SESSION_CLOSED, session)


def announce_parting(session: int) -> None:
    """End them likewise, for a client that comes back to them."""
    _announce(Kind.STREAMS_PARTED, session)


def announce_initialized(session: int) -> None:
    """Let the streams that were opened too early begin; to be called after the row says so."""
    _announce(Kind.SUBSCRIPTIONS_CHANGED, session)


def _announce(kind: Kind, session: int) -> None:
    from django_mcp.models import StreamSpan

    alias = log_alias()
    if StreamSpan.objects.using(alias).filter(session=session, end=None).exists():
        with transaction.atomic(using=alias):
            log.append(**_entry(kind, session))


def load(sessions: Collection[int]) -> dict[int, SessionRows]:
    """The rows of these sessions."""
    from django_mcp.models import Session, StreamSpan, Subscription

    alias = log_alias()
    early: set[int] = set()
    spans: dict[int, list[Span]] = defaultdict(list)
    subscriptions: dict[int, dict[str, int]] = defaultdict(dict)
    for batch in _batches(sessions):
        owned = StreamSpan.objects.using(alias).filter(session__in=batch)
        for session, *columns in owned.values_list("session_id", *Span._fields):
            spans[session].append(Span._make(columns))
        wanted = Subscription.objects.using(alias).filter(session__in=batch)
        for session, uri, since in wanted.values_list("session_id", "uri", "since"):
            subscriptions[session][uri] = since
        early.update(Session.objects.using(alias).filter(pk__in=batch, initialized=False).values_list("pk", flat=True))
    return {session: SessionRows(spans[session], subscriptions[session], session not in early) for session in sessions}


def missed(session: int, server: str, stream: str, after: int, upto: int) -> list[Entry]:
    """The entries above ``after`` and not above ``upto`` that belong to this stream, in order (LH-24, LH-25)."""
    from django_mcp.models import Event

    rows = load([session])[session]
    events = Event.objects.using(log_alias()).filter(seq__gt=after, seq__lte=upto)
    events = events.filter(Q(server="") | Q(server=server), kind__in=NOTIFICATIONS).order_by("seq")
    entries = (Entry._make(row) for row in events.values_list(*Entry._fields)[:MAX_REPLAY])
    return [entry for entry in entries if _is_for(rows, entry) and _stream_of(rows.spans, entry) == stream]


@contextmanager
def _noticing_its_end() -> Iterator[None]:
    """What is written belongs to the session's row, whose absence the database notices."""
    try:
        yield
    except IntegrityError:
        raise SessionGone from None


def _is_for(rows: SessionRows, entry: Entry) -> bool:
    if not rows.is_initialized:
        return False
    if entry.kind in LIST_CHANGES:
        return True
    since = rows.subscriptions.get(entry.uri)
    return since is not None and since < entry.seq


def _stream_of(spans: Sequence[Span], entry: Entry) -> str | None:
    found = owner(spans, entry.seq)
    return None if found is None else found.stream


def _entry(kind: Kind, session: int) -> dict[str, str]:
    return {"kind": kind, "audience": str(session)}


def _batches(keys: Collection[int]) -> list[list[int]]:
    everything = list(keys)
    return [everything[start : start + log.PAGE] for start in range(0, len(everything), log.PAGE)]
