"""A server whose async tools wait for the client where they stand, and the URLs it is mounted at."""

from __future__ import annotations

import asyncio
from typing import Any

from django.contrib.auth.models import Group
from django.urls import path

from django_mcp import Context, MCPServer, ToolError

from .asking_site import Booking

site = MCPServer("inline")
runs: list[str] = []
roots_changed: list[str] = []


@site.tool(wait_inline=True)
async def chat(context: Context, times: int = 3) -> str:
    """Talk with the model, a few times."""
    runs.append("chat")
    said = [(await context.asample(f"Say {number}", 5)).text for number in range(times)]
    await Group.objects.acreate(name="chatted")
    return " ".join(said)


@site.tool(wait_inline=True)
async def read_and_ask(context: Context) -> str:
    """Read, ask, and read and write after it."""
    runs.append("read")
    before = await Group.objects.acount()
    await context.aelicit("Who comes?", Booking)
    between = await Group.objects.acount()
    await context.aelicit("Who else?", Booking)
    await Group.objects.acreate(name=f"read {before} {between} by {context.request_id}")
    return "done"


@site.tool(wait_inline=True)
async def write_and_ask(context: Context) -> str:
    """Write, and ask in the open transaction."""
    await Group.objects.acreate(name="written")
    await context.aelicit("Who comes?", Booking)
    return "done"  # pragma: no cover - it is refused before


@site.tool(wait_inline=True)
async def ask_side_by_side(context: Context) -> str:
    """Ask and read in tasks of their own."""
    runs.append("side by side")

    async def ask(key: str) -> int:
        await Group.objects.acount()
        answer = await context.aelicit(f"Who comes as {key}?", Booking, key=key)
        await Group.objects.acount()
        return int(answer.content.guests)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(key)) for key in ("a", "b", "c")]
    return str(sum(task.result() for task in tasks))


@site.tool(wait_inline=True, timeout=0.5)
async def slow_person(context: Context, then: float = 0) -> str:
    """Have less time than the person takes."""
    await context.aelicit("Who comes?", Booking)
    await asyncio.sleep(then)
    return "in time"


@site.tool(wait_inline=True)
async def tool_loop(context: Context) -> str:
    """Ask the model again and again."""
    number = 0
    while True:
        number += 1
        await context.asample(f"Use a tool {number}", 5)


@site.tool
def pinging(context: Context) -> str:
    """See whether the client is there."""
    context.ping(timeout=0.3)
    return "there"


@site.tool
async def apinging(context: Context) -> str:
    """The same from async code."""
    await context.aping(timeout=20)
    await context.aping(timeout=20)
    return "there"


@site.tool
def where(context: Context) -> str:
    """Tell the roots."""
    return " ".join(root.uri for root in context.list_roots())


@site.tool
def unanswered_tools(context: Context) -> str:
    """Ask the model with a tool use that has no result."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "dice", "input": {}}]}
    try:
        context.sample([use], 5)
    except ValueError as error:
        raise ToolError(str(error)) from None
    return ""  # pragma: no cover - it is refused before


@site.notification("notifications/roots/list_changed")
async def hear_of_roots(context: Context) -> None:
    roots_changed.append(context.server.name)


urlpatterns: list[Any] = [path("mcp", site.urls)]
