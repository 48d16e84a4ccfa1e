"""Floors: what parses the request and answers the same JSON, as a plain ASGI application and as a Channels consumer."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from channels.generic.http import AsyncHttpConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import path

HEADERS = [(b"content-type", b"application/json")]


def answer(body: bytes) -> bytes:
    request = json.loads(body)
    arguments = request["params"]["arguments"]
    total = arguments["a"] + arguments["b"]
    result = {
        "content": [{"type": "text", "text": str(total)}],
        "structuredContent": {"result": total},
        "resultType": "complete",
    }
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, separators=(",", ":")).encode()


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    content = answer(body)
    headers = [*HEADERS, (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class Consumer(AsyncHttpConsumer):  # type: ignore[misc]  # Channels has no types
    async def handle(self, body: bytes) -> None:
        content = answer(body)
        await self.send_response(200, content, headers=[*HEADERS, (b"content-length", b"%d" % len(content))])


if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["127.0.0.1"])  # URLRouter reads settings
channels = ProtocolTypeRouter({"http": URLRouter([path("mcp", Consumer.as_asgi())])})
