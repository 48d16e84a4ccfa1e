"""The catalogue that the wire tests talk to: each function is as plain as the behaviour it shows."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from django_mcp import (
    Context,
    Header,
    PromptMessage,
    ResourceNotFound,
    TextContent,
    ToolError,
    ToolResult,
    prompt,
    resource,
    resource_template,
    tool,
)


@dataclass
class Point:
    x: int
    y: int


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def aadd(a: int, b: int) -> int:
    """Add two numbers without waiting."""
    return a + b


@tool
def total(values: list[int]) -> int:
    """Add up a list."""
    return sum(values)


@tool
def point(p: Point) -> str:
    """Show a point."""
    return f"{p.x}/{p.y}"


@tool
def search(q: str | None = None, limit: int = 10) -> str:
    """Search."""
    return f"{q}:{limit}"


@tool
def boom() -> str:
    """Fail with a secret in the message."""
    raise RuntimeError("postgres://u:secret@db")


@tool
def orm_boom() -> str:
    """Fail in the database."""
    raise IntegrityError("INSERT INTO secret")


@tool
def fail() -> str:
    """Fail in a way that the model may read."""
    raise ToolError("try later")


@tool
def whoami(context: Context) -> str:
    """Name the caller."""
    return str(context.user)


@tool
async def awhoami(context: Context) -> str:
    """Name the caller from async code."""
    return f"{context.user.username} {context.user.has_perm('auth.view_user')}"


@tool
def lang() -> str:
    """The language that is active."""
    return str(get_language())


@tool
def zone() -> str:
    """The time zone that is active."""
    return str(timezone.get_current_timezone())


@tool
def greeting() -> dict[str, Any]:
    """Say hello in the language of the caller."""
    return {"hello": _("Yes")}


@tool
def values() -> dict[str, Any]:
    """Values that JSON does not know."""
    return {
        "u": UUID(int=7),
        "d": Decimal("1.10"),
        "day": date(2026, 7, 28),
        "td": timedelta(hours=1),
        "s": {1},
    }


@tool
def queryset() -> dict[str, Any]:
    """Something that no JSON stands for."""
    return {"users": User.objects.all()}


@tool
def ratio(a: float, b: float) -> float:
    """Divide."""
    return a / b if b else float("inf")


@tool
def empty() -> list[int]:
    """Return an empty list."""
    return []


@tool
def nothing() -> None:
    """Return nothing."""


@tool
def blank() -> str:
    """Return an empty text."""
    return ""


@tool
def noargs() -> str:
    """Take nothing."""
    return "ok"


@tool
def lone_surrogate() -> str:
    """Return text that UTF-8 cannot hold."""
    return "\ud800x"


@tool
def stream_of_content() -> Iterator[TextContent]:
    """Yield content piece by piece."""
    yield TextContent("one")
    yield TextContent("two")


@tool
def make_row(name: str = "made") -> str:
    """Write one row."""
    return User.objects.create(username=name).username


@tool
def make_row_then_boom(name: str = "lost") -> str:
    """Write one row and fail."""
    User.objects.create(username=name)
    raise RuntimeError("after the write")


@tool
def make_row_then_report(name: str = "lost") -> ToolResult:
    """Write one row and report a failure as a result."""
    User.objects.create(username=name)
    return ToolResult(content=(TextContent("no"),), is_error=True)


@tool
async def amake_row(name: str = "made") -> str:
    """Write one row from async code."""
    return (await User.objects.acreate(username=name)).username


@tool
def count_rows() -> int:
    """Count the users."""
    return User.objects.count()


@tool
def book(clinic: Annotated[str, Header("Clinic")] = "", note: str = "") -> str:
    """Has a parameter that the client repeats in a header."""
    return f"{clinic}|{note}"


@tool(name="grüße".encode().hex(), title=_("Yes"), description=_("No"))
def translated() -> str:
    """Its texts are translated."""
    return "ok"


@tool(permission="auth.change_user")
def rename(username: str) -> str:
    """Only for those who may change users."""
    return username


@tool(permission=lambda context: context.user.is_staff)
async def staff_only() -> str:
    """Only for staff."""
    return "staff"


@tool
def needs_sampling(context: Context) -> str:
    """Needs a capability of the client."""
    context.require_capability({"sampling": {}})
    return "sampled"


@tool
def about_the_call(context: Context) -> dict[str, Any]:
    """What the context knows."""
    return {
        "version": str(context.protocol_version),
        "id": context.request_id,
        "client": dict(context.client_info or {}),
        "capabilities": dict(context.client_capabilities),
        "meta": dict(context.meta),
        "path": context.request.path,
        "path_params": dict(context.path_params),
        "server": context.server.name,
        "values": dict(context),
        "session": context.session is not None,
    }


class Gate:
    """Lets a test decide when a tool goes on, and tells it how the tool ended."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.ended = threading.Event()
        self.outcome: str | None = None

    def end(self, outcome: str) -> None:
        self.outcome = outcome
        self.ended.set()

    async def hold(self) -> None:
        """Wait until the test lets it go, or cancels the call."""
        self.entered.set()
        try:
            async with asyncio.timeout(30):
                while not self.opened.is_set():
                    await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.end("cancelled")
            raise
        self.end("finished")


gate = Gate()


@tool
async def wait_at_gate() -> str:
    """Wait until the test opens the gate."""
    await gate.hold()
    return "through"


@tool
def block_at_gate() -> str:
    """Wait on a thread until the test opens the gate."""
    gate.entered.set()
    opened = gate.opened.wait(30)
    return f"through {opened}"


@resource("static://a", name="a", description="A text that never changes")
def static_a() -> str:
    return "text of a"


@resource("static://broken", name="broken")
def static_broken() -> str:
    raise RuntimeError("secret path")


@resource("static://staff", name="staff", permission=lambda context: context.user.is_staff)
def static_staff() -> str:
    return "for staff"


@resource_template("note://{name}", name="note", complete={"name": ["alpha", "beta"]})
def note(name: str) -> str:
    if name == "missing":
        raise ResourceNotFound
    return f"note {name}"


@resource_template("user://{pk}", name="user")
def user(pk: int) -> dict[str, Any]:
    found = User.objects.get(pk=pk)
    return {"username": found.username}


@prompt(complete={"name": lambda value: [one for one in ("Ann", "Anton", "Bert") if one.startswith(value)]})
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


@prompt
def plain() -> list[PromptMessage]:
    """A prompt without arguments."""
    return [PromptMessage("user", TextContent("plain"))]


@prompt(permission="auth.change_user")
def secret() -> str:
    """Only for those who may change users."""
    return "secret"


@prompt
def broken() -> str:
    """Fail."""
    raise RuntimeError("secret detail")
