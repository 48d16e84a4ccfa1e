"""A second server of the fixture site, for the rows of the bug log that need real servers."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from django_mcp import Context, MCPServer, ToolError

bugs = MCPServer("bugs")
seen: dict[str, str] = {}
CONSENT: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


@bugs.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@bugs.tool
def count_users() -> int:
    """Count in a thread."""
    return User.objects.count()


@bugs.tool
async def acount_users() -> int:
    """Count from async code."""
    return await User.objects.acount()


@bugs.tool
def make_user(name: str) -> str:
    """Write one row."""
    return User.objects.create(username=name).username


@bugs.tool
def make_user_and_fail(name: str) -> str:
    """Write one row in vain."""
    raise ToolError(f"{make_user(name)} was written")


@bugs.tool
async def amake_user(name: str) -> str:
    """Write one row from async code."""
    return (await User.objects.acreate(username=name)).username


@bugs.tool
async def amake_user_and_fail(name: str) -> str:
    """Write one row from async code in vain."""
    raise ToolError(f"{await amake_user(name)} was written")


@bugs.tool
def slow(seconds: float) -> str:
    """Sleep in a thread."""
    threading.Event().wait(seconds)
    return "slept"


@bugs.tool
async def aslow(label: str, seconds: float) -> str:
    """Sleep in async code, and write down how it ended."""
    seen[label] = "running"
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        seen[label] = "cancelled"
        raise
    seen[label] = "finished"
    return "slept"


@bugs.tool
def write_until_cancelled(context: Context, name: str) -> str:
    """Write a row, say which process that is, and go on until the client gives the call up."""
    User.objects.create(username=name)
    context.report_progress(1, message=f"{os.getpid()}")
    for _ in range(600):
        if context.cancelled:
            break
        threading.Event().wait(0.05)
    return "done"


@bugs.tool
def book(context: Context, name: str) -> str:
    """Write a row, ask, and write another one. Says which process asked and which one finished."""
    User.objects.create(username=f"{name} asked")
    asked_by = context.remember("process", os.getpid)
    answer = context.elicit(f"Shall {name} be booked?", CONSENT)
    User.objects.create(username=f"{name} booked")
    return f"{asked_by} {os.getpid()} {answer.content['ok']}"


bugs.tool(name="rebook")(book)


@bugs.tool
def report(context: Context, count: int, size: int = 0, name: str = "") -> str:
    """Report progress so many times, with messages of a size. A name is written as a row before."""
    if name:
        User.objects.create(username=name)
    for number in range(count):
        context.report_progress(number, count, "x" * size)
    return "reported"


@bugs.tool
async def areport(context: Context, count: int, size: int = 0, name: str = "") -> str:
    """The same from async code."""
    if name:
        await User.objects.acreate(username=name)
    for number in range(count):
        await context.areport_progress(number, count, "x" * size)
    return "reported"


@bugs.tool
def report_on_demand(context: Context, label: str, count: int, name: str = "") -> str:
    """Report progress so many times, each time when the client has seen the last one."""
    if name:
        User.objects.create(username=name)
    for number in range(count):
        context.report_progress(number, count)
        while int(seen.get(label, -1)) < number:
            context.raise_if_cancelled()
            threading.Event().wait(0.01)
    return "reported"


@bugs.tool
async def demand(label: str, number: int) -> str:
    """Tell report_on_demand that this one has arrived."""
    seen[label] = f"{number}"
    return "noted"


@bugs.tool
async def outcome(label: str) -> str:
    """Say how a call of aslow ended."""
    return seen.get(label, "unknown")


@bugs.tool
def to_async() -> str:
    """Go from a thread to async code."""

    async def inner() -> str:
        return f"{await User.objects.acount()}"

    return async_to_sync(inner)()


@bugs.tool
async def to_sync() -> str:
    """Go from async code to a thread."""
    return f"{await sync_to_async(User.objects.count)()}"


@bugs.tool
def own_block() -> str:
    """Open a block of its own."""
    with transaction.atomic():
        return f"{User.objects.count()}"


@bugs.tool
def big(megabytes: int) -> str:
    """Return a long text."""
    return "x" * (megabytes * 1_000_000)


@bugs.tool
async def process() -> dict[str, Any]:
    """Measure this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "pid": os.getpid(),
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "files": len(os.listdir("/proc/self/fd")),
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "cpu": sum(os.times()[:2]),
    }
