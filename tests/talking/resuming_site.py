"""A server whose tools say what the test tells them to say, and when."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from django.contrib.auth.models import Group
from django.urls import path

from django_mcp import Context, MCPServer, ToolError

resuming = MCPServer("resuming")


class Script:
    """What tools do next; a queue for each of them, by its name."""

    def __init__(self) -> None:
        self._queues: dict[str, asyncio.Queue[Any]] = {}

        self.may_go = threading.Event()

    def reset(self) -> None:
        self._queues = {}
        self.may_go.clear()

    def say(self, name: str, *values: Any) -> None:
        """A number is reported as progress, "close" closes the stream, and ``None`` is the end."""
        for value in values:
            self.queue(name).put_nowait(value)

    def queue(self, name: str) -> asyncio.Queue[Any]:
        return self._queues.setdefault(name, asyncio.Queue())


script = Script()


@resuming.tool
async def relay(context: Context, name: str = "a") -> str:
    """Report what the script says, until it ends."""
    while (value := await script.queue(name).get()) is not None:
        if value == "close":
            await context.aclose_sse_stream()
        else:
            await context.areport_progress(value)
    return f"done {name}"


@resuming.tool
def leave_at_once(context: Context) -> str:
    """Close the stream and answer."""
    context.close_sse_stream()
    return "done"


@resuming.tool
def poll(context: Context, fails: bool = False) -> str:
    """Send the client away from its GET streams."""
    context.close_standalone_sse_stream()
    if fails:
        raise ToolError("no")
    return "done"


@resuming.tool
async def poll_awaited(context: Context) -> str:
    """The same, awaited."""
    await context.aclose_standalone_sse_stream()
    return "done"


@resuming.tool
async def greet(context: Context, name: str = "a") -> str:
    """Report, then ask when the script says so."""
    await context.areport_progress(1)
    if context.request_id not in asked:
        await script.queue(name).get()
        asked.add(context.request_id)
    answer = await context.aelicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})
    return f"Hello, {answer.content['name']}"


asked: set[Any] = set()


@resuming.tool
def long_words(context: Context, size: int, count: int, answer: int) -> str:
    """Report long messages, and answer at length."""
    for number in range(count):
        context.report_progress(number, message="x" * size)
    return "y" * answer


@resuming.tool
def write_and_report(context: Context) -> str:
    """Write, report inside the transaction, and go on when the script says so."""
    Group.objects.create(name="written")
    context.report_progress(1)
    script.may_go.wait(20)
    context.report_progress(2)
    return "done"


@resuming.tool
def report_and_leave(context: Context) -> str:
    """Report, and let the test have the context."""
    context.report_progress(1)
    contexts.append(context)
    return "done"


contexts: list[Context] = []

urlpatterns = [path("mcp", resuming.urls)]
