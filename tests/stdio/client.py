"""A client that talks to the stdio door in this process, line by line."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from django_mcp import default_server
from django_mcp.transports.stdio import StdioExchange
from django_mcp.transports.stdio_identity import Anonymous
from tests.wire.client import META, MODERN

LIMIT = 30
LEGACY = "2025-11-25"


class StdioClient:
    def __init__(self, server: Any, identity: Any) -> None:
        self.exchange = StdioExchange(server, identity, self._take)
        self.lines: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self._ids = itertools.count(1)

    def _take(self, line: bytes) -> None:
        assert b"\n" not in line
        self.lines.append(line)
        # Notifications come from the threads of the tools.
        self._loop.call_soon_threadsafe(self._answers.put_nowait, json.loads(line))

    def send(self, message: Any) -> None:
        self.exchange.receive(message if isinstance(message, bytes | None) else json.dumps(message).encode())

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is None else id, "method": method}
        return message if params is None else {**message, "params": params}

    def enveloped(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> dict[str, Any]:
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        return self.request(method, {"_meta": meta, **(params or {})}, id)

    async def receive(self) -> Any:
        async with asyncio.timeout(LIMIT):
            return await self._answers.get()

    async def ask(self, message: Any) -> Any:
        self.send(message)
        return await self.receive()

    async def legacy(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> Any:
        return await self.ask(self.request(method, params, id))

    async def modern(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> Any:
        return await self.ask(self.enveloped(method, params, id))

    async def call(self, name: str, **arguments: Any) -> str:
        """The text of a tool's result."""
        answer = await self.modern("tools/call", {"name": name, "arguments": arguments})
        text: str = answer["result"]["content"][0]["text"]
        return text

    async def initialize(self, version: str = LEGACY) -> Any:
        return await self.legacy("initialize", greeting(version))


def greeting(version: str = LEGACY) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}


def talk(steps: Callable[[StdioClient], Awaitable[None]], server: Any = None, identity: Any = None) -> None:
    """Run *steps* against a door of its own, and see that nothing of it is left running."""

    async def main() -> None:
        client = StdioClient(server or default_server, identity or Anonymous())
        await steps(client)
        await client.exchange.drain(LIMIT)
        await asyncio.sleep(0)
        assert not client.exchange._tasks
        assert not client.exchange._cancellable

    asyncio.run(main())
