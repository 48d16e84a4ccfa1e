"""Server-Sent Events: what a stream is made of.

Lines end in LF, a message is one ``data:`` line, and comments keep proxies awake (LH-39, MH-28, MH-29).
"""

from __future__ import annotations

from typing import Any

from django_mcp.protocol.jsonrpc import encode
from django_mcp.transports.messages import EVENT_STREAM, HeaderPairs

KEEP_ALIVE = b": keep-alive\n\n"
OPENED = b": stream open\n\n"
CANCELLED = b": cancelled\n\n"

_MESSAGE = b"event: message\ndata: "

HEADERS: HeaderPairs = (
    ("Content-Type", EVENT_STREAM),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
)


def frame(message: Any) -> bytes:
    return event(encode(message))


def event(data: bytes, event_id: str | None = None) -> bytes:
    """An event with encoded data, and the id that a client comes back with."""
    head = b"" if event_id is None else b"id: " + event_id.encode() + b"\n"
    return head + _MESSAGE + data + b"\n\n"


def data_of(frame: bytes) -> bytes | None:
    """The data of an event; ``None`` for a comment."""
    return frame.removeprefix(_MESSAGE).removesuffix(b"\n\n") if frame.startswith(_MESSAGE) else None


def priming(event_id: str, retry: int) -> bytes:
    """An event without data: where a client is, and after how many milliseconds to come back (LH-08, LH-10)."""
    return b"id: %s\nretry: %d\ndata: \n\n" % (event_id.encode(), retry)


def interval(retry: int) -> bytes:
    """The same for clients that would parse the empty data (BL-107)."""
    return b"retry: %d\n\n" % retry
