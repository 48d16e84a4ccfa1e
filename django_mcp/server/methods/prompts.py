"""``prompts/list`` and ``prompts/get``."""

from __future__ import annotations

from typing import Any

from django_mcp.primitives.messages import PromptResult
from django_mcp.protocol.errors import invalid_params
from django_mcp.registry import Kind
from django_mcp.server.call import Call
from django_mcp.server.catalogue import find_permitted, open_context
from django_mcp.server.failures import reported
from django_mcp.server.icons import complete_icons
from django_mcp.server.listing import list_page
from django_mcp.server.params import read_arguments, read_string
from django_mcp.server.spending import keeping


async def prompts_list(call: Call) -> dict[str, Any]:
    """The prompts that the caller may use, a page at a time (PAG-01)."""
    return await list_page(call, Kind.PROMPT, "prompts")


async def prompts_get(call: Call) -> dict[str, Any]:
    """Run one prompt. Raises ``ProtocolError``: -32602 for its name or arguments, -32603 for what fails in it."""
    name = read_string(call, "name")
    arguments = read_arguments(call)
    context = await open_context(call)
    prompt = await find_permitted(call, call.server.registry.find_prompt(name), context)
    if prompt is None:
        raise invalid_params(f"Unknown prompt: {name}")
    services = call.server.services
    with reported(services.errors, f"Prompt {name}"):
        invocation = prompt.prepare(arguments, context, services.jsonable, services.render)
        result: PromptResult = await services.runner.run(keeping(call, invocation), call.locale, context)
    wire = result.to_wire(call.revision)
    complete_icons((message["content"] for message in wire["messages"]), call.source)
    return wire
