"""Methods and notifications of the site's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from django_mcp.exceptions import InvalidArguments
from django_mcp.primitives.methods import CustomMethod
from django_mcp.protocol.errors import invalid_params, method_not_found
from django_mcp.protocol.jsonrpc import Notification
from django_mcp.server.call import Call
from django_mcp.server.catalogue import find_permitted, open_context
from django_mcp.server.failures import reported


def find_handler(call: Call) -> Callable[[Call], Awaitable[dict[str, Any]]]:
    """The handler of the site's own method. A notification's name with an id is no method (S11)."""
    registry, name = call.server.registry, call.request.method
    is_notice = isinstance(call.request, Notification)
    method = registry.find_notification(name) if is_notice else registry.find_method(name)
    if method is None:
        raise method_not_found(name)
    return partial(_run, method)


async def _run(method: CustomMethod, call: Call) -> dict[str, Any]:
    """Raises ``ProtocolError``: -32601 for what the caller may not use, -32602 for params that do not fit."""
    context = await open_context(call)
    if await find_permitted(call, method, context) is None:
        raise method_not_found(method.name)
    services = call.server.services
    with reported(services.errors, f"{method.kind.capitalize()} {method.name}"):
        try:
            invocation = method.prepare(call.params, context, services.jsonable)
        except InvalidArguments as error:
            raise invalid_params(str(error)) from None
        result: dict[str, Any] = await services.runner.run(invocation, call.locale, context)
    return result
