"""How a call went: its outcome and its duration, for whoever listens.

What is measured lives in local variables of the call, so calls at the same time cannot mix it up (X8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, TypeVar

from django_mcp.protocol.errors import ProtocolError

T = TypeVar("T")

OutcomeName = Literal["ok", "tool_error", "input_required", "error", "cancelled"]

OK: Final = "ok"
TOOL_ERROR: Final = "tool_error"
# The modern client was asked, and sends another request
INPUT_REQUIRED: Final = "input_required"
ERROR: Final = "error"
CANCELLED: Final = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """``duration`` is in seconds; ``code`` is that of the JSON-RPC error, if there was one."""

    name: OutcomeName
    duration: float
    code: int | None = None


async def observed(
    steps: Awaitable[T], judge: Callable[[T], OutcomeName], tell: Callable[[Outcome], Awaitable[None]]
) -> T:
    """What ``steps`` gives or raises, once ``tell`` has heard how it went."""
    began = perf_counter()
    try:
        result = await steps
    except ProtocolError as error:
        await tell(Outcome(name=ERROR, duration=perf_counter() - began, code=error.code))
        raise
    except asyncio.CancelledError:
        await tell(Outcome(name=CANCELLED, duration=perf_counter() - began))
        raise
    await tell(Outcome(name=judge(result), duration=perf_counter() - began))
    return result
