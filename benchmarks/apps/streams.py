"""Streams without anything around them: GET opens one, POST sends a frame to all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
FRAME = b"event: message\ndata: " + b"x" * 150 + b"\n\n"
opened: set[Send] = set()


async def app(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
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
    try:
        while (await receive())["type"] != "http.disconnect":
            await asyncio.sleep(0)
    finally:
        opened.discard(send)
