"""A site whose server "bugs" offers what the rows of the bug log need beside the catalogue of the shop."""

from __future__ import annotations

import asyncio
import datetime
import os
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.urls import include, path
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from rest_framework.exceptions import ValidationError as RestValidationError
from typing_extensions import TypedDict

from django_mcp import Context, MCPServer, TextContent, ToolError, ToolResult

bugs = MCPServer("bugs", instructions=_("Yes"))
bare = MCPServer("bare")


class Size(models.TextChoices):
    SMALL = "s", _("No")
    LARGE = "l", _("Yes")


class Movie(TypedDict):
    title: str
    year: int


@dataclass
class Place:
    street: str
    size: Size = Size.SMALL


@dataclass
class Branch:
    name: str
    kids: list[Branch] = field(default_factory=list)


MOMENT = datetime.datetime(2026, 7, 28, 12, tzinfo=datetime.UTC)
VALUES: dict[str, Any] = {
    "u": UUID(int=7),
    "d": Decimal("1.10"),
    "t": MOMENT,
    "day": MOMENT.date(),
    "td": datetime.timedelta(hours=1),
    "e": Size.LARGE,
    "s": {1, 2},
}


@bugs.tool
def values(also: str = "") -> dict[str, Any]:
    """Return values that JSON does not know."""
    extra: dict[str, Any] = {"": {}, "m": {"m": User(username="ann")}, "q": {"q": User.objects.all()}}
    return {**VALUES, **(extra[also] if also != "mq" else {**extra["m"], **extra["q"]})}


@bugs.tool
def mean() -> dict[str, float]:
    """Return what is no number."""
    return {"mean": float("nan")}


@bugs.resource("nan://mean", name="mean")
def mean_resource() -> dict[str, float]:
    return {"mean": float("nan")}


@bugs.prompt
def mean_prompt() -> Any:
    """Answer what is no number."""
    return float("nan")


@bugs.tool
async def loaded_user(context: Context) -> str:
    """Read the user in async code."""
    user = context.user
    return f"{user.username} {user.is_staff} {user.has_perm('auth.view_user')}"


async def may_view(context: Context) -> bool:
    """A permission that is asked in async code."""
    return bool(context.user.has_perm("auth.view_user"))


@bugs.tool(permission=may_view)
async def for_viewers() -> str:
    """Only for those who may view users."""
    return "seen"


@bugs.resource("user://me", name="me")
async def me(context: Context) -> str:
    return str(context.user.username)


@bugs.prompt
async def my_prompt(context: Context) -> str:
    """Name the user."""
    return str(context.user.username)


@bugs.tool
def late_echo(text: str, delay: float = 0) -> str:
    """Say it again, a little later."""
    threading.Event().wait(delay)
    return text


@bugs.tool
def whoami(context: Context) -> str:
    """Name the caller from a thread."""
    return str(context.user)


@bugs.tool
async def awhoami(context: Context) -> str:
    """Name the caller from the loop, after letting the others run."""
    await asyncio.sleep(0)
    return str(context.user)


@bugs.tool
def odd_text(hexadecimal: str = "ff") -> str:
    """Return what the file system calls a name."""
    return os.fsdecode(bytes.fromhex(hexadecimal))


@bugs.tool
def nothing_inside() -> dict[str, Any]:
    """Return an empty object."""
    return {}


@bugs.tool
def choose(size: Annotated[Size, Field(description=_("Yes"))] = Size.SMALL) -> dict[str, Any]:
    """Take one of some choices."""
    return {"value": size, "label": size.label}


@bugs.prompt
def ask(size: Annotated[Size, Field(description=_("Yes"))]) -> str:
    """Take one of some choices."""
    return f"{size.value}"


@bugs.tool
def types(
    word: str | None = None,
    numbers: list[int] | None = None,
    home: Place | None = None,
    work: Place | None = None,
    tree: Branch | None = None,
    mode: Literal["a", "b"] = "a",
    size: Size = Size.SMALL,
    key: UUID | None = None,
    price: Decimal = Decimal("1.10"),
    day: datetime.date | None = None,
    counts: dict[str, int] | None = None,
    few: Annotated[int, Field(ge=1, le=3)] = 1,
) -> str:
    """Take everything."""
    return repr([word, numbers, home, work, tree, mode, size.value, key, price, day, counts, few])


@bugs.tool
def movie(kind: str = "right") -> Movie:
    """Return a movie, or what is none."""
    kinds: dict[str, Any] = {"right": {"title": "Alien", "year": 1979}, "wrong": {"title": "Alien", "year": "x"}}
    return kinds.get(kind)  # type: ignore[return-value]


@bugs.tool
def no_movie(raises: bool = True) -> Movie | ToolResult:
    """Fail, in one of the two ways."""
    if raises:
        raise ToolError("not found")
    return ToolResult(content=(TextContent("not found"),), is_error=True)


@bugs.tool(output_schema={"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}})
def declared(raises: bool = True) -> Any:
    """Fail although an output schema is declared."""
    return no_movie(raises)


@bugs.tool(input_schema={"type": "object", "properties": {"q": {"type": "string"}}})
def anything(**options: Any) -> str:
    """Take whatever comes."""
    return repr(options)


@bugs.tool
def invalid(how: str) -> str:
    """Refuse the way Django or Django REST framework does."""
    fields = {"email": ["Not an address."]}
    errors = {
        "django": ValidationError(fields),
        "rest": RestValidationError(fields),
        "rest nested": RestValidationError({"lines": [{}, {"email": ["Not an address."]}]}),
        "rest text": RestValidationError("Not an address for email."),
    }
    raise errors[how]


@bugs.tool(name="shop.list")
def dotted() -> str:
    """Has a dot in its name."""
    return "dotted"


@bugs.tool(name="a" * 65)
def long_name() -> str:
    """Has a long name."""
    return "long"


@bugs.tool
def create_item() -> str:
    """Create one."""
    return "small"


@bugs.tool(name="Create_Item")
def create_item_too() -> str:
    """Create another one."""
    return "large"


@bugs.prompt(name="grüße")
def greetings() -> str:
    """Has a name beyond ASCII."""
    return "Grüße"


@bugs.prompt(name="=?base64?eA==?=")
def marked() -> str:
    """Has a name that looks encoded."""
    return "literal"


@bugs.resource_template("note://{name}", name="note")
def note(name: str) -> str:
    return f"note {name}"


@bugs.tool
def to_async() -> int:
    """Go from a thread to async code and back."""

    async def count() -> int:
        return await User.objects.acount()

    return async_to_sync(count)()


@bugs.tool
async def to_sync() -> int:
    """Go from async code to a thread."""
    return await sync_to_async(User.objects.count)()


@bugs.tool
def own_block() -> str:
    """Open a block of its own."""
    with transaction.atomic():
        return User.objects.create(username="inside").username


@bare.tool(permission="auth.delete_user")
def erase() -> None:
    """Only for those who may delete users."""


urlpatterns = [
    path("mcp", bugs.urls),
    path("bare", bare.urls),
    path("shop", include("django_mcp.urls")),
]
