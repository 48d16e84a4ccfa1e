"""How long a site takes to register its tools, and whether a page of a list costs more where there are more of them."""

import argparse
import asyncio
import importlib
import os
import statistics
import sys
import time
from dataclasses import dataclass
from datetime import date
from types import FunctionType
from typing import Annotated, Any, Literal

from pydantic import Field

from . import databases
from .targets import OURS, PROGRAMS

PAGE = 50
REPEATS = 5
PAGES = 200


@dataclass
class Entry:
    """What half of the tools return."""

    number: int
    text: str
    day: date | None = None


def _find(
    query: Annotated[str, Field(description="What to look for", max_length=100)],
    kind: Literal["open", "closed"] = "open",
    since: date | None = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> list[Entry]:
    """Find entries whose text contains the query."""
    return [Entry(limit, query, since)]


def _count(query: str, limit: int = 10, archived: bool = False) -> int:
    """Count the entries whose text contains the query.

    Args:
        query: What to look for.
        limit: Where to stop.
    """
    return min(len(query), limit) if archived else limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, nargs="+", default=[100, 1000, 5000], help="how many to register")
    options = parser.parse_args()
    if min(options.tools) <= PAGE:
        parser.error(f"--tools is {min(options.tools)}, but has to be more than a page of {PAGE}.")
    with databases.sqlite(sys.executable, PROGRAMS[OURS]) as site:
        os.environ.update(site.env)
        importlib.import_module("benchmarks.site.asgi")
        print(f"{'tools':>8} {'register, ms of CPU':>20} {f'a page of {PAGE}, us of CPU':>26}")
        for count in options.tools:
            servers = [registered(count, f"catalogue-{count}-{number}") for number in range(REPEATS)]
            spent = statistics.median(seconds for _, seconds in servers)
            print(f"{count:>8} {spent * 1e3:>20.0f} {asyncio.run(page_cost(servers[0][0], count)):>26.0f}")


def registered(count: int, name: str) -> tuple[Any, float]:
    """A new server with that many tools, and the seconds of CPU time it took to register them."""
    from django_mcp import MCPServer

    server = MCPServer(name, page_size=PAGE)
    functions = [_copy(_find if number % 2 else _count, number) for number in range(count)]
    began = time.process_time()
    for function in functions:
        server.tool(function)
    return server, time.process_time() - began


def _copy(function: Any, number: int) -> Any:
    """A function of its own, as if it had been written under another name."""
    copy = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_{number}")
    copy.__qualname__, copy.__doc__ = copy.__name__, function.__doc__
    copy.__annotations__, copy.__defaults__ = dict(function.__annotations__), function.__defaults__
    return copy


async def page_cost(server: Any, count: int) -> float:
    """The microseconds of CPU time that the page in the middle of the list takes, at best."""
    from django_mcp.testing import AsyncMCPClient

    client = AsyncMCPClient(server=server)
    cursor = None
    for _ in range(count // PAGE // 2):
        reply = await client.request("tools/list", {"cursor": cursor} if cursor else {})
        cursor = reply["nextCursor"]
    costs = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(PAGES):
            await client.request("tools/list", {"cursor": cursor})
        costs.append((time.process_time() - began) / PAGES * 1e6)
    return min(costs)
