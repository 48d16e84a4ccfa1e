"""Rings and hears through a channel layer: a message without content, to one group of all processes.

Both live on one thread with an event loop of its own, so a publisher in a sync function, another loop or a
script need not care for the layer's connections.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from django_mcp.events import doorbells
from django_mcp.events.doorbells import CHANNEL
from django_mcp.running.threads import after_fork

logger = logging.getLogger("django_mcp.events")

GAP = 0.01  # seconds between two rings
REJOIN_AFTER = 3600.0  # a membership expires, by default after a day
AT_EXIT = 1.0  # seconds that a script's last ring gets
_BACK_OFF = (0.1, 2.0)
_RING = {"type": "django_mcp.ring"}


class _Loop:
    """A thread that runs coroutines."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, coroutine: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run it there; its ``concurrent.futures.Future``."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="mcp-layer", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(coroutine(), self._loop)


_loop = _Loop()
after_fork(_loop.forget)


class Sender:
    """Rings at most once every ``GAP`` seconds, however often it is asked."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._pending: Any = None
        self._last: Any = None

    def ring(self) -> None:
        with self._lock:
            if self._pending is None:
                self._pending = self._last = _loop.start(self._send)

    async def _send(self) -> None:
        try:
            await asyncio.sleep(GAP)
        finally:
            with self._lock:
                self._pending = None
        try:
            await doorbells.find_layer().group_send(CHANNEL, _RING)
        except Exception as error:  # noqa: BLE001 - events arrive with the next poll
            logger.info("The channel layer did not take a ring: %s", error)

    def finish(self) -> None:
        """Let what is on its way go out."""
        if self._last is not None:
            with suppress(Exception):  # the process ends anyhow
                self._last.result(AT_EXIT)


sender = Sender()
after_fork(sender.forget)
atexit.register(sender.finish)


class LayerEar:
    """Calls ``ring`` whenever a publisher rings, and once after each new beginning."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self.hears = False
        self._ring = ring
        self._task = _loop.start(self._work)

    def close(self) -> None:
        self.hears = False
        self._task.cancel()

    async def _work(self) -> None:
        pause, longest = _BACK_OFF
        while True:
            began = time.monotonic()
            try:
                await self._listen()
            except Exception as error:  # noqa: BLE001 - layers raise what they like; the poll goes on
                logger.info("The channel layer cannot be heard, next try in %.1f s: %s", pause, error)
            self.hears = False
            if time.monotonic() - began > longest:
                pause = _BACK_OFF[0]
            await asyncio.sleep(pause)
            pause = min(pause * 2, longest)

    async def _listen(self) -> None:
        layer = doorbells.find_layer()
        channel = await layer.new_channel()
        await layer.group_add(CHANNEL, channel)
        try:
            await layer.group_send(CHANNEL, _RING)  # what proves that it is heard
            rejoin = time.monotonic() + REJOIN_AFTER
            while (left := rejoin - time.monotonic()) > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(layer.receive(channel), left)
                    self.hears = True
                    self._ring()
        finally:
            with suppress(Exception):  # it expires by itself
                await layer.group_discard(CHANNEL, channel)
