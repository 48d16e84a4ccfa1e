"""What a site may put around its calls: middleware, signals and one log record each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.core.signals import setting_changed
from django.dispatch import Signal, receiver

from django_mcp.call_log import CALLS, log_call
from django_mcp.middleware import build_chain
from django_mcp.running import running_loop
from django_mcp.server.context import Context
from django_mcp.server.observation import Outcome
from django_mcp.server.services import Handler
from django_mcp.signals import request_finished, request_started, tool_called


class DjangoHooks:
    """The ``Hooks`` of a Django site. Nothing is made, and nobody waits, where nobody listens."""

    def is_idle(self, server: Any) -> bool:
        return not (
            request_started.receivers
            or request_finished.receivers
            or CALLS.isEnabledFor(logging.INFO)
            or server.settings.middleware
        )

    def has_tool_listeners(self) -> bool:
        return bool(tool_called.receivers)

    def around(self, server: Any, innermost: Handler) -> Handler:
        return _chain(server.settings.middleware, innermost)

    async def started(self, context: Context) -> None:
        await _send(request_started, context)

    async def finished(self, context: Context, outcome: Outcome) -> None:
        log_call(context, outcome)
        await _send(request_finished, context, **_told(outcome))

    async def tool_called(self, context: Context, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        await _send(tool_called, context, tool=tool, arguments=arguments, **_told(outcome))


def _told(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.name, "code": outcome.code, "duration": outcome.duration}


async def _send(signal: Signal, context: Context, **values: Any) -> None:
    """Synchronous receivers run on the thread of the exchange and may use the database."""
    server = context.server
    if not signal.has_listeners(server):
        return
    if running_loop() is None:
        signal.send_robust(server, context=context, **values)
    else:
        await signal.asend_robust(server, context=context, **values)


@cache
def _chain(paths: tuple[str, ...], innermost: Handler) -> Handler:
    return build_chain(paths, innermost)


@receiver(setting_changed)
def _forget(*, setting: str, **_kwargs: Any) -> None:
    if setting == "DJANGO_MCP":
        _chain.cache_clear()
