"""What a resource returned, as contents with a URI and a media type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from django_mcp.exceptions import InvalidOutput
from django_mcp.primitives.jsonable import JSONDefault, to_jsonable
from django_mcp.primitives.questions import raise_if_input_required
from django_mcp.protocol.content import ResourceContents
from django_mcp.protocol.jsonrpc import encode
from django_mcp.protocol.versions import Revision

BYTES = (bytes, bytearray, memoryview)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What was read: at least one thing (RES-08)."""

    contents: tuple[ResourceContents, ...]

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        return {"contents": [item.to_wire(revision) for item in self.contents]}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ContentsWriter:
    """Writes what one resource returns.

    An empty list is a JSON document, unless the function says that it returns ``ResourceContents``.
    """

    mime_type: str | None
    gives_contents: bool = False

    def to_result(self, value: Any, *, uri: str, default: JSONDefault) -> ReadResult:
        """The result to send, or ``InvalidOutput`` for what cannot or must not be sent."""
        raise_if_input_required(value)
        if isinstance(value, Iterator):
            value = list(value)
        if value is None or (self.gives_contents and isinstance(value, list | tuple) and not value):
            raise InvalidOutput(
                f"The resource returned {value!r}. Contents are never empty: return a text, bytes, data or "
                "ResourceContents, or raise ResourceNotFound."
            )
        items = value if _is_several(value) else (value,)
        return ReadResult(contents=tuple(self._write(item, uri, default) for item in items))

    def _write(self, item: Any, uri: str, default: JSONDefault) -> ResourceContents:
        if isinstance(item, ResourceContents):
            return self._completed(item, uri)
        if isinstance(item, BYTES):
            return self._contents(uri, "application/octet-stream", blob=bytes(item))
        plain = item if type(item) is str else to_jsonable(item, default)
        if isinstance(plain, str):
            return self._contents(uri, "text/plain", text=plain)
        return self._contents(uri, "application/json", text=encode(plain).decode())

    def _contents(self, uri: str, mime_type: str, **data: Any) -> ResourceContents:
        return ResourceContents(uri=uri, mime_type=self.mime_type or mime_type, **data)

    def _completed(self, item: ResourceContents, uri: str) -> ResourceContents:
        fallback = "application/octet-stream" if item.text is None else "text/plain"
        return dataclasses.replace(
            item,
            uri=item.uri or uri,
            mime_type=item.mime_type or self.mime_type or fallback,
        )


def _is_several(value: Any) -> bool:
    """Whether a list holds contents instead of being one JSON document."""
    return isinstance(value, list | tuple) and any(isinstance(item, (ResourceContents, *BYTES)) for item in value)
