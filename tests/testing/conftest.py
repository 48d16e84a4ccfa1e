"""A small server that the clients of the testing package talk to."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from django_mcp import CompletionResult, Context, MCPServer, ToolError
from django_mcp.servers import _servers

COLORS = [f"color {number}" for number in range(150)]
hooks: list[str] = []


def add_things(server):
    @server.tool
    def whoami(context: Context) -> str:
        """Tell the name."""
        return str(context.user)

    @server.tool(permission="auth.add_user")
    def invite(username: str) -> dict[str, int]:
        """Create a user, and write to them once that is certain."""
        user = User.objects.create(username=username)
        transaction.on_commit(lambda: hooks.append(f"mail to {username}"))
        if len(username) > 9:
            raise ToolError("Too long.")
        return {"pk": user.pk}

    @server.tool
    async def ainvite(username: str) -> str:
        """Create a user in async code."""
        user = await User.objects.acreate(username=username)
        await sync_to_async(transaction.on_commit)(lambda: hooks.append(f"mail to {user.username}"))
        return username

    @server.tool
    def where(context: Context) -> str:
        """Tell the tenant and the language."""
        from django.utils.translation import get_language

        return f"{dict(context.path_params)} {get_language()} {sorted(context.client_capabilities)}"

    @server.resource("note://a")
    def note() -> str:
        """A note."""
        return "text"

    @server.resource("note://b", mime_type="application/octet-stream")
    def blob() -> bytes:
        """Bytes."""
        return b"\x00\x01"

    @server.resource_template("user://{name}", complete={"name": ["ann", "bob"]})
    def user(name: str) -> str:
        """A user."""
        return name

    @server.prompt(complete={"color": complete_color})
    def paint(color: str, size: str = "small") -> str:
        """Paint it."""
        return f"Paint it {size} and {color}."


def complete_color(value: str, arguments: dict[str, str]) -> CompletionResult:
    found = [color for color in COLORS if color.startswith(value) and arguments.get("size") != "none"]
    return CompletionResult(values=tuple(found[:100]), total=len(found), has_more=len(found) > 100)


@pytest.fixture(autouse=True)
def desk():
    """Classes name it: ``mcp_server = "testing-desk"``."""
    server = MCPServer("testing-desk", page_size=2)
    add_things(server)
    yield server
    del _servers["testing-desk"]


@pytest.fixture(autouse=True)
def no_hooks():
    hooks.clear()
