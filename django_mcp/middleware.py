"""The ``MIDDLEWARE`` of a server: functions around every request, in the shape that Django's have.

def middleware_of_yours(get_result):
    async def middleware(context):
        return await get_result(context)

    return middleware

With ``def`` in place of ``async def`` the inner function runs on the thread of the exchange, where
``get_result(context)`` gives the result itself.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed
from django.utils.module_loading import import_string

from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError
from django_mcp.running import exchange, running_loop, step
from django_mcp.running.exchanges import open_exchange
from django_mcp.server.context import Context
from django_mcp.server.failures import internal_error
from django_mcp.server.services import Handler

logger = logging.getLogger("django_mcp.server")


def load_middleware(path: str) -> Callable[..., Any]:
    """The factory behind a dotted path; raises ``ImproperlyConfigured``."""
    try:
        factory = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"DJANGO_MCP['MIDDLEWARE'] names {path!r}, which cannot be imported: {error}. "
            "Write the dotted path of a function that takes get_result."
        ) from error
    if not callable(factory):
        raise ImproperlyConfigured(
            f"DJANGO_MCP['MIDDLEWARE'] names {path!r}, which is {factory!r}. "
            "A middleware is a function that takes get_result and returns a function."
        )
    return factory  # type: ignore[no-any-return]


def build_chain(paths: tuple[str, ...], innermost: Handler) -> Handler:
    """The middleware around ``innermost``, the first path outermost."""
    handler = innermost
    for path in reversed(paths):
        try:
            middleware = load_middleware(path)(_GetResult(handler))
        except MiddlewareNotUsed:
            continue
        if not callable(middleware):
            raise ImproperlyConfigured(
                f"The middleware {path} returned {middleware!r} when the chain was built. It takes get_result and "
                "returns a function that takes the context."
            )
        handler = _layer(path, middleware)
    return handler


class _GetResult:
    """``get_result``: to be awaited in async code, and the result itself in sync code."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, context: Context) -> Any:
        if running_loop() is not None:
            return self._steps(context)
        found = open_exchange()
        if found is not None and found.is_inline:
            return step(self._steps(context))
        return async_to_sync(self._steps)(context)

    async def _steps(self, context: Context) -> dict[str, Any]:
        async with exchange():  # below a sync middleware everything belongs on its thread
            return await self._handler(context)


def _layer(path: str, middleware: Callable[..., Any]) -> Handler:
    async def layer(context: Context) -> dict[str, Any]:
        services = context.server.services
        try:
            return _checked(await services.runner.call(middleware, context), path)
        except ProtocolError:
            raise
        except Exception as error:  # answered here, so that outer layers see what the client will, as Django's do
            text = services.errors.public_text(error)
            if text is not None:
                raise ProtocolError(INTERNAL_ERROR, text) from None
            logger.exception("The middleware %s failed", path)
            raise await internal_error(error, context) from None

    return layer


def _checked(result: Any, path: str) -> dict[str, Any]:
    """The result, which is never lost by accident (S190, X2)."""
    if isinstance(result, dict):
        return result
    if inspect.iscoroutine(result):
        result.close()
    raise TypeError(
        f"The middleware {path} returned {type(result).__name__} and not a result, which is a dict. "
        "Return what get_result(context) gives; in an async function: return await get_result(context)."
    )
