"""``confirm=True``: a person says yes before the tool runs, where the client can ask one."""

from __future__ import annotations

from typing import Any

from django_mcp.primitives.questions import Elicitation
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.jsonrpc import encode
from django_mcp.server.context import Context

KEY = "confirm"
NOT_CONFIRMED = "The call was not confirmed, so nothing was done."


async def is_confirmed(context: Context, tool: ToolDefinition, arguments: dict[str, Any]) -> bool:
    """Whether the person agreed, or there is no way to ask. Raises ``InputRequired`` to ask."""
    question = Elicitation(_message(tool, arguments), _form(), key=KEY, once=True)
    if not context.can_ask(question.requires):
        return True
    ((answer,), _) = context._take([(KEY, question)])
    return answer.accepted and answer.content[KEY] is True


def _message(tool: ToolDefinition, arguments: dict[str, Any]) -> str:
    text = f"Run {tool.title or tool.name}?" if tool.confirm is True else str(tool.confirm)
    return f"{text}\n{encode(arguments).decode()}" if arguments else text


def _form() -> dict[str, Any]:
    return {"type": "object", "properties": {KEY: {"type": "boolean", "title": "Confirm"}}, "required": [KEY]}
