"""Messages to the client while its call runs, on the stream of that call or over stdio.

A sender waits for a slow client for at most ``SEND_TIMEOUT``, and not at all while its own transaction is
open: then up to ``STREAM_BUFFER`` is kept. A client that is slower is given up.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from django_mcp.conf import MCPSettings
from django_mcp.protocol.jsonrpc import encode
from django_mcp.running import running_loop
from django_mcp.server.dialogue import Message
from django_mcp.transports import sse, sweeps
from django_mcp.transports.backlog import Backlog
from django_mcp.transports.journal import journal_of
from django_mcp.transports.recording import Recording
from django_mcp.transports.shutdown import detached_exchanges
from django_mcp.transports.streams import Receive, Send

logger = logging.getLogger("django_mcp.http")

CUT_WAIT = 1.0  # seconds
FLUSH_WITHIN = 2.0  # seconds that an answer may wait for the journal at the end of the process


class QueueingOutbound(ABC):
    """The ``Outbound`` of one call that runs in this loop."""

    __slots__ = ("_conf", "_is_closed", "_loop")

    def __init__(self, conf: MCPSettings, loop: asyncio.AbstractEventLoop) -> None:
        self._conf = conf
        self._loop = loop
        self._is_closed = False

    @property
    def can_send(self) -> bool:
        return not self._is_closed

    def close_stream(self) -> None:  # noqa: B027 - most have none that a client could come back to
        """Send the client away for a while, where it knows how to come back."""

    def notify(self, message: Message, *, may_wait: bool) -> None:
        """May be called on any thread; only one without an event loop is ever made to wait."""
        backlog = self._put(message)
        if backlog is None:
            return
        if may_wait and running_loop() is None:
            if not backlog.wait(self._conf.send_timeout):
                self._give_up()
        else:
            self._check(backlog)

    async def anotify(self, message: Message, *, may_wait: bool) -> None:
        backlog = self._put(message)
        if backlog is None:
            return
        if may_wait:
            if not await backlog.wait_async(self._conf.send_timeout):
                self._give_up()
                await asyncio.sleep(0)  # where the call is cancelled
        else:
            self._check(backlog)

    def close(self) -> None:
        """The call has its answer, or nobody reads; what comes now is dropped (PRG-03)."""
        self._is_closed = True

    def _check(self, backlog: Backlog) -> None:
        if backlog.size > self._conf.stream_buffer:
            self._give_up()

    def _give_up(self) -> None:
        self._leave_off()
        if running_loop() is self._loop:
            self._loop.call_soon(self._cut)
            return
        done = threading.Event()

        def cut() -> None:
            self._cut()
            done.set()

        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(cut)
            done.wait(CUT_WAIT)  # so that the sender's next step knows

    def _leave_off(self) -> None:
        """The client gets no more of it."""
        self.close()

    @abstractmethod
    def _put(self, message: Message) -> Backlog | None:
        """Hand the message over; ``None`` where it was dropped."""

    @abstractmethod
    def _cut(self) -> None:
        """The client does not read. Called in the loop."""


class AnswerStream:
    """The frames of a call's own stream: an iterator that a door sends and then closes.

    Comments keep it alive while nothing is sent (MH-29). Closed before its end it tells *on_leave*.
    """

    # The call is cut off in its place.
    is_aborted = False
    # It ended before the call did, and the client comes back for the rest.
    is_parted = False

    def __init__(self, loop: asyncio.AbstractEventLoop, on_leave: Callable[[], None], limit: float) -> None:
        self._limit = limit
        self.backlog = Backlog()
        self._loop = loop
        self._frames: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._is_finished = False
        self._on_leave = on_leave

    def put(self, frame: bytes) -> None:
        """May be called on any thread."""
        self.backlog.add(len(frame))
        self._frames.append(frame)
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._changed.set)

    def finish(self, frame: bytes) -> None:
        """Add the last frame. Harmless the second time."""
        if not self._is_finished:
            self.put(frame)
            self._is_finished = True

    def part(self) -> None:
        """End after what is there, while the call goes on."""
        self.is_parted = self._is_finished = True
        self.backlog.end()
        self._changed.set()

    def drop(self) -> None:
        """End at once; nobody reads what is left."""
        self._is_finished = True
        self._frames.clear()
        self.backlog.end()
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._frames:
            if self._is_finished:
                raise StopAsyncIteration
            self._changed.clear()
            try:
                async with asyncio.timeout(sweeps.KEEP_ALIVE_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                return sse.KEEP_ALIVE
            except asyncio.CancelledError:  # how Django tells its responses that the client is gone
                self._leave()
                raise
        frame = self._frames.popleft()
        self.backlog.remove(len(frame))
        return frame

    async def serve(self, receive: Receive, send: Send) -> None:
        """Send them all. A client that does not read a frame in time is cut off."""
        try:
            async for frame in self:
                async with asyncio.timeout(self._limit):
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            logger.info("A client did not read its stream for %g seconds and was cut off", self._limit)

    def close(self) -> None:
        """May be called on any thread: Django closes responses on one of its own."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        if not self._is_finished or self._frames or self.is_parted:
            self.drop()
            self._on_leave()


class Door(Protocol):
    """Where a call came in, as far as it can send before it has the answer. Its methods are called in its loop."""

    loop: asyncio.AbstractEventLoop
    task: asyncio.Task[Any]  # which answers the call

    def start_stream(self, frames: AnswerStream) -> None:
        """Send this beside the call that goes on. Harmless the second time, and when the client is gone."""

    def leave(self) -> None:
        """The client is gone, or is given up because it does not read."""


class StreamOutbound(QueueingOutbound):
    """Made with the first message, so a call that sends nothing is answered in JSON."""

    __slots__ = ("_door", "_putting", "stream")

    def __init__(self, conf: MCPSettings, door: Door) -> None:
        super().__init__(conf, door.loop)
        self._door = door
        self._putting = threading.Lock()
        self.stream = AnswerStream(door.loop, door.leave, conf.send_timeout)
        door.loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._door.start_stream(self.stream)

    def _put(self, message: Message) -> Backlog | None:
        frame = sse.frame(message)
        with self._putting:
            if self._is_closed:
                return None
            self.stream.put(frame)
        return self.stream.backlog

    def finish(self, answer: bytes | None) -> None:
        """End the stream with the answer, or without one if the client has cancelled the call (CAN-01)."""
        with self._putting:
            self.close()
        self.stream.finish(sse.CANCELLED if answer is None else sse.event(answer))

    def drop(self) -> None:
        """Nobody reads."""
        self.close()
        self.stream.drop()

    def _cut(self) -> None:
        self.drop()
        self._door.leave()


class RecordedOutbound(StreamOutbound):
    """The same for a client that comes back if it loses the stream, which the call outlives (LH-14).

    ``head`` is what the stream begins with, given the id of its beginning.
    """

    __slots__ = ("_head", "_journal", "_recording")

    def __init__(
        self, conf: MCPSettings, door: Door, *, session: int, request: str, head: Callable[[str], bytes]
    ) -> None:
        self._journal = journal_of(door.loop)
        self._recording = Recording(
            session, request, conf.stream_buffer, ring=self._journal.ring, on_wanted=self._hand_over
        )
        self._head = head(self._recording.start_id)
        super().__init__(conf, door)

    def _begin(self) -> None:
        super()._begin()
        self._journal.follow(self._recording)

    def close_stream(self) -> None:
        """As soon as everything is written, unless too many calls go on without their clients then.

        Whoever reads it elsewhere by now is sent away likewise (LH-09).
        """
        recording = self._recording
        with self._putting:
            if self._is_closed:
                return
            if recording.is_broken:
                recording.parts = True
            else:
                head = self._take_head()
                if head:
                    self.stream.put(head)
                recording.on_saved = self._part
        self._journal.ring()

    def finish(self, answer: bytes | None) -> None:
        recording = self._recording
        with self._putting:
            if self._is_closed:  # given up before it could answer
                return
            self.close()
            recording.on_saved = None
            event_id = recording.end(answer)
        if recording.is_broken:
            self._journal.ring()
            return
        frame = self._take_head() + (sse.CANCELLED if answer is None else sse.event(answer, event_id))
        if self._journal.is_closing:
            recording.on_saved = partial(self.stream.finish, frame)
            self._loop.call_later(FLUSH_WITHIN, self.stream.finish, frame)
            self._journal.ring()
        else:
            self.stream.finish(frame)

    def drop(self) -> None:
        self._leave_off()
        self.stream.drop()
        self._journal.ring()

    def _leave_off(self) -> None:
        self._recording.is_broken = True

    def _put(self, message: Message) -> Backlog | None:
        data = encode(message)
        recording = self._recording
        with self._putting:
            if self._is_closed:
                return None
            event_id = recording.add(data)
            if recording.is_broken:
                return None
            self.stream.put(self._take_head() + sse.event(data, event_id))
        return self.stream.backlog

    def _take_head(self) -> bytes:
        """What the first event has in front of it."""
        head, self._head = self._head, b""
        return head

    def _part(self) -> None:
        """Everything is written, and what comes now will be."""
        if not detached_exchanges.adopt(self._door.task, self._conf.detached_calls):
            return
        with self._putting:
            self._recording.is_broken = True
        self.stream.part()

    def _hand_over(self) -> None:
        """The client has come back elsewhere, so nobody reads here any more."""
        with self._putting:
            if self._is_closed or self._recording.is_broken:
                return
            self._recording.is_broken = True
        self.stream.drop()
        self.stream.part()


class StdioOutbound(QueueingOutbound):
    """Lines for one call of a stdio process. After its cancellation nothing more is sent (STD-08)."""

    __slots__ = ("_backlog", "_give_up_call", "_send", "_task")

    def __init__(
        self, conf: MCPSettings, send: Callable[[bytes], None], backlog: Backlog, give_up: Callable[[], None]
    ) -> None:
        super().__init__(conf, asyncio.get_running_loop())
        self._send = send
        self._backlog = backlog
        self._give_up_call = give_up
        self._task: asyncio.Task[Any] | None = asyncio.current_task()

    def _put(self, message: Message) -> Backlog | None:
        if self._is_closed:
            return None
        # But for what takes back a question that belongs to it.
        if self._task is not None and self._task.cancelling() and message["method"] != "notifications/cancelled":
            return None
        self._send(encode(message))
        return self._backlog

    def _cut(self) -> None:
        self._give_up_call()
