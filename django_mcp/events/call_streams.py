"""The rows of legacy calls that stream: which worker runs them, and what they have sent so far (LH-14, LH-24).

The journal of that worker writes them, and whichever worker the client comes back to reads them. These functions
are sync and run in the store pools.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from django_mcp.conf import mcp_settings
from django_mcp.events import log, workers
from django_mcp.events.kinds import Kind
from django_mcp.events.numbering import log_alias
from django_mcp.managers import MAX_BATCH, delete_in_batches

PAGE = 16  # chunks a read, each of up to STREAM_BUFFER bytes
# Seconds beyond REPLAY_AGE after which a worker that says nothing is gone for good, and so are its calls.
FORGET_WORKER = 60.0


class Chunk(NamedTuple):
    """Messages of one call: the last ones of the numbers ``first`` to ``last``. Those before them were dropped."""

    first: int
    last: int
    is_final: bool
    messages: Sequence[bytes]

    def after(self, number: int) -> Iterator[tuple[int, bytes]]:
        """The messages above this number, each with its own."""
        start = self.last - len(self.messages) + 1
        skipped = max(0, number + 1 - start)
        return zip(range(start + skipped, self.last + 1), islice(self.messages, skipped, None), strict=True)


class Entry(NamedTuple):
    """What the journal says about one call. ``parts``: its client is to come back once more."""

    key: str
    session: int
    request: str
    is_new: bool
    chunk: Chunk | None
    parts: bool = False


class Saved(NamedTuple):
    """Keys of calls whose session is gone, and of those to which a client has come back."""

    gone: frozenset[str]
    wanted: frozenset[str]


class State(NamedTuple):
    """How a call stands. ``beat`` is the last sign of life of the worker that runs it."""

    request: str
    resumer: str
    ended: datetime | None
    beat: datetime


def save(worker: str, entries: Sequence[Entry], watched: Collection[str] = ()) -> Saved:
    """Write all of it in one transaction, and a sign of life. Raises ``django.db.Error``.

    ``watched`` are calls of which it should be found out whether a client has come back to them.
    """
    try:
        gone = _save(worker, entries)
    except IntegrityError:  # a session has just ended, or this was written before a connection was lost
        gone = frozenset().union(*(_save_once(worker, entry) for entry in entries))
    return Saved(gone, _wanted(watched))


def _save(worker: str, entries: Sequence[Entry]) -> frozenset[str]:
    from django_mcp.models import CallStream, StreamChunk

    alias = log_alias()
    now = timezone.now()
    with transaction.atomic(using=alias):
        # First, since SQLite lets nobody write who has read before another one wrote.
        workers.beat(worker)
        gone = _without_session(entries)
        kept = [entry for entry in entries if entry.key not in gone]
        CallStream.objects.using(alias).bulk_create(
            CallStream(
                key=entry.key,
                session_id=entry.session,
                worker_id=worker,
                request=entry.request,
                ended=now if _ends(entry) else None,
            )
            for entry in kept
            if entry.is_new
        )
        # Before the chunks, whose foreign keys hold the same rows: MySQL would find deadlocks with whoever claims them.
        _update([entry.key for entry in kept if _ends(entry) and not entry.is_new], ended=now)
        _update([entry.key for entry in kept if entry.parts], resumer="")
        StreamChunk.objects.using(alias).bulk_create(
            StreamChunk(
                stream_id=entry.key,
                first=entry.chunk.first,
                last=entry.chunk.last,
                final=entry.chunk.is_final,
                body=b"\n".join(entry.chunk.messages),
            )
            for entry in kept
            if entry.chunk is not None
        )
    return gone


def _save_once(worker: str, entry: Entry) -> frozenset[str]:
    """One entry, of which some may be there already."""
    from django_mcp.models import CallStream, StreamChunk

    alias = log_alias()
    is_new = entry.is_new and not CallStream.objects.using(alias).filter(pk=entry.key).exists()
    chunk = entry.chunk
    if chunk is not None:
        known = StreamChunk.objects.using(alias).filter(stream=entry.key, first=chunk.first)
        chunk = None if known.exists() else chunk
    try:
        return _save(worker, [entry._replace(is_new=is_new, chunk=chunk)])
    except IntegrityError:
        return frozenset([entry.key])


def _without_session(entries: Sequence[Entry]) -> frozenset[str]:
    """Those whose session has ended, and the rows of its calls with it."""
    from django_mcp.models import CallStream, Session

    alias = log_alias()
    new = {entry.session for entry in entries if entry.is_new}
    known = {entry.key for entry in entries if not entry.is_new}
    sessions = set(Session.objects.using(alias).filter(pk__in=new).values_list("pk", flat=True)) if new else set()
    keys = set(CallStream.objects.using(alias).filter(pk__in=known).values_list("pk", flat=True)) if known else set()
    return frozenset(
        entry.key for entry in entries if (entry.session not in sessions if entry.is_new else entry.key not in keys)
    )


def _ends(entry: Entry) -> bool:
    return entry.chunk is not None and entry.chunk.is_final


def _update(keys: Sequence[str], **values: object) -> None:
    from django_mcp.models import CallStream

    if keys:
        CallStream.objects.using(log_alias()).filter(pk__in=keys).update(**values)


def _wanted(keys: Collection[str]) -> frozenset[str]:
    from django_mcp.models import CallStream

    found: set[str] = set()
    everything = iter(keys)
    while batch := list(islice(everything, MAX_BATCH)):
        rows = CallStream.objects.using(log_alias()).filter(pk__in=batch).exclude(resumer="")
        found.update(rows.values_list("pk", flat=True))
    return frozenset(found)


def claim(session: int, key: str, resumer: str) -> None:
    """Say that a client has come back here: who resumed the stream before is to end, and its worker to write all."""
    from django_mcp.models import CallStream

    alias = log_alias()
    with transaction.atomic(using=alias):
        if CallStream.objects.using(alias).filter(pk=key, session=session).update(resumer=resumer):
            log.append(Kind.STREAM_WANTED, audience=str(session), data={"stream": key})


def probe(key: str) -> None:
    """Write nothing, as if it were something: on SQLite it takes as long as it takes the call's worker to write."""
    from django_mcp.models import CallStream

    CallStream.objects.using(log_alias()).filter(pk=key, resumer=key).update(resumer=key)


def find(session: int, key: str) -> State | None:
    """How a call of this session stands; ``None`` for any other."""
    from django_mcp.models import CallStream

    rows = CallStream.objects.using(log_alias()).filter(pk=key, session=session)
    row = rows.values_list("request", "resumer", "ended", "worker__beat").first()
    return None if row is None else State._make(row)


def read(session: int, key: str, after: int) -> tuple[State | None, list[Chunk]]:
    """How a call stands, and the next chunks that follow a number without a gap."""
    from django_mcp.models import StreamChunk

    state = find(session, key)
    if state is None:
        return None, []
    rows = StreamChunk.objects.using(log_alias()).filter(Q(last__gt=after) | Q(final=True), stream=key)
    chunks = []
    for first, last, final, body in rows.order_by("first").values_list("first", "last", "final", "body")[:PAGE]:
        if first > after + 1:
            break
        chunks.append(Chunk(first, last, final, bytes(body).split(b"\n") if body else ()))
        after = max(after, last)
    return state, chunks


def clear_streams(batch_size: int = MAX_BATCH) -> int:
    """Remove the calls that ended ``REPLAY_AGE`` ago, and those of workers that are gone; how many there were."""
    from django_mcp.models import CallStream, Worker

    alias = log_alias()
    horizon = timezone.now() - timedelta(seconds=mcp_settings().replay_age)
    silent = Worker.objects.using(alias).filter(beat__lt=horizon - timedelta(seconds=FORGET_WORKER))
    streams = CallStream.objects.using(alias)
    removed = delete_in_batches(streams.filter(ended__lt=horizon), batch_size)
    removed += delete_in_batches(streams.filter(worker__in=silent), batch_size)
    delete_in_batches(silent, batch_size)
    return removed
