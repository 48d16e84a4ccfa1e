"""The trace context that a client sends in ``_meta`` (TRC-01, TRC-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

# W3C Trace Context: version, trace id, parent id and flags. Zero ids and version ff are invalid.
_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_TOO_LONG: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceContext:
    """``traceparent``, ``tracestate`` and ``baggage`` as sent; ``None`` for what is absent or malformed."""

    traceparent: str | None = None
    tracestate: str | None = None
    baggage: str | None = None

    @property
    def trace_id(self) -> str | None:
        """The 32 hexadecimal digits that all spans of a trace share."""
        return None if self.traceparent is None else self.traceparent[3:35]


def read_trace(meta: Mapping[str, Any]) -> TraceContext:
    """What is malformed is left out, never an error. A tracestate means nothing without its parent."""
    parent = _text(meta, "traceparent")
    if parent is not None and _TRACEPARENT.fullmatch(parent) is None:
        parent = None
    return TraceContext(
        traceparent=parent,
        tracestate=None if parent is None else _text(meta, "tracestate"),
        baggage=_text(meta, "baggage"),
    )


def _text(meta: Mapping[str, Any], key: str) -> str | None:
    value = meta.get(key)
    fits = isinstance(value, str) and len(value) <= _TOO_LONG and value.isascii() and value.isprintable()
    return value if fits else None
