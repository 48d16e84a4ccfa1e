"""What a client gets: the wire's own objects, whose members are attributes as well."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django_mcp.protocol.versions import Revision

R = TypeVar("R", bound="Reply")


class WireObject(dict[str, Any]):
    """A JSON object as it came. ``tool.input_schema`` is ``tool["inputSchema"]``."""

    def __getattr__(self, name: str) -> Any:
        first, *rest = name.split("_")
        for key in (name, first + "".join(part.capitalize() for part in rest)):
            if key in self:
                return self[key]
        raise AttributeError(f"There is no {name} in this {type(self).__name__}. It has: {', '.join(self)}.")


def wire_value(value: Any) -> Any:
    """The same value with ``WireObject`` in place of every dict."""
    if isinstance(value, Mapping):
        return WireObject({key: wire_value(item) for key, item in value.items()})
    return [wire_value(item) for item in value] if isinstance(value, list) else value


class Reply(WireObject):
    """A result, and what it is the answer to."""

    request_method: str
    request_params: Mapping[str, Any]
    revision: Revision

    @classmethod
    def of(cls: type[R], result: Mapping[str, Any], method: str, params: Mapping[str, Any], revision: Revision) -> R:
        reply = cls({key: wire_value(value) for key, value in result.items()})
        reply.request_method, reply.request_params, reply.revision = method, params, revision
        return reply


class ToolReply(Reply):
    """The result of ``tools/call``."""

    @property
    def is_error(self) -> bool:
        return self.get("isError") is True

    @property
    def text(self) -> str:
        """The text of all text blocks, a line each."""
        return _joined(self["content"])

    @property
    def structured(self) -> Any:
        """``structuredContent``, or ``None`` where there is none."""
        return self.get("structuredContent")


class ResourceReply(Reply):
    """The result of ``resources/read``."""

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self["contents"] if "text" in part)

    @property
    def blob(self) -> bytes:
        """The bytes of all parts that have some."""
        return b"".join(base64.b64decode(part["blob"]) for part in self["contents"] if "blob" in part)


class PromptReply(Reply):
    """The result of ``prompts/get``."""

    @property
    def text(self) -> str:
        """The text of all messages, a line each."""
        return _joined(message["content"] for message in self["messages"])


class CompletionReply(list[str]):
    """The values of ``completion/complete``, with ``total`` (or ``None``) and ``has_more``."""

    def __init__(self, completion: Mapping[str, Any]) -> None:
        super().__init__(completion["values"])
        self.total: int | None = completion.get("total")
        self.has_more: bool = completion.get("hasMore", False)


def _joined(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")
