"""The tools; the modules of benchmarks/apps have the same. One server of them wants a token, one has a hundred."""

from benchmarks.apps.catalogue import NAMES, count
from django_mcp import Context, MCPServer, resource, tool

with_token = MCPServer("token", settings={"AUTHENTICATION": "django_mcp.auth.BearerToken"})
catalogue = MCPServer("catalogue")


@with_token.tool
@tool
async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@with_token.tool
@tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def add_reporting(a: int, b: int, context: Context) -> int:
    """Add two numbers, and say that half is done."""
    await context.areport_progress(1, 2)
    return a + b


for name in NAMES:
    catalogue.tool(name=name)(count)


@tool
def touch(context: Context) -> str:
    """Say that the note was updated."""
    context.notify_resource_updated("note://watched")
    return "touched"


@resource("note://watched", name="watched")
def watched() -> str:
    """Hold what streams listen for."""
    return "watched"
