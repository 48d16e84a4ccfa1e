"""Which connection of a legacy session carries an event (LH-19): a pure function of the log.

Each GET connection is a span of numbers: from the entry that opened it to the one that closed it. A worker
decides by what is below the event, so all come to the same answer, however far each has read. That of a worker
that is gone stays open until another one has noticed, and written the entry that closes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """One connection of one stream, at one worker; ``end`` is ``None`` while it is open."""

    stream: str
    connection: str
    start: int
    end: int | None = None
    worker: str = ""


def owner(spans: Iterable[Span], seq: int) -> Span | None:
    """The span that event ``seq`` belongs to.

    The newest one that was open then; else the one that had ended last, where a client that comes back
    finds it. ``None`` for an event from before the first connection.
    """
    begun = [span for span in spans if span.start < seq]
    is_open = [span for span in begun if span.end is None or seq < span.end]
    if is_open:
        return max(is_open, key=_start)
    return max(begun, key=_end, default=None)


def _start(span: Span) -> int:
    return span.start


def _end(span: Span) -> tuple[int, int]:
    return (span.end or 0, span.start)
