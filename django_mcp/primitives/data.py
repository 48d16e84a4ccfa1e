"""Bytes with a media type as the block that clients know for it."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from django_mcp.protocol.content import AudioContent, Content, EmbeddedResource, ImageContent, ResourceContents


def contents_block(contents: ResourceContents, name: str) -> Content:
    """An image, a recording, or an embedded resource called ``name`` (TOOL-17)."""
    mime_type = contents.mime_type or "application/octet-stream"
    kind = mime_type.partition("/")[0]
    if contents.blob is not None and kind in ("image", "audio"):
        return (ImageContent if kind == "image" else AudioContent)(contents.blob, mime_type)
    return EmbeddedResource(replace(contents, uri=f"attachment:{quote(name)}", mime_type=mime_type))
