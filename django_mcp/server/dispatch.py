"""From a request to its answer: the method tables of both eras and the one place where errors become answers.

A method that a revision does not have is absent from its table; nobody asks for the era again below this.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django_mcp.protocol.errors import ProtocolError, method_not_found
from django_mcp.protocol.jsonrpc import RequestId
from django_mcp.protocol.notifications import subscription_meta
from django_mcp.protocol.results import shape
from django_mcp.protocol.versions import Era
from django_mcp.server.call import Call
from django_mcp.server.context import Context
from django_mcp.server.failures import internal_error, tell_reporter
from django_mcp.server.methods import (
    completion,
    custom,
    discover,
    handshake,
    prompts,
    resources,
    subscriptions,
    tools,
)
from django_mcp.server.observation import INPUT_REQUIRED, OK, TOOL_ERROR, OutcomeName, observed
from django_mcp.server.rounds import with_answers

logger = logging.getLogger("django_mcp.server")


@dataclass(frozen=True, slots=True)
class Method:
    """A handler, and whether its capability is offered to this call (RPC-09).

    The same condition advertises the capability in ``Server.offer`` (DISC-05).
    """

    handler: Callable[[Call], Awaitable[dict[str, Any]]]
    is_offered: Callable[[Call], bool] = lambda call: True


def _tools(call: Call) -> bool:
    return call.server.has_tools


def _prompts(call: Call) -> bool:
    return call.server.has_prompts


def _resources(call: Call) -> bool:
    return call.server.has_resources


def _streams(call: Call) -> bool:
    return call.source.can_stream


def _subscriptions(call: Call) -> bool:
    return _streams(call) and _resources(call)


def _completions(call: Call) -> bool:
    return call.server.has_completions


SHARED = {
    "tools/list": Method(tools.tools_list, _tools),
    "tools/call": Method(tools.tools_call, _tools),
    "prompts/list": Method(prompts.prompts_list, _prompts),
    "prompts/get": Method(prompts.prompts_get, _prompts),
    "resources/list": Method(resources.resources_list, _resources),
    "resources/templates/list": Method(resources.resources_templates_list, _resources),
    "resources/read": Method(resources.resources_read, _resources),
    "completion/complete": Method(completion.completion_complete, _completions),
}
METHODS: dict[Era, dict[str, Method]] = {
    Era.LEGACY: {
        **SHARED,
        "initialize": Method(handshake.initialize),
        "ping": Method(handshake.ping),
        "logging/setLevel": Method(handshake.logging_set_level, _streams),
        "resources/subscribe": Method(subscriptions.resources_subscribe, _subscriptions),
        "resources/unsubscribe": Method(subscriptions.resources_unsubscribe, _subscriptions),
    },
    Era.MODERN: {**SHARED, "server/discover": Method(discover.server_discover)},
}
# The one method whose answer is a stream, so the transports give it: ``subscriptions/listen``.
LISTEN = "subscriptions/listen"


async def dispatch(call: Call) -> dict[str, Any]:
    """The result of a request, shaped for its revision.

    Raises ``ProtocolError`` for everything that is not a result; no other exception leaves.
    """
    if call.server.services.hooks.is_idle(call.server):
        return _shaped(call, await _handle(call))
    return _shaped(call, await _watched(call))


async def take_notice(call: Call) -> None:
    """Run the handler of a custom notification, behind the same hooks. Nobody hears of its failure (RPC-07)."""
    try:
        await (_handle(call) if call.server.services.hooks.is_idle(call.server) else _watched(call))
    except ProtocolError as error:
        logger.info("%s was not taken: %.500r", call.request.method, str(error))


async def _watched(call: Call) -> dict[str, Any]:
    """The same with everything that the site has put around its requests (S190)."""
    hooks, context = call.server.services.hooks, Context(call)
    await hooks.started(context)
    return await observed(_behind_middleware(context), _judged, partial(hooks.finished, context))


async def _behind_middleware(context: Context) -> dict[str, Any]:
    server = context.server
    try:
        chain = server.services.hooks.around(server, _innermost)
    except Exception as error:  # a path that leads nowhere, or a factory that raises
        logger.exception("The middleware of %r cannot be built", server)
        raise await internal_error(error, context) from None
    result: dict[str, Any] = await chain(context)
    return result


async def _innermost(context: Context) -> dict[str, Any]:
    """Where the chain of middleware ends. What it has put on its context is there for the tool."""
    call = context._call
    call.context = context
    return await _handle(call)


def _judged(result: dict[str, Any]) -> OutcomeName:
    if result.get("isError") is True:
        return TOOL_ERROR
    return INPUT_REQUIRED if result.get("resultType") == INPUT_REQUIRED else OK


async def _handle(call: Call) -> dict[str, Any]:
    try:
        return await with_answers(call, _find_handler(call))
    except ProtocolError as error:
        if error.__cause__ is not None:
            await tell_reporter(error, call.context or Context(call))
        raise
    except Exception as error:  # a fault of ours: the client learns that there was one, the log learns which
        logger.exception("%s failed", call.request.method)
        raise await internal_error(error, call.context or Context(call)) from None


async def accept_listen(call: Call) -> subscriptions.Filter:
    """What of ``subscriptions/listen`` is served. Raises ``ProtocolError``, -32601 where this door has no streams."""
    if not _streams(call):
        raise method_not_found(LISTEN)
    return await subscriptions.honoured(call)


def closing_result(call: Call, request_id: RequestId) -> dict[str, Any]:
    """The result that ends a subscription of ours (SUB-08)."""
    return _shaped(call, {"_meta": subscription_meta(request_id)})


def _find_handler(call: Call) -> Callable[[Call], Awaitable[dict[str, Any]]]:
    """The handler of the protocol's method, or the site's own; what is not offered is unknown (RPC-09)."""
    name = call.request.method
    method = METHODS[call.revision.era].get(name)
    if method is None:
        return custom.find_handler(call)
    if not method.is_offered(call):
        raise method_not_found(name)
    return method.handler


def _shaped(call: Call, result: dict[str, Any]) -> dict[str, Any]:
    server, revision = call.server, call.revision
    shows = revision.has_server_info and server.sends_server_info
    identity = server.identity(revision, call.locale, call.source) if shows else None
    return shape(call.request.method, result, revision, identity, server.cache)
