"""Arguments that a client wrapped in a text: ``"[1, 2]"`` for a list (BL-020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.jsonrpc import decode

MAX_DEPTH = 64


class JSONTexts:
    """Knows which arguments can be no text, so that a text given for one of them is worth reading."""

    __slots__ = ("_names",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._names = tuple(
            name for name, declared in schema.get("properties", {}).items() if not admits_text(declared, schema)
        )

    def decode(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments with those texts read, or None if there was nothing to read."""
        decoded = {
            name: value
            for name in self._names
            if isinstance(text := given.get(name), str) and (value := _read(text)) is not _UNREADABLE
        }
        return {**given, **decoded} if decoded else None


_UNREADABLE = object()


def _read(text: str) -> Any:
    try:
        return decode(text.encode(), max_depth=MAX_DEPTH)
    except (ProtocolError, UnicodeEncodeError):
        return _UNREADABLE


def admits_text(schema: Any, root: Mapping[str, Any]) -> bool:
    """Whether a text may fit the schema; in doubt, yes."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if isinstance(reference := schema.get("$ref"), str):
        definition = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
        return definition is None or admits_text(definition, {})
    if "type" in schema:
        return "string" in schema["type"]
    if "enum" in schema:
        return any(isinstance(value, str) for value in schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(admits_text(choice, root) for choice in schema[keyword])
    return True
