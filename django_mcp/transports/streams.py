"""The streams that this process holds open: frames in, frames out, and nothing that runs while there are none.

An idle stream is a coroutine that waits for one future: it has no task, timer or queue of its own.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from contextlib import suppress
from typing import Any, TypeVar

from django_mcp.conf import MCPSettings
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError
from django_mcp.running import running_loop
from django_mcp.transports.sse import KEEP_ALIVE
from django_mcp.transports.sweeps import Sweep

logger = logging.getLogger("django_mcp.http")

RETRY_AFTER = "10"  # seconds
START_WITHIN = 30.0  # seconds: Django drops the response of a client that is gone and closes nothing
MAX_CHUNK = 64 * 1024

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

if sys.version_info >= (3, 12):
    # A task that starts at once and, where nothing waits, is done before anyone has to wait for it.
    def start_task(steps: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return asyncio.Task(steps, loop=asyncio.get_running_loop(), eager_start=True)

else:
    start_task = asyncio.create_task


class Stream:
    """One open stream: an iterator of chunks that a door sends and then closes.

    ``deadline`` is when it ends by itself (``time.time()``). ``farewell`` makes its last frame, unless the client
    has gone; ``on_close`` is called once, however it ends. A class and not a generator, since closing a generator
    that never started runs none of its code.
    """

    __slots__ = (
        "_door",
        "_drained",
        "_flusher",
        "_frames",
        "_is_ended",
        "_is_finished",
        "_is_receiving",
        "_limit",
        "_owner",
        "_send_timeout",
        "_size",
        "_task",
        "_waiter",
        "_waiting_since",
        "deadline",
        "farewell",
        "is_aborted",
        "keep_alive_at",
        "loop",
        "on_close",
        "principal",
    )

    def __init__(self, owner: OpenStreams, principal: str, conf: MCPSettings, deadline: float) -> None:
        self.keep_alive_at = 0.0  # its sweep says when
        self.principal = principal
        self.loop = asyncio.get_running_loop()
        self.deadline = deadline
        self.farewell: Callable[[], bytes] | None = None
        self.on_close: Callable[[], None] | None = None
        self.is_aborted = False
        self._owner: OpenStreams | None = owner
        self._limit = conf.stream_buffer
        self._send_timeout = conf.send_timeout
        self._frames: deque[bytes] | None = None
        self._size = 0
        self._is_ended = False
        self._is_finished = False
        self._is_receiving = False
        self._waiter: asyncio.Future[None] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._door: tuple[Send, asyncio.Task[Any]] | None = None
        self._flusher: asyncio.Task[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        # For the door to begin, or for the client to take what it was sent.
        self._waiting_since: float | None = time.monotonic()

    @property
    def is_open(self) -> bool:
        return not self._is_ended

    @property
    def is_closed(self) -> bool:
        """Whether it has given its place back, so that ``on_close`` is not called any more."""
        return self._owner is None

    @property
    def is_idle(self) -> bool:
        """Whether neither the door nor the client is waited for."""
        return self._waiting_since is None

    def is_stuck(self, now: float) -> bool:
        """Whether one of them has taken too long (``time.monotonic()``)."""
        limit = START_WITHIN if self._task is None else self._send_timeout
        return self._waiting_since is not None and now - self._waiting_since > limit

    async def drained(self) -> bool:
        """Wait until everything was handed to the server; false if the stream has ended. For one task a stream."""
        while self._frames and not self._is_ended:
            self._drained = self.loop.create_future()
            await self._drained
        return not self._is_ended

    def put(self, frame: bytes) -> None:
        """Send a frame when the client is ready; one that leaves too much lying is cut off (SUB-12)."""
        if self._is_ended:
            return
        if self._size and self._size + len(frame) > self._limit:
            self.abort()
            return
        if self._door is not None and self._flusher is None:
            self._start_flush(self._door, frame)
            return
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        self._size += len(frame)
        self._wake()

    def keep_alive(self) -> None:
        """Send a comment, unless something is on its way or cannot be (SUB-16)."""
        if self._waiting_since is None and self._frames is None:
            self.put(KEEP_ALIVE)

    def end(self) -> None:
        """Finish after what is there, and the farewell."""
        if self._is_ended:
            return
        if self.farewell is not None:
            self._limit += MAX_CHUNK
            try:
                self.put(self.farewell())
            except Exception:  # who ends streams has others to end
                logger.exception("The last frame of a stream could not be made")
        self._is_ended = True
        self._wake()
        self._wake_drained()

    def abort(self) -> None:
        """Give the client up, in the middle of what it is being sent."""
        self.is_aborted = True
        waits = self._waiting_since is not None or self._door is not None
        self.close()
        if waits and self._task is not None:
            self._task.cancel()

    def close(self) -> None:
        """The client is gone, or has had everything. Harmless the second time, and on any thread."""
        if self._owner is None:
            return
        if not self.loop.is_closed() and running_loop() is not self.loop:  # Django closes responses on a thread
            self.loop.call_soon_threadsafe(self.close)
            return
        owner, self._owner = self._owner, None
        self._is_ended = True
        self._frames = None
        self._wake()
        self._wake_drained()
        if self._flusher is not None:
            self._flusher.cancel()
        owner.forget(self)
        if self.on_close is not None:
            self.on_close()

    async def serve(self, receive: Receive, send: Send) -> None:
        """Send what comes, until the stream ends or the client goes away: for a door that may send at any time.

        Meanwhile this task waits for the client alone. Frames are sent by a task that lives as long as there are
        some; where nothing holds it up that is no longer than ``put``.
        """
        self._task = task = current_task()
        self._door = send, task
        self._waiting_since = None
        self._wake()
        self._is_receiving = True
        try:
            while self._is_held and (await receive())["type"] != "http.disconnect":
                pass
        except asyncio.CancelledError:
            if not self._is_finished:
                raise
            task.uncancel()  # it was ourselves
        finally:
            self._is_receiving = False
            self.close()

    @property
    def _is_held(self) -> bool:
        """Whether there may be something to send yet, so that somebody has to wait for the client."""
        return self._owner is not None and not self._is_finished

    def _start_flush(self, door: tuple[Send, asyncio.Task[Any]], chunk: bytes) -> None:
        task = start_task(self._flush(door, chunk))
        if not task.done():
            self._flusher = task
            self._wait_for_client()

    async def _flush(self, door: tuple[Send, asyncio.Task[Any]], chunk: bytes) -> None:
        send, waiting = door
        try:
            while chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = self._take() if self._frames else b""
            if self._is_ended and self._owner is not None:
                self._waiting_since = time.monotonic()
                await send({"type": "http.response.body", "body": b""})
                self._finish(waiting)
            self._waiting_since = None
        except OSError:  # the client is gone
            self._finish(waiting)
        except Exception:  # of a middleware, or a server that has ended the response by itself
            logger.exception("A stream could not be sent")
            self._finish(waiting)
        finally:
            self._flusher = None

    def _finish(self, waiting: asyncio.Task[Any]) -> None:
        """Nothing more can be sent, so nobody need wait for the client.

        Who does not is not cancelled: that would hit whatever its task awaits next, which is none of ours.
        """
        is_first, self._is_finished = not self._is_finished, True
        if is_first and self._is_receiving:
            waiting.cancel()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        self._task = current_task()
        self._waiting_since = None
        while not self._frames:
            if self._is_ended:
                self.close()
                raise StopAsyncIteration
            self._waiter = self.loop.create_future()
            try:
                await self._waiter
            except asyncio.CancelledError:
                self.close()
                raise
            finally:
                self._waiter = None
        chunk = self._take()
        self._wait_for_client()
        return chunk

    def _wait_for_client(self) -> None:
        assert self._owner is not None  # noqa: S101 - one that is closed sends nothing
        self._waiting_since = time.monotonic()
        self._owner.watch(self)

    def _take(self) -> bytes:
        """As much as goes out at once."""
        frames = self._frames
        if frames is None:
            return b""
        self._waiting_since = time.monotonic()
        chunk = frames.popleft()
        while frames and len(chunk) < MAX_CHUNK:
            chunk += frames.popleft()
        self._size -= len(chunk)
        if not frames:
            self._frames = None
            self._wake_drained()
        return chunk

    def _wake_drained(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def _wake(self) -> None:
        has_work = self._owner is not None and (self._frames or self._is_ended)
        if self._door is not None and self._flusher is None and has_work:
            self._start_flush(self._door, self._take())
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class OpenStreams:
    """The streams of this process, counted against ``MAX_STREAMS`` and ``MAX_STREAMS_PER_USER``."""

    def __init__(self) -> None:
        self._sweeps: dict[asyncio.AbstractEventLoop, Sweep] = {}
        self._per_principal: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(len(sweep.streams) for sweep in list(self._sweeps.values()))

    def open(self, principal: str, conf: MCPSettings, *, expires: float | None = None) -> Stream:
        """Raises ``ProtocolError`` with HTTP 503 where the process or the user holds too many.

        ``expires`` is when the credentials end (``time.time()``).
        """
        # First, since streams of loops that have ended are given up then.
        sweep = self._sweep_of(asyncio.get_running_loop())
        own = self._per_principal.get(principal, 0)
        if len(self) >= conf.max_streams or own >= conf.max_streams_per_user:
            raise ProtocolError(
                INTERNAL_ERROR, "Too many open streams", status=503, headers=(("Retry-After", RETRY_AFTER),)
            )
        age = time.time() + conf.stream_age
        stream = Stream(self, principal, conf, age if expires is None else min(age, expires))
        sweep.add(stream)
        self._per_principal[principal] = own + 1
        return stream

    def watch(self, stream: Stream) -> None:
        """Look after one that waits for its client."""
        self._sweeps[stream.loop].watch(stream)

    def forget(self, stream: Stream) -> None:
        """Give the stream's place back."""
        self._sweeps[stream.loop].discard(stream)
        left = self._per_principal.pop(stream.principal) - 1
        if left:
            self._per_principal[stream.principal] = left

    def end_all(self) -> None:
        """Let every stream send its last frame and end. Safe to call from a signal handler."""
        for stream in self._all():
            try:
                stream.loop.call_soon_threadsafe(stream.end)
            except RuntimeError:  # its loop has ended
                stream.close()

    def abort_all(self) -> None:
        """Cut off the clients that have not taken their last frame. Safe to call from a signal handler."""
        for stream in self._all():
            with suppress(RuntimeError):  # its loop has ended
                stream.loop.call_soon_threadsafe(stream.abort)

    def _all(self) -> list[Stream]:
        return [stream for sweep in list(self._sweeps.values()) for stream in list(sweep.streams)]

    def _sweep_of(self, loop: asyncio.AbstractEventLoop) -> Sweep:
        found = self._sweeps.get(loop)
        if found is None:
            self._drop_ended_loops()
            found = self._sweeps[loop] = Sweep(loop)
        return found

    def _drop_ended_loops(self) -> None:
        for loop in [one for one in list(self._sweeps) if one.is_closed()]:  # another thread may add its own
            for stream in list(self._sweeps[loop].streams):
                stream.close()
            del self._sweeps[loop]


def current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - coroutines of ours run in tasks alone
    return task


open_streams = OpenStreams()
