"""Streams without anything around them: GET opens one, POST sends a frame to all of them.

Each gets a comment every 15 seconds, as ours do, by one task that looks once a second.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
FRAME = b"event: message\ndata: " + b"x" * 150 + b"\n\n"
KEEP_ALIVE = {"type": "http.response.body", "body": b": keep-alive\n\n", "more_body": True}
KEEP_ALIVE_SECONDS = 15.0
opened: set[Send] = set()
due: deque[tuple[float, Send]] = deque()
tasks: list[asyncio.Task[None]] = []


async def app(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
    if not tasks:
        tasks.append(asyncio.create_task(keep_alive()))
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] == "POST":
        for one in list(opened):
            await one({"type": "http.response.body", "body": FRAME, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.body", "body": b": open\n\n", "more_body": True})
    opened.add(send)
    due.append((time.monotonic() + KEEP_ALIVE_SECONDS, send))
    try:
        while (await receive())["type"] != "http.disconnect":
            await asyncio.sleep(0)
    finally:
        opened.discard(send)


async def keep_alive() -> None:
    while True:
        await asyncio.sleep(1)
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, send = due.popleft()
            if send in opened:
                await send(KEEP_ALIVE)
                due.append((now + KEEP_ALIVE_SECONDS, send))
