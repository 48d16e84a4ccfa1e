"""``tools/list`` and ``tools/call``."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from django_mcp.exceptions import ErrorResult, InvalidArguments, InvalidOutput
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.content import TextContent, ToolResult
from django_mcp.protocol.errors import ProtocolError, invalid_params
from django_mcp.protocol.headers import check_params
from django_mcp.registry import Kind
from django_mcp.server.call import Call
from django_mcp.server.catalogue import find_permitted, open_context
from django_mcp.server.confirming import NOT_CONFIRMED, is_confirmed
from django_mcp.server.context import Context
from django_mcp.server.icons import complete_icons
from django_mcp.server.listing import list_page
from django_mcp.server.observation import OK, TOOL_ERROR, OutcomeName, observed
from django_mcp.server.params import read_arguments, read_string
from django_mcp.server.spending import keeping, spending

logger = logging.getLogger("django_mcp.tools")

FAILED = "The tool failed because of an internal error. The details are in the server's log."


async def tools_list(call: Call) -> dict[str, Any]:
    return await list_page(call, Kind.TOOL, "tools")


async def tools_call(call: Call) -> dict[str, Any]:
    """Run one tool. What goes wrong in it is a result the model can read, not an error (TOOL-25, TOOL-31).

    Raises ``ProtocolError``: -32602 for an unknown tool, -32020 for a header that differs (MH-17).
    """
    name = read_string(call, "name")
    arguments = read_arguments(call)
    context = await open_context(call)
    tool = await find_permitted(call, call.server.registry.find_tool(name), context)
    if tool is None:
        raise invalid_params(f"Unknown tool: {name}")
    _check_headers(call, tool, arguments)
    if tool.confirm is not None and not await is_confirmed(context, tool, arguments):
        return failure(NOT_CONFIRMED).to_wire(call.revision)
    steps = _outcome(call, tool, arguments, context)
    hooks = call.server.services.hooks
    if hooks.has_tool_listeners():
        tell = partial(hooks.tool_called, context, tool.name, arguments)
        steps = observed(steps, _judged, tell)
    result = await steps
    wire = result.to_wire(call.revision)
    complete_icons(wire["content"], call.source)
    return wire


def _judged(result: ToolResult) -> OutcomeName:
    return TOOL_ERROR if result.is_error else OK


def _check_headers(call: Call, tool: ToolDefinition, arguments: dict[str, Any]) -> None:
    """Parameter headers exist in the modern HTTP wire alone (MH-17, STD-12)."""
    if call.source.headers is not None and call.revision.has_param_headers:
        check_params(call.source.headers, tool.header_params, arguments)


async def _outcome(call: Call, tool: ToolDefinition, arguments: dict[str, Any], context: Context) -> ToolResult:
    services = call.server.services
    if (refusal := _over_the_rate(call)) is not None:
        return refusal
    try:
        invocation = tool.prepare(
            arguments, context, services.jsonable, services.to_content, call.server.result_limit()
        )
        if tool.is_single_use and call.has_spoken:
            invocation = spending(call, invocation)
        result: ToolResult = await services.runner.run(keeping(call, invocation), call.locale, context)
    except ProtocolError:
        raise
    except ErrorResult as error:
        reported: ToolResult = error.result
        return reported
    except InvalidArguments as error:
        return failure(str(error))
    except InvalidOutput as error:
        logger.error("Tool %s: %s", tool.name, error)
        await services.errors.report(error, context)
        # Its text speaks of types and of the tool's own published schema, never of values.
        return failure(str(error))
    except Exception as error:  # whatever the site's code raises must not reach the client as it is
        text = services.errors.public_text(error)
        if text is None:
            logger.exception("Tool %s failed", tool.name)
            await services.errors.report(error, context)
            text = FAILED
        return failure(text)
    return result


def _over_the_rate(call: Call) -> ToolResult | None:
    """SEC-12, TOOL-27. A call that runs again, now that the client has answered, was counted before."""
    rate = call.server.tool_rate()
    if rate is None or call.dialogue.is_rerun or call.server.calls.allows(call.caller.principal, rate):
        return None
    return failure(f"Too many calls: at most {rate} a second. Wait a moment.")


def failure(text: str) -> ToolResult:
    return ToolResult(content=(TextContent(text),), is_error=True)
