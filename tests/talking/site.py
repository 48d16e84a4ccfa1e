"""A server whose tools talk to the client while they run, and the URLs it is mounted at."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

from django.contrib.auth.models import Group
from django.urls import path

from django_mcp import Context, MCPServer
from django_mcp.protocol.envelope import LOG_LEVELS
from tests.shop.mcp import gate

site = MCPServer("talking")
shop_log = logging.getLogger("talking.shop")
_tasks: list[asyncio.Task[None]] = []


@site.tool
def silent() -> str:
    """Say nothing on the way."""
    return "done"


@site.tool
async def nap(seconds: float) -> str:
    """Take a moment."""
    await asyncio.sleep(seconds)
    return "awake"  # pragma: no cover - on a slow machine every one is cancelled before


@site.tool
def steps(context: Context, values: list[float]) -> str:
    """Report each value as progress."""
    for value in values:
        context.report_progress(value, 10, f"at {value:g}")
    return "done"


@site.tool
async def asteps(context: Context, values: list[float]) -> str:
    """Report each value as progress from async code."""
    for value in values:
        await context.areport_progress(value)
    return "done"


@site.tool
def step_then_block(context: Context) -> str:
    """Report once, then hold a thread until the test lets it go."""
    context.report_progress(1)
    gate.entered.set()
    gate.opened.wait(30)
    gate.end("cancelled" if context.cancelled else "finished")
    context.raise_if_cancelled()
    return "done"


@site.tool
async def step_then_wait(context: Context) -> str:
    """Report once, then wait until the test lets it go."""
    context.report_progress(1)
    await gate.hold()
    return "done"


@site.tool
def write_then_block(context: Context) -> str:
    """Write a row, then hold a thread until the test lets it go."""
    Group.objects.create(name="written")
    gate.entered.set()
    gate.opened.wait(30)
    return "done"


@site.tool
def step_in_thread(context: Context) -> str:
    """Report from a thread that the tool has started, and let it go on after the end."""
    first = threading.Event()

    def work() -> None:
        context.report_progress(1)
        first.set()
        gate.opened.wait(30)
        context.report_progress(2)
        gate.end("late")

    threading.Thread(target=work).start()
    first.wait(30)
    return "done"


@site.tool
async def silent_then_late(context: Context) -> str:
    """Say nothing, and go on after the end."""

    async def work() -> None:
        await asyncio.to_thread(gate.opened.wait, 30)
        context.report_progress(1)
        await context.areport_progress(2)
        gate.end("late")

    _tasks.append(asyncio.create_task(work()))
    return "done"


@site.tool
def shout(context: Context) -> str:
    """Log at every level."""
    for level in LOG_LEVELS:
        context.log(level, {"level": level}, logger="shop")
    return "done"


@site.tool
async def ashout(context: Context) -> str:
    """Log at every level from async code."""
    for level in LOG_LEVELS:
        await context.alog(level, level)
    return "done"


@site.tool
def python_log() -> str:
    """Log as any Django code does."""
    shop_log.warning("low on %s", "tea")
    try:
        raise RuntimeError("secret")
    except RuntimeError:
        shop_log.exception("broken")
    return "done"


@site.tool
def misuse(context: Context, kind: str) -> str:
    """Give the context what it cannot send."""
    bad: dict[str, Any] = {"nan": float("nan"), "text": "1", "flag": True}
    answer = "it was taken"
    try:
        if kind == "level":
            context.log("loud", "x")
        elif kind == "total":
            context.report_progress(1, bad["nan"])
        else:
            context.report_progress(bad[kind])
    except ValueError as error:
        answer = str(error)
    return answer


@site.tool
def step_then_fail(context: Context) -> str:
    """Report once and fail."""
    context.report_progress(1)
    raise RuntimeError("secret")


@site.tool
def flood(context: Context, count: int, size: int, in_transaction: bool = False) -> str:
    """Log large messages, with a row written before or not."""
    if in_transaction:
        Group.objects.create(name=f"held {count}")
    gate.entered.set()
    for number in range(count):
        context.log("info", f"{number}".ljust(size, "."))
    gate.end("finished")
    return "done"


@site.tool
async def aflood(context: Context, count: int, size: int) -> str:
    """The same from async code."""
    gate.entered.set()
    for number in range(count):
        await context.alog("info", f"{number}".ljust(size, "."))
    gate.end("finished")
    return "done"


@site.prompt
def talking_prompt(context: Context) -> str:
    """Report while a prompt is made."""
    context.report_progress(1)
    return "prompt"


@site.resource("talk://resource")
def talking_resource(context: Context) -> str:
    """Report while a resource is read."""
    context.report_progress(1)
    return "resource"


urlpatterns = [path("mcp", site.urls)]
