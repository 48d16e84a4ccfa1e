"""Content blocks and what holds them, each written for the revision it goes to.

A block that an older revision does not know becomes a text that names it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, get_args

from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.versions import Revision

Role = Literal["user", "assistant"]
ROLES = get_args(Role)


class WireIcon(Protocol):
    """What this row needs to know of an icon."""

    def to_wire(self, revision: Revision, /) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """For whom a block is, how much it matters (0 to 1) and when it changed (TOOL-19)."""

    audience: Sequence[Role] = ()
    priority: float | None = None
    last_modified: datetime | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.audience, str) or not set(ROLES).issuperset(self.audience):
            raise ValueError(
                f"Annotations got audience={self.audience!r}. It lists user, assistant or both: "
                'write Annotations(audience=["user"]).'
            )
        if self.priority is not None and not 0 <= self.priority <= 1:
            raise ValueError(
                f"Annotations got priority={self.priority!r}. It is a number from 0 to 1: "
                "write Annotations(priority=0.5)."
            )

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {}
        if self.audience:
            wire["audience"] = list(self.audience)
        if self.priority is not None:
            wire["priority"] = self.priority
        if self.last_modified is not None and revision.has_last_modified:
            changed = self.last_modified
            wire["lastModified"] = changed if isinstance(changed, str) else changed.isoformat()
        return wire


@dataclass(frozen=True, slots=True)
class TextContent:
    """A text, for people or for the model."""

    text: str
    _: KW_ONLY
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        return _block({"type": "text", "text": self.text}, self.annotations, self.meta, revision)


@dataclass(frozen=True, slots=True)
class ImageContent:
    """A picture: bytes, or text that is Base64 already."""

    data: bytes | str
    mime_type: str
    _: KW_ONLY
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire = {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}
        return _block(wire, self.annotations, self.meta, revision)


@dataclass(frozen=True, slots=True)
class AudioContent:
    """A recording: bytes, or text that is Base64 already."""

    data: bytes | str
    mime_type: str
    _: KW_ONLY
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire = {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}
        if not revision.has_audio:
            wire = {"type": "text", "text": f"[audio, {self.mime_type}]"}
        return _block(wire, self.annotations, self.meta, revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceContents:
    """What is read from a URI: a text, or a blob of bytes (or of text that is Base64 already)."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: bytes | str | None = None
    meta: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.blob is None):
            raise ValueError(
                f"ResourceContents of {self.uri!r} need either a text or a blob: "
                "write ResourceContents(uri=..., text=...) or ResourceContents(uri=..., blob=...)."
            )

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {"uri": self.uri}
        if self.mime_type is not None:
            wire["mimeType"] = self.mime_type
        if self.blob is None:
            wire["text"] = self.text
        else:
            wire["blob"] = _base64(self.blob)
        return _with_meta(wire, self.meta, revision)


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A resource sent along instead of being read later."""

    resource: ResourceContents
    _: KW_ONLY
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire = {"type": "resource", "resource": self.resource.to_wire(revision)}
        return _block(wire, self.annotations, self.meta, revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLink:
    """The URI of a resource the client may read; it need not be listed."""

    uri: str
    name: str
    title: Any = None
    description: Any = None
    mime_type: str | None = None
    size: int | None = None
    icons: tuple[WireIcon, ...] = ()
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire = self._link(revision) if revision.has_resource_links else self._text()
        return _block(wire, self.annotations, self.meta, revision)

    def to_entry(self, revision: Revision) -> dict[str, Any]:
        """The resource it links to, as ``resources/list`` shows it (RES-02)."""
        wire = self._link(revision)
        del wire["type"]
        if not revision.has_titles:
            wire.pop("title", None)
        return _block(wire, self.annotations, self.meta, revision)

    def _link(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.title is not None:
            wire["title"] = str(self.title)
        if self.description is not None:
            wire["description"] = str(self.description)
        if self.mime_type is not None:
            wire["mimeType"] = self.mime_type
        if self.size is not None:
            wire["size"] = self.size
        if self.icons and revision.has_icons:
            wire["icons"] = [icon.to_wire(revision) for icon in self.icons]
        return wire

    def _text(self) -> dict[str, Any]:
        label = self.name if self.title is None else self.title
        return {"type": "text", "text": f"{label}: {self.uri}"}


Content = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt; it holds exactly one block (PRM-03)."""

    role: Role
    content: Content

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        return {"role": self.role, "content": self.content.to_wire(revision)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answers: blocks for the model, and a value for programs.

    ``structured`` is any value that can be written as JSON.
    """

    content: tuple[Content, ...] = ()
    structured: Any = ABSENT
    is_error: bool = False
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The result; where only objects may be structured another value is wrapped (TOOL-14)."""
        wire: dict[str, Any] = {"content": [block.to_wire(revision) for block in self.content]}
        if self.structured is not ABSENT and revision.has_output_schema:
            as_it_is = revision.has_any_structured or isinstance(self.structured, dict)
            wire["structuredContent"] = self.structured if as_it_is else {"result": self.structured}
        wire["isError"] = self.is_error
        # Results had ``_meta`` from the first revision on.
        return wire if self.meta is None else {**wire, "_meta": self.meta}


def _block(
    wire: dict[str, Any],
    annotations: Annotations | None,
    meta: dict[str, Any] | None,
    revision: Revision,
) -> dict[str, Any]:
    if annotations is not None and (members := annotations.to_wire(revision)):
        wire["annotations"] = members
    return _with_meta(wire, meta, revision)


def _with_meta(wire: dict[str, Any], meta: dict[str, Any] | None, revision: Revision) -> dict[str, Any]:
    if meta is not None and revision.has_item_meta:
        wire["_meta"] = meta
    return wire


def _base64(data: bytes | str) -> str:
    return data if isinstance(data, str) else b64encode(data).decode()
