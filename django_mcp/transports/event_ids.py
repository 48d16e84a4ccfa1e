"""The ids of events on legacy streams: which stream it is, and which of its events (LH-22, LH-23).

``g<stream>.<number>`` on a GET stream, by the numbers of the log; ``p<stream>.<number>`` on that of a call, which
counts its messages.
"""

from __future__ import annotations

import re
from typing import NamedTuple

GET, POST = "g", "p"

# As long as the names that we give, so a time stamp can be read from each.
_ID = re.compile(r"([gp])([0-9a-f]{16,24})\.(\d{1,18})", re.ASCII)


class Place(NamedTuple):
    """Where a client was: how its stream began, the name of that, and the last event it has seen."""

    kind: str
    stream: str
    number: int


def event_id(kind: str, stream: str, number: int) -> str:
    return f"{kind}{stream}.{number}"


def read_place(last_event_id: str | None) -> Place | None:
    """``None`` for what is no id of ours (LH-27)."""
    found = None if last_event_id is None else _ID.fullmatch(last_event_id)
    return None if found is None else Place(found[1], found[2], int(found[3]))
