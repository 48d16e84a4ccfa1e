"""Streams of a served site: many at once, read frame by frame over sockets of their own."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from tests.wire.client import META, MODERN

LIMIT = 120
STREAM_LIMIT = 64 * 1024


class Event(NamedTuple):
    id: str
    data: Any


class SSE:
    """One response that goes on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self.seen: list[Event] = []
        self._reader = reader
        self._writer = writer
        self._rest = ""

    @classmethod
    async def open(
        cls,
        port: int,
        method: str,
        headers: dict[str, str],
        body: bytes = b"",
        *,
        path: str = "/mcp",
        room: int | None = None,
    ) -> SSE:
        """With *room* no more than about so many bytes are on their way before somebody reads."""
        connection = socket.socket()
        connection.setblocking(False)
        if room is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=room or STREAM_LIMIT)
        own = {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body)), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        status = int((await asyncio.wait_for(reader.readline(), LIMIT)).split()[1])
        stream = cls(reader, writer, status)
        _opened.append(stream)
        while line := (await reader.readline()).decode().strip():
            name, _, value = line.partition(":")
            stream.headers[name.lower()] = value.strip()
        return stream

    async def event(self) -> Event:
        """The next event with data; ``EOFError`` where the stream ends."""
        while True:
            while "\n\n" not in self._rest:
                self._rest += (await self._chunk()).decode()
            frame, _, self._rest = self._rest.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
            if fields.get("id") or fields.get("data"):
                data = fields.get("data")
                self.seen.append(Event(fields.get("id", ""), json.loads(data) if data else None))
                if data:
                    return self.seen[-1]

    async def until(self, count: int) -> list[Event]:
        """As many events as that, in the order they came."""
        async with asyncio.timeout(LIMIT):
            return [await self.event() for _ in range(count)]

    async def end(self) -> list[Event]:
        """What comes until the server ends the stream."""
        found = []
        try:
            async with asyncio.timeout(LIMIT):
                while True:
                    found.append(await self.event())
        except (EOFError, ConnectionError):
            return found

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _chunk(self) -> bytes:
        size = int(await self._line() or b"0", 16)
        if not size:
            raise EOFError
        chunk = await self._reader.readexactly(size)
        await self._reader.readexactly(2)
        return chunk

    async def _line(self) -> bytes:
        line = await self._reader.readline()
        if not line:
            raise EOFError
        return line.strip()


_opened: list[SSE] = []


def run(steps: Coroutine[Any, Any, None]) -> None:
    """Take the steps, and leave no stream open."""

    async def main() -> None:
        try:
            await steps
        finally:
            while _opened:
                await _opened.pop().close()

    asyncio.run(main())


async def ask(port: int, message: dict[str, Any], headers: dict[str, str]) -> tuple[dict[str, str], Any]:
    """The headers of an answer and its JSON."""
    body = json.dumps(message).encode()
    own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Connection": "close"}
    answer = await SSE.open(port, "POST", {**own, **headers}, body)
    size = int(answer.headers.get("content-length", "0"))
    content = await answer._reader.readexactly(size)
    await answer.close()
    return answer.headers, json.loads(content) if content else None


async def open_session(port: int, uri: str, version: str = "2025-11-25") -> dict[str, str]:
    """The headers of a legacy session that has subscribed to a resource."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "crowd", "version": "1"}}
    headers, _ = await ask(port, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, {})
    own = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": version}
    await ask(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, own)
    subscribe = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": uri}}
    _, answer = await ask(port, subscribe, own)
    assert answer["result"] == {}, answer
    return own


async def get(port: int, session: dict[str, str], last: str = "") -> SSE:
    place = {"Last-Event-ID": last} if last else {}
    stream = await SSE.open(port, "GET", {"Accept": "text/event-stream", **session, **place})
    assert stream.status == 200, stream.status
    return stream


def listening(port: int, filter: dict[str, Any], id: Any = 1) -> bytes:
    """A whole request for a modern subscription."""
    headers, body = _subscription(filter, id)
    own = {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body)), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


async def listen(port: int, filter: dict[str, Any], id: Any = 1) -> SSE:
    """A modern subscription, acknowledged."""
    stream = await SSE.open(port, "POST", *_subscription(filter, id))
    assert stream.status == 200, stream.status
    [acknowledgement] = await stream.until(1)
    assert acknowledgement.data["method"] == "notifications/subscriptions/acknowledged"
    return stream


def _subscription(filter: dict[str, Any], id: Any) -> tuple[dict[str, str], bytes]:
    meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
    params = {"notifications": filter, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "MCP-Protocol-Version": MODERN}
    headers["Mcp-Method"] = "subscriptions/listen"
    return headers, json.dumps(message).encode()
