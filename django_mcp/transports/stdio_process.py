"""A process that serves one client over stdio: from the first line to the end, however it comes.

It ends when stdin does, when nobody reads stdout, or by SIGTERM or SIGINT. What runs then gets
``SHUTDOWN_GRACE``, of which the last tenth is kept for tidying up. A second reason to end cuts that short.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django_mcp.running import close_lanes
from django_mcp.servers import MCPServer
from django_mcp.transports.stdio import StdioExchange
from django_mcp.transports.stdio_identity import open_identity
from django_mcp.transports.stdio_streams import Channel, Lines, Reader, Writer

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Of the grace, what the work may use
SHARE = 0.9
# Seconds that an idle connection may take to close
CLOSING = 0.2


async def serve(
    server: MCPServer, username: str | None, channel: Channel, leave: Callable[[int], None] = os._exit
) -> None:
    """Serve the client of *channel* until the end, then *leave*; raises ``UnusableUser`` before the beginning.

    It leaves without unwinding: a thread that runs a tool cannot be stopped, and Python would wait for it.
    """
    identity = await open_identity(username)
    process = _Process()
    writer = Writer(channel.stdout, process.end_soon)
    exchange = StdioExchange(server, identity, writer.put, backlog=writer.backlog)
    lines = Lines(server.settings.max_body)

    def feed(chunk: bytes) -> None:
        for line in lines.feed(chunk) if chunk else lines.end():
            exchange.receive(line)
        if not chunk:
            process.end()

    process.on_hurry = exchange.cancel_all
    with process.signals():
        Reader(channel.stdin, feed)
        await process.ending.wait()
        await _drain(exchange, writer, server.settings.shutdown_grace)
    _tidy_up()
    leave(0)


class _Process:
    """Why and when it ends."""

    def __init__(self) -> None:
        self.ending = asyncio.Event()
        self.on_hurry: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        if self.ending.is_set():
            self.on_hurry()
        self.ending.set()

    def end_soon(self) -> None:
        """The same from another thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.end)

    @contextmanager
    def signals(self) -> Iterator[None]:
        added = []
        # Windows has no such handlers, and only the main thread may have them.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number in SIGNALS:
                self._loop.add_signal_handler(number, self.end)
                added.append(number)
        try:
            yield
        finally:
            for number in added:
                self._loop.remove_signal_handler(number)


async def _drain(exchange: StdioExchange, writer: Writer, grace: float) -> None:
    end = time.monotonic() + grace
    await exchange.drain(grace * SHARE)
    exchange.cancel_all()
    await exchange.drain(max(0.0, end - time.monotonic()) / 2)
    writer.finish(max(0.0, end - time.monotonic()) / 2)


def _tidy_up() -> None:
    """What the interpreter would do at its exit, as far as it cannot block."""
    close_lanes(CLOSING)
    logging.shutdown()
    for stream in (sys.__stdout__, sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # there is none, nobody reads it, or it is closed
            stream.flush()  # type: ignore[union-attr]
