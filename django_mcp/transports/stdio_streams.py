"""The client's ends of standard input and output: who owns them, and the threads that read and write them.

Standard library only, so that Django's start-up can call ``take_over`` before anything of the site runs.
Threads instead of the loop's own pipes: those refuse files, and set modes that other processes would share.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue

from django_mcp.transports.backlog import Backlog

STDIN, STDOUT, STDERR = 0, 1, 2
CHUNK = 64 * 1024
# Chunks that are read ahead of the loop
WINDOW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The file descriptors that lead to the client and that nobody else knows."""

    stdin: int
    stdout: int


@cache
def take_over() -> Channel:
    """Take the client away from the rest of the process (STD-02); once, whoever asks first.

    From here on ``print``, handlers that keep ``sys.stdout``, ``os.write(1, ...)`` and child processes
    write to stderr, and nobody reads the client's messages but us.
    """
    channel = divert(STDIN, STDOUT, STDERR)
    # What was printed before and waits in the buffer leaves it now, the new way.
    sys.stdout.flush()
    # Whose lines come in order and never fail to encode
    sys.stdout = sys.stderr
    return channel


def divert(stdin: int, stdout: int, stderr: int) -> Channel:
    """Duplicates of the first two, which from now on lead to nothing and to *stderr*."""
    channel = Channel(stdin=os.dup(stdin), stdout=os.dup(stdout))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), stdin)
    os.dup2(stderr, stdout)
    return channel


class Lines:
    """Cuts what is read into lines of at most *limit* bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._is_too_long = False

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that *chunk* completes, without their ends. ``None``: one that was too long and is not kept."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield self._take()
        self._add(rest)

    def end(self) -> Iterator[bytes | None]:
        """The last line, where its end is missing."""
        if self._line or self._is_too_long:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        # One more for the carriage return that may end it.
        if self._is_too_long or len(self._line) + len(piece) > self._limit + 1:
            self._is_too_long = True
            self._line.clear()
        else:
            self._line += piece

    def _take(self) -> bytes | None:
        line = None if self._is_too_long else bytes(self._line).removesuffix(b"\r")
        self._is_too_long = False
        self._line.clear()
        return None if line is None or len(line) > self._limit else line


class Reader:
    """Hands what can be read to *feed*, on the thread of the running loop; ``b""`` is the end."""

    def __init__(self, fd: int, feed: Callable[[bytes], None]) -> None:
        self._fd = fd
        self._feed = feed
        self._loop = asyncio.get_running_loop()
        self._room = threading.Semaphore(WINDOW)
        threading.Thread(target=self._run, name="mcp-stdin", daemon=True).start()

    def _run(self) -> None:
        chunk = b"-"
        with suppress(RuntimeError):  # the loop is closed
            while chunk:
                self._room.acquire()
                chunk = read(self._fd)
                self._loop.call_soon_threadsafe(self._hand_over, chunk)

    def _hand_over(self, chunk: bytes) -> None:
        self._room.release()
        self._feed(chunk)


class Writer:
    """Writes one message after the other; calls *broken* once on its thread when nobody reads any more."""

    def __init__(self, fd: int, broken: Callable[[], None]) -> None:
        self._fd = fd
        self._broken = broken
        self.backlog = Backlog()
        self._messages: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="mcp-stdout", daemon=True)
        self._thread.start()

    def put(self, message: bytes) -> None:
        """One message on one line (STD-01). Never waits."""
        self.backlog.add(len(message) + 1)
        self._messages.put(message + b"\n")

    def finish(self, timeout: float) -> None:
        """Wait until everything is written."""
        self._messages.put(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        while (message := self._messages.get()) is not None:
            try:
                write(self._fd, message)
            except OSError:
                self._broken()
                self.backlog.end()
                return
            self.backlog.remove(len(message))


def read(fd: int) -> bytes:
    """What is there, at least one byte; ``b""`` at the end, which a broken channel is too."""
    while True:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:  # whoever started us may have left it in that mode
            select.select([fd], [], [])
        except OSError:
            return b""


def write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])
