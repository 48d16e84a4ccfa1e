"""Questions to the client's model, and its answers (SMP-01)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from django_mcp.exceptions import InvalidAnswer
from django_mcp.primitives.questions import SAMPLE, FormReader, Question
from django_mcp.protocol.content import PromptMessage, TextContent
from django_mcp.protocol.versions import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """What the client's model answered. ``content`` holds the blocks as they came."""

    role: str
    content: tuple[dict[str, Any], ...]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The texts among the blocks."""
        return "\n".join(block["text"] for block in self.content if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Sampling(Question):
    """A question for the client's model (SMP-01). ``messages`` is a text, or messages as prompts have them.

    ``tools`` and ``tool_choice`` are as the wire has them, and need a client that declared ``sampling.tools``.
    Asking raises ``ValueError`` where a use of a tool lacks its result.
    """

    messages: str | Sequence[PromptMessage | Mapping[str, Any]]
    max_tokens: int
    _: KW_ONLY
    key: str | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    model_preferences: Mapping[str, Any] | None = None
    include_context: str | None = None
    metadata: Mapping[str, Any] | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: Mapping[str, Any] | None = None

    @property
    def requires(self) -> dict[str, Any]:
        needed: dict[str, Any] = {}
        if self.tools is not None or self.tool_choice is not None:
            needed["tools"] = {}
        if self.include_context not in (None, "none"):
            needed["context"] = {}
        return {"sampling": needed}

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        messages: Any = self.messages
        if isinstance(messages, str):
            messages = [PromptMessage("user", TextContent(messages))]
        written = [one.to_wire(revision) if isinstance(one, PromptMessage) else dict(one) for one in messages]
        check_tool_results(written)
        options = {
            "modelPreferences": self.model_preferences,
            "systemPrompt": self.system_prompt,
            "includeContext": self.include_context,
            "temperature": self.temperature,
            "stopSequences": self.stop_sequences,
            "metadata": self.metadata,
            "tools": self.tools,
            "toolChoice": self.tool_choice,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return {"method": SAMPLE, "params": {"messages": written, "maxTokens": self.max_tokens, **given}}

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> SampleResult:
        content, role, model = result.get("content"), result.get("role"), result.get("model")
        blocks: list[Any] = content if isinstance(content, list) else [content]
        if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
            raise InvalidAnswer("content is no content block")
        if any(block["type"] == "text" and not isinstance(block.get("text"), str) for block in blocks):
            raise InvalidAnswer("a text block has no text")
        if not isinstance(role, str) or not isinstance(model, str):
            raise InvalidAnswer("role or model is not a text")
        stop = result.get("stopReason")
        return SampleResult(
            role=role, content=tuple(blocks), model=model, stop_reason=stop if isinstance(stop, str) else None
        )


def check_tool_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Every use of a tool has its result in the very next message, which holds nothing else (SMP-04)."""
    open_ids: set[Any] = set()
    for message in messages:
        blocks = _blocks(message)
        results = _ids(blocks, "tool_result", "toolUseId")
        if results and (len(results) != len(blocks) or message.get("role") != "user"):
            raise ValueError("A message with a tool_result is of the user and holds tool results alone.")
        if len(results) != len(set(results)) or set(results) != open_ids:
            raise ValueError(
                f"Tools were used as {_listed(open_ids)} and the next message has results of {_listed(set(results))}. "
                "Each use needs one result, with its id as toolUseId, before anything else is said."
            )
        open_ids = set(_ids(blocks, "tool_use", "id"))
    if open_ids:
        raise ValueError(f"Tools were used as {_listed(open_ids)} and their results are missing.")


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    blocks: list[Any] = content if isinstance(content, list) else [content]
    for block in blocks:
        if not isinstance(block, Mapping):
            raise ValueError(f"A message has the content {block!r}. It is a content block, which is a dict, or a list.")
    return blocks


def _ids(blocks: list[Mapping[str, Any]], kind: str, field: str) -> list[str]:
    ids = [block.get(field) for block in blocks if block.get("type") == kind]
    for id in ids:
        if not isinstance(id, str):
            raise ValueError(f"A {kind} has the {field} {id!r}. It is a text: the id of the use of a tool.")
    return ids  # type: ignore[return-value]  # checked above


def _listed(ids: set[Any]) -> str:
    return ", ".join(sorted(map(str, ids))) or "nothing"
