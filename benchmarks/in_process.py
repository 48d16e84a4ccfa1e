"""One call after another on the application itself: neither sockets nor an HTTP parser are in the numbers."""

import argparse
import asyncio
import cProfile
import importlib
import json
import os
import pstats
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from . import databases
from .requests import Call, modern_call, modern_list
from .targets import OURS, PROGRAMS

Application = Callable[
    [dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]

WARM_UP = 500
REPEATS = 9
DISCONNECT = 3600.0  # seconds until the client would hang up

CALLS: dict[str, Callable[[str], Call]] = {
    "async": lambda token: modern_call("add_async"),
    "sync": lambda token: modern_call("add_sync"),
    "token": lambda token: modern_call("add_async", "/token", token),
    "list": lambda token: modern_list(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--call", choices=CALLS, default="async")
    parser.add_argument("--number", type=int, default=2000, help="calls in each of 9 repeats")
    parser.add_argument("--top", type=int, default=30, help="functions to show, 0 for none")
    parser.add_argument("--sort", default="tottime", help="as in pstats: tottime, cumtime, ncalls")
    options = parser.parse_args()
    with databases.sqlite(sys.executable, PROGRAMS[OURS]) as site:
        os.environ.update(site.env)
        application = importlib.import_module("benchmarks.site.asgi").application
        asyncio.run(_report(application, CALLS[options.call](site.token), options))


async def _report(application: Application, call: Call, options: argparse.Namespace) -> None:
    await _ask(application, call, WARM_UP)
    costs = await cost(application, call, options.number)
    print(f"{options.call}: {min(costs):.1f} us of CPU a call at best, {statistics.median(costs):.1f} in the median")
    if options.top:
        # By CPU time: on a machine that does other work, a function may look slow that only had to wait.
        profile = cProfile.Profile(time.process_time)
        profile.enable()
        await _ask(application, call, options.number)
        profile.disable()
        pstats.Stats(profile).sort_stats(options.sort).print_stats(options.top)


async def cost(application: Application, call: Call, number: int) -> list[float]:
    """Microseconds of this process's CPU time that a call takes, of each repeat."""
    costs = []
    for _ in range(REPEATS):
        began = time.process_time()
        await _ask(application, call, number)
        costs.append((time.process_time() - began) / number * 1e6)
    return costs


async def _ask(application: Application, call: Call, number: int) -> None:
    """Raises ``RuntimeError`` if the last answer is not the right one."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    for _ in range(number):
        sent.clear()
        await application(_scope(call), _Receive(call.body), send)
    status, body = sent[0]["status"], sent[1]["body"]
    if status != 200 or not call.is_right_answer(json.loads(body)):
        raise RuntimeError(f"The answer was {status} {body[:300]!r}.")


class _Receive:
    """The body, and then a client that waits."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> dict[str, Any]:
        if self._body is None:
            await asyncio.sleep(DISCONNECT)
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


def _scope(call: Call) -> dict[str, Any]:
    headers = {"Host": "127.0.0.1:8000", **call.headers, "Content-Length": str(len(call.body))}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": call.path,
        "raw_path": call.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
