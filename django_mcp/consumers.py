"""The Channels consumer: Streamable HTTP with one task per exchange.

Channels' own dispatch awaits each message's handler, so a hang-up would go unseen while a tool runs.
``MCPConsumer`` therefore replaces ``__call__`` and listens for ``http.disconnect`` beside the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, MutableMapping
from functools import lru_cache, partial
from typing import Any

from channels.consumer import AsyncConsumer

from django_mcp.protocol.headers import Headers
from django_mcp.servers import MCPServer, default_server
from django_mcp.transports import http
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import Frames, HeaderPairs, HTTPRequest, Response
from django_mcp.transports.outbound import AnswerStream
from django_mcp.transports.scope import make_request_from
from django_mcp.transports.shutdown import attached_exchanges, signal_hook
from django_mcp.transports.streams import Receive, Send, start_task

Scope = MutableMapping[str, Any]
RawHeaders = list[tuple[bytes, bytes]]

CANCEL_WAIT = 1.0  # seconds that a cancelled exchange gets before the door returns without it


class MCPConsumer(AsyncConsumer):  # type: ignore[misc]  # Channels has no types
    """Serves one ``MCPServer``: ``MCPConsumer.as_asgi(server=...)``."""

    server: MCPServer = default_server

    def __init__(self, *, server: MCPServer | None = None) -> None:
        super().__init__()
        self.server = server or default_server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._respond(scope, receive, send)
        if response is not None and response.stream is not None:
            headers, frames = _raw_headers(response), response.stream
            del response  # what an open stream does not need, it does not keep
            await stream(headers, frames, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """The response if it is a stream; any other one is sent."""
        exchange = HTTPExchange(self.server, read_request(scope))
        response = await http.admit(exchange)
        if response is None:
            body = await read_body(receive, exchange)
            if isinstance(body, bytes):
                running = Running(exchange, receive, send)
                running.start(running.answer(body))
                return await running.until_hang_up()
            response = body
        if response is not None and response.stream is None:
            await deliver(response, send)
        return response


class Running:
    """The task of one exchange, and what becomes of it when the client goes away."""

    task: asyncio.Task[Response | None]
    _hang_up: asyncio.Future[None]

    def __init__(self, exchange: HTTPExchange, receive: Receive, send: Send) -> None:
        self.exchange = exchange
        self._receive = receive
        self._send = send
        self._streaming: asyncio.Task[None] | None = None
        self.loop = asyncio.get_running_loop()
        exchange.door = self

    def start(self, steps: Coroutine[Any, Any, Response | None]) -> None:
        self.task = start_task(steps)

    async def answer(self, body: bytes) -> Response | None:
        exchange = self.exchange
        try:
            response = await http.respond(exchange, body)
        except asyncio.CancelledError:
            if exchange.hung_up:
                exchange.cut_off()
                raise
            # by the end of this process, and the client still waits
            response = exchange.settled(exchange.cut_short())
        if exchange.hung_up:  # the connection is gone, and with it whoever would read the answer
            if response.stream is not None:
                response.stream.close()
            return None
        exchange.answered = True
        if self._streaming is not None:
            await self._streaming
            return None
        if response.stream is not None:
            return response
        await deliver(response, self._send)
        return None

    def start_stream(self, frames: AnswerStream) -> None:
        if self._streaming is None and not self.exchange.hung_up:
            headers = _raw_headers(self.exchange.streamed(frames))
            self._streaming = self.loop.create_task(stream(headers, frames, self._receive, self._send))
            self._streaming.add_done_callback(_forget)

    def leave(self) -> None:
        self.exchange.hang_up(self.task)
        self._hang_up.cancel()

    async def until_hang_up(self) -> Response | None:
        """The answer if it is a stream, which the door then sends without a task of its own.

        Ends before a legacy call does whose client has hung up.
        """
        try:
            return self.task.result() if self.task.done() else await self._until_hang_up()
        finally:
            # The exchange and its door hold each other. A reference cycle costs more than all else that is done
            # here, and keeps a stream that was dropped.
            self.exchange.door = None

    async def _until_hang_up(self) -> Response | None:
        attached_exchanges.add(self.task)
        signal_hook.install(self.exchange.conf.shutdown_grace)
        # granian's receive() is an awaitable and no coroutine, which create_task refuses.
        hang_up = self._hang_up = asyncio.ensure_future(_disconnected(self._receive))
        try:
            await asyncio.wait({self.task, hang_up}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.exchange.hung_up = True
            self.task.cancel()
            self._stop_streaming()
            raise
        finally:
            hang_up.cancel()
        if self.task.done():
            return None if self.exchange.hung_up else self.task.result()
        self.exchange.hang_up(self.task)
        self._stop_streaming()
        if self.task.cancelling():
            await asyncio.wait({self.task}, timeout=CANCEL_WAIT)
        return None

    def _stop_streaming(self) -> None:
        if self._streaming is not None:
            self._streaming.cancel()


def _forget(task: asyncio.Task[None]) -> None:
    """Whoever is interested in its failure has awaited it."""
    if not task.cancelled():
        task.exception()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def deliver(response: Response, send: Send) -> None:
    headers = _raw_headers(response)
    # 204 has no content to measure (RFC 9110 section 8.6), and a stream has no length whatever it holds (BL-089).
    if response.status != 204 and not response.is_event_stream:
        headers.append((b"content-length", b"%d" % len(response.body)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def stream(headers: RawHeaders, frames: Frames, receive: Receive, send: Send) -> None:
    """Send a stream, each frame flushed, until it ends or the client goes away."""
    try:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        del headers
        await frames.serve(receive, send)
    except asyncio.CancelledError:
        if not frames.is_aborted:  # by ourselves, since the client does not read
            raise
    finally:
        frames.close()


def _raw_headers(response: Response) -> RawHeaders:
    return list(_encoded(response.headers))


@lru_cache(maxsize=256)
def _encoded(headers: HeaderPairs) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers)


def read_request(scope: Scope) -> HTTPRequest:
    client = scope.get("client")
    return HTTPRequest(
        method=scope["method"],
        path=scope["path"],
        scheme=scope.get("scheme", "http"),
        headers=Headers(scope["headers"]),
        server=(scope.get("server") or ("",))[0] or "",
        client=client[0] if client else None,
        path_params=scope.get("url_route", {}).get("kwargs", {}),
        make_request=partial(make_request_from, scope),
    )


async def read_body(receive: Receive, exchange: HTTPExchange) -> bytes | Response | None:
    """The body, the refusal of one that is too large, or ``None`` for a client that left while sending."""
    limit = exchange.conf.max_body
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            return exchange.refuse(exchange.too_large())
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
