"""Signals of calls. All are sent with ``send_robust()``: a receiver that raises changes no answer.

The sender is the ``MCPServer``. Each signal has a ``context``; the two that come after something add
``duration`` in seconds, ``outcome`` ("ok", "tool_error", "input_required", "error" or "cancelled") and ``code``, the
code of the JSON-RPC error or ``None``.

request_started     context
request_finished    context, outcome, code, duration
tool_called         context, tool, arguments, outcome, code, duration
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.dispatch import Signal


class CallSignal(Signal):
    """A signal whose receivers cannot end the process.

    ``send_robust()`` lets a ``SystemExit`` pass, and in a task asyncio stops the event loop for it, with all
    requests that it serves.
    """

    def _live_receivers(self, sender: Any) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
        sync_receivers, async_receivers = super()._live_receivers(sender)
        return [*map(_staying, sync_receivers)], [*map(_astaying, async_receivers)]


def _staying(receiver: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(receiver)
    def staying(**values: Any) -> Any:
        with _turned_into_errors():
            return receiver(**values)

    return staying


def _astaying(receiver: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(receiver)
    async def staying(**values: Any) -> Any:
        with _turned_into_errors():
            return await receiver(**values)

    return staying


@contextmanager
def _turned_into_errors() -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise RuntimeError("SystemExit left the receiver of a signal") from error


request_started = CallSignal()
request_finished = CallSignal()
tool_called = CallSignal()
