"""What a prompt returned, as messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django_mcp.exceptions import InvalidOutput
from django_mcp.primitives.jsonable import JSONDefault, to_jsonable
from django_mcp.primitives.outputs import CONTENT
from django_mcp.protocol.content import ROLES, PromptMessage, TextContent
from django_mcp.protocol.versions import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """The messages of a prompt, and what they are for."""

    description: Any = None
    messages: tuple[PromptMessage, ...] = ()
    meta: dict[str, Any] | None = None

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {}
        if self.description is not None:
            wire["description"] = str(self.description)
        wire["messages"] = [message.to_wire(revision) for message in self.messages]
        # Results had ``_meta`` from the first revision on.
        return wire if self.meta is None else {**wire, "_meta": self.meta}


def to_prompt_result(value: Any, default: JSONDefault, *, description: Any = None) -> PromptResult:
    """The result to send, or ``InvalidOutput`` for what is no message."""
    meta = None
    if isinstance(value, Mapping) and "messages" in value:
        value = PromptResult(**{key: value[key] for key in ("description", "messages", "meta") if key in value})
    if isinstance(value, PromptResult):
        description = description if value.description is None else value.description
        meta = value.meta
        value = value.messages
    if not isinstance(value, list | tuple | Iterator):
        value = (value,)
    messages = tuple(_read_message(item, default) for item in value)
    return PromptResult(description=description, messages=messages, meta=meta)


def _read_message(item: Any, default: JSONDefault) -> PromptMessage:
    if isinstance(item, PromptMessage):
        return _message(item.role, item.content, default)
    if isinstance(item, Mapping):
        return _message(item.get("role", "user"), item.get("content"), default)
    return _message("user", item, default)


def _message(role: Any, content: Any, default: JSONDefault) -> PromptMessage:
    if role not in ROLES:
        raise InvalidOutput(f"A prompt returned the role {role!r}. The roles are user and assistant.")
    if isinstance(content, CONTENT):
        return PromptMessage(role, content)
    if isinstance(content, Mapping) and content.get("type") == "text":
        content = content.get("text")
    text = None if isinstance(content, Mapping | list | tuple) else to_jsonable(content, default)
    if not isinstance(text, str):
        raise InvalidOutput(
            f"A prompt returned a value of type {type(content).__name__} as a message. A message is a text, "
            f"one of {', '.join(kind.__name__ for kind in CONTENT)}, or PromptMessage(role, content)."
        )
    return PromptMessage(role, TextContent(text))
