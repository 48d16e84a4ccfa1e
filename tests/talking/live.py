"""One POST whose answer is read while it is written, through the doors that can stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from django.core.handlers.asgi import ASGIHandler

from django_mcp.routing import MCPRouter
from tests.wire.client import DEFAULT_HEADERS, META, MODERN, NAMED_BY
from tests.wire.doors import scope_of

LIMIT = 30
# What a test that sets a key of its own has to say again.
OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
DOORS: dict[str, Any] = {"consumer": lambda: MCPRouter(ASGIHandler()), "view": ASGIHandler}


class Live:
    """Starts at once. The test plays the client: it reads event by event, hangs up, or does not read at all."""

    def __init__(
        self, door: str, message: Any, headers: dict[str, str | None] | None = None, method: str = "POST"
    ) -> None:
        merged = {**DEFAULT_HEADERS, **(headers or {})}
        pairs = [(name, value) for name, value in merged.items() if value is not None]
        self._incoming = [{"type": "http.request", "body": b"" if message is None else json.dumps(message).encode()}]
        self._left = asyncio.Event()
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reading = asyncio.Event()
        self.reading.set()
        application = DOORS[door]()
        self.task = asyncio.create_task(application(scope_of(method, "/mcp", pairs), self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._incoming:
            return self._incoming.pop(0)
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        await self.reading.wait()
        self._sent.put_nowait(message)

    def hang_up(self) -> None:
        self._left.set()

    async def start(self) -> tuple[int, dict[str, str]]:
        """The status and the headers."""
        message = await self._next()
        return message["status"], {name.decode().lower(): value.decode() for name, value in message["headers"]}

    async def frame(self) -> bytes:
        """The next piece of the body; nothing at its end."""
        return (await self._next()).get("body", b"")  # type: ignore[no-any-return]

    async def rest(self) -> list[bytes]:
        """What is left of the body, piece by piece."""
        frames = []
        while frame := await self.frame():
            frames.append(frame)
        return frames

    async def event(self) -> Any:
        """The next message. Where a stream begins, and the ids of its events, are told to legacy clients only."""
        frame = await self.frame()
        *beginning, event = frame.removesuffix(b"\n\n").split(b"\n\n")
        assert all(b"retry: " in each for each in beginning)
        *ids, head, data = event.split(b"\n")
        assert all(id.startswith(b"id: p") for id in ids)
        assert (head, frame[-2:], b"\r" in frame) == (b"event: message", b"\n\n", False)
        return json.loads(data.removeprefix(b"data: "))

    async def answer(self) -> list[Any]:
        """Every message: those of a stream, or the one of a JSON body."""
        _, headers = await self.start()
        body = b""
        async with asyncio.timeout(LIMIT):
            while True:
                message = await self._sent.get()
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
        await self.ended()
        if headers["content-type"] == "application/json":
            return [json.loads(body)]
        return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ") and line != b"data: "]

    async def ended(self) -> None:
        async with asyncio.timeout(LIMIT):
            await self.task

    async def _next(self) -> dict[str, Any]:
        async with asyncio.timeout(LIMIT):
            return await self._sent.get()


def modern(
    door: str,
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    method: str = "tools/call",
    capabilities: dict[str, Any] | None = None,
    more: dict[str, Any] | None = None,
    accept: str = "application/json, text/event-stream",
    extra: dict[str, str | None] | None = None,
    **meta: Any,
) -> Live:
    """A modern request; ``meta`` may hold progressToken and logLevel, ``more`` further params."""
    field = NAMED_BY[method]
    log_level = meta.pop("logLevel", None)
    envelope = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": capabilities or {}, **meta}
    if log_level is not None:
        envelope[f"{META}logLevel"] = log_level
    params = {field: name, "_meta": envelope, **(more or {})}
    if arguments is not None:
        params["arguments"] = arguments
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        "Mcp-Name": name,
        "Accept": accept,
    }
    headers.update(extra or {})
    return Live(door, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)


def legacy(
    door: str, session: str | None, name: str, arguments: dict[str, Any] | None = None, *, id: Any = 1, **meta: Any
) -> Live:
    """A tool call of a legacy session."""
    params = {"name": name, "arguments": arguments or {}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    return Live(door, message, {"Mcp-Session-Id": session})


def notices(messages: list[Any], method: str) -> list[dict[str, Any]]:
    return [message["params"] for message in messages if message.get("method") == method]


async def happened(event: Any) -> None:
    """Wait for something that another thread or task tells of."""
    assert await asyncio.to_thread(event.wait, LIMIT)
