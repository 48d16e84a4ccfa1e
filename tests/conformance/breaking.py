"""A tool beside the contract, for clients that lose its stream: it takes as long as it is told to."""

import asyncio
import os

from django_mcp import Context, tool


@tool
async def test_breaking_stream(context: Context, events: int, pause: float, closes: int) -> str:
    """Reports so many events, and sends its client away so many times."""
    for number in range(1, events + 1):
        await context.areport_progress(number, events, str(os.getpid()))
        if closes and number % (events // (closes + 1) or 1) == 0:
            await context.aclose_sse_stream()
        await asyncio.sleep(pause)
    return f"{events} events"
