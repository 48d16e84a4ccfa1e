"""What an event can be about, and one as it was read from the log."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple


class Kind(StrEnum):
    """The kinds of entries in the log: notifications for clients, and signals between our own processes."""

    TOOLS_CHANGED = "tools.list_changed"
    PROMPTS_CHANGED = "prompts.list_changed"
    RESOURCES_CHANGED = "resources.list_changed"
    RESOURCE_UPDATED = "resources.updated"
    # What the admin switches, and who may do what. ``audience`` is a principal, "" stands for everybody.
    CATALOGUE_CHANGED = "catalogue.changed"
    ACCESS_CHANGED = "access.changed"
    # Of one session, which is the audience.
    SESSION_CLOSED = "session.closed"
    STREAMS_PARTED = "session.parted"
    SUBSCRIPTIONS_CHANGED = "session.subscriptions"
    STREAM_OPENED = "stream.opened"
    STREAM_CLOSED = "stream.closed"
    STREAM_WANTED = "stream.wanted"
    CALL_CANCELLED = "call.cancelled"


# By what a list is of.
CHANGES_OF: Final = {"tools": Kind.TOOLS_CHANGED, "prompts": Kind.PROMPTS_CHANGED, "resources": Kind.RESOURCES_CHANGED}
LIST_CHANGES: Final = tuple(CHANGES_OF.values())
NOTIFICATIONS: Final = (*LIST_CHANGES, Kind.RESOURCE_UPDATED)


class Entry(NamedTuple):
    """A numbered row of the log. ``prev`` is the number before it; an empty ``server`` stands for all of them."""

    seq: int
    prev: int
    kind: str
    server: str = ""
    uri: str = ""
    audience: str = ""
    data: dict[str, Any] = {}
