"""Questions on a legacy call's own stream, and the calls that wait for the replies (S2C-02, S2C-04).

A waiting call is a task and nothing else. One look at the rows serves all that wait in a loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.db import Error, connections

from django_mcp.conf import mcp_settings
from django_mcp.events import doorbells
from django_mcp.events.attention import Attention
from django_mcp.events.numbering import log_alias
from django_mcp.pending import close_requests, open_requests, read_replies, take_reply
from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.jsonrpc import Reply, notification_message
from django_mcp.running import run_store, write_store
from django_mcp.running.loops import PerLoop
from django_mcp.server.askers import GONE, TIMED_OUT, DirectAsker
from django_mcp.server.call import Call, SessionState
from django_mcp.transports.outages import Outage

logger = logging.getLogger("django_mcp.http")

LOOK_EVERY = 0.1  # seconds, unless somebody rings


class Waiting:
    """The questions of one event loop that have no reply yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._futures: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._rung = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def ring(self) -> None:
        """There is something new. May be called on any thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._rung.set)

    def expect(self, ref: str) -> asyncio.Future[dict[str, Any]]:
        future = self._futures[ref] = self._loop.create_future()
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._look())
        return future

    def expects(self, ref: str) -> bool:
        return ref in self._futures

    def forget(self, ref: str) -> None:
        self._futures.pop(ref, None)
        self._rung.set()  # where it was the last one, nobody has to look any more

    async def _look(self) -> None:
        attention = Attention()
        reading = Outage("Replies cannot be read", "Replies are read again")
        hearing = Outage("Nobody can ring for replies", "Replies can be rung for again")
        silence = doorbells.on_ring(self.ring)
        try:
            while self._futures:
                self._rung.clear()
                pause = await self._look_once(reading)
                # Who answers at once, as programs do, does not make this process listen for bells.
                if not await self._rings(pause) and not attention.is_held:
                    await _begin(attention, hearing)
        finally:
            silence()
            attention.end()

    async def _look_once(self, outage: Outage) -> float:
        """After how many seconds it is time for the next look."""
        refs = list(self._futures)
        try:
            self._hand_out(refs, await run_store(read_replies, refs))
        except Error as error:
            return outage.failed(error)
        outage.succeeded()
        return mcp_settings().poll_interval or LOOK_EVERY

    async def _rings(self, pause: float) -> bool:
        """Whether somebody rang before it was time to look anyway."""
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                return await self._rung.wait()
        return False

    def _hand_out(self, refs: list[str], found: Mapping[str, dict[str, Any] | None]) -> None:
        for ref in refs:
            future = self._futures.get(ref)
            if future is None or future.done():
                continue
            if ref not in found:
                future.set_result(GONE)
            elif (reply := found[ref]) is not None:
                future.set_result(reply)


async def _begin(attention: Attention, outage: Outage) -> None:
    try:
        await run_store(attention.begin)
    except Error as error:  # without the bell of other processes, the next look finds the reply
        outage.failed(error)
    else:
        outage.succeeded()


_waiting = PerLoop(Waiting)


def waiting_here() -> Waiting:
    return _waiting.of(asyncio.get_running_loop())


async def receive_reply(session: SessionState, reply: Reply) -> None:
    """A client has replied to a question of ours, or of nobody: then it is dropped (RPC-27).

    Who waits in another process is rung: it gets nothing but the hint to look.
    """
    is_taken = await write_store(take_reply, session.pk, reply.id, content_of(reply))
    if is_taken and not ring_here(str(reply.id)):
        await run_store(_ring_everywhere)


def _ring_everywhere() -> None:
    try:
        doorbells.ring_for_rows(connections[log_alias()])
    except Error as error:  # who waits looks all the same
        logger.warning("Nobody was rung for a reply: %s", error)


def ring_here(ref: str) -> bool:
    """Let the call of this process that waits for this reply look for it; whether there is one."""
    found = [waiting for waiting in tuple(_waiting.values()) if waiting.expects(ref)]
    for waiting in found:
        waiting.ring()
    return bool(found)


class RowCourier:
    """Carries questions to the client of a legacy session, and the replies back from any worker."""

    async def carry(self, call: Call, requests: Mapping[str, dict[str, Any]], seconds: float) -> dict[str, Any]:
        session = call.session
        assert session is not None  # noqa: S101 - every legacy call has one
        if not await write_store(open_requests, session.pk, list(requests), seconds):
            return dict.fromkeys(requests, GONE)
        waiting = waiting_here()
        futures = {ref: waiting.expect(ref) for ref in requests}
        try:
            return await deliver(call, requests, futures, seconds)
        finally:
            for ref in requests:
                waiting.forget(ref)
            await asyncio.shield(_close(list(requests)))

    async def wait_for_pages(self, refs: list[str], seconds: float) -> dict[str, Any]:
        return await wait_for_pages(refs, seconds)


async def _close(refs: list[str]) -> None:
    try:
        await write_store(close_requests, refs)
    except Error as error:  # they expire, and the replies are as good as ever
        logger.warning("A question was not removed: %s", error)


class StdioCourier:
    """The same over stdio, where the replies can come to nobody else (S202)."""

    def __init__(self) -> None:
        self._futures: dict[Any, asyncio.Future[dict[str, Any]]] = {}

    def receive(self, reply: Reply) -> None:
        """A reply to a question nobody asked is dropped (RPC-27)."""
        future = self._futures.get(reply.id)
        if future is not None and not future.done():
            future.set_result(content_of(reply))

    async def carry(self, call: Call, requests: Mapping[str, dict[str, Any]], seconds: float) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        futures: dict[str, asyncio.Future[dict[str, Any]]] = {ref: loop.create_future() for ref in requests}
        self._futures.update(futures)
        try:
            return await deliver(call, requests, futures, seconds)
        finally:
            for ref in futures:
                del self._futures[ref]

    async def wait_for_pages(self, refs: list[str], seconds: float) -> dict[str, Any]:
        """Pages are opened in a browser, so their answers come to another process."""
        return await wait_for_pages(refs, seconds)


async def wait_for_pages(refs: list[str], seconds: float) -> dict[str, Any]:
    """What the rows of these pages say, once each has an answer or time is up."""
    if not refs:
        return {}
    waiting = waiting_here()
    futures = {ref: waiting.expect(ref) for ref in refs}
    try:
        await asyncio.wait(futures.values(), timeout=seconds)
    finally:
        for ref in refs:
            waiting.forget(ref)
    return {ref: future.result() if future.done() else TIMED_OUT for ref, future in futures.items()}


def announce_reply(ref: str) -> None:
    """A reply was committed. For synchronous code: call it where the connection may be used."""
    if not ring_here(ref):
        _ring_everywhere()


def content_of(reply: Reply) -> Any:
    """The result, or the error in its place."""
    return reply.result if reply.error is ABSENT else {"error": reply.error}


async def deliver(
    call: Call, requests: Mapping[str, dict[str, Any]], futures: Mapping[str, asyncio.Future[Any]], seconds: float
) -> dict[str, Any]:
    """Send the questions and wait for the replies. Who is given up on is told so (CAN-08, S156, S167)."""
    try:
        for ref, wire in requests.items():
            await call.outbound.anotify({"jsonrpc": "2.0", "id": ref, **wire}, may_wait=True)
        async with asyncio.timeout(seconds):
            await asyncio.wait(futures.values())
    except TimeoutError:
        _withdraw(call, futures, "No reply came in time")
    except asyncio.CancelledError:
        _withdraw(call, futures, "The request that this belongs to was cancelled")
        raise
    return {ref: future.result() if future.done() else TIMED_OUT for ref, future in futures.items()}


def _withdraw(call: Call, futures: Mapping[str, asyncio.Future[Any]], reason: str) -> None:
    for ref, future in futures.items():
        if not future.done():
            params = {"requestId": ref, "reason": reason}
            call.outbound.notify(notification_message("notifications/cancelled", params), may_wait=False)


HTTP_ASKER = DirectAsker(RowCourier())
