"""What a function may tell the client while it runs, and how it learns that nobody waits any more."""

from __future__ import annotations

import hashlib
import logging
import math
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.exceptions import CallCancelled
from django_mcp.primitives.jsonable import to_jsonable
from django_mcp.protocol.envelope import LOG_LEVELS
from django_mcp.protocol.jsonrpc import encode, notification_message
from django_mcp.protocol.notifications import elicitation_complete

if TYPE_CHECKING:
    from django_mcp.server.call import Call

logger = logging.getLogger("django_mcp.server")

# What a legacy session gets that has set no level (LOG-02)
DEFAULT_LEVEL = "info"


class Running(Protocol):
    """The call of the site's code that a context belongs to."""

    @property
    def is_cancelled(self) -> bool: ...

    @property
    def holds_transaction(self) -> bool: ...

    @property
    def is_undone(self) -> bool:
        """Whether what the function writes is undone when it stops."""

    @property
    def waits_inline(self) -> bool:
        """Whether the function waits for answers where it stands."""

    def pausing(self) -> AbstractAsyncContextManager[None]:
        """While a person is waited for: no time passes and nothing is held. Raises where there is a transaction."""


class Notifying:
    """The part of ``Context`` that sends notifications. May be used on any thread."""

    _call: Call
    _running: Running | None = None

    def attach(self, running: Running | None) -> None:
        """The function starts, or has ended (``None``). Called by the runner, for each run."""
        self._running = running

    @property
    def cancelled(self) -> bool:
        """Whether the call was given up: by its client, its time limit or the end of the process."""
        return self._running is not None and self._running.is_cancelled

    def raise_if_cancelled(self) -> None:
        """Stop here if nobody waits for the result any more. For synchronous code, which nothing else stops."""
        if self.cancelled:
            raise CallCancelled

    def report_progress(self, progress: float, total: float | None = None, message: Any = None) -> None:
        """Tell the client how far the call is (PRG-01). Does nothing if it did not ask.

        A ``progress`` that is not above the last one is dropped (PRG-02). Raises ``ValueError`` for what
        is no number, and ``CallCancelled`` once the call was given up.
        """
        if (notice := self._progress(progress, total, message)) is not None:
            self._call.outbound.notify(notice, may_wait=self._may_wait)

    async def areport_progress(self, progress: float, total: float | None = None, message: Any = None) -> None:
        """``report_progress`` for async code, which may have to wait for a slow client."""
        if (notice := self._progress(progress, total, message)) is not None:
            await self._call.outbound.anotify(notice, may_wait=self._may_wait)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants messages of this level (LOG-04).

        ``data`` is a text or any value that can be written as JSON. Raises ``ValueError`` for a level that
        the protocol does not have, and ``CallCancelled`` once the call was given up.
        """
        if (notice := self._log(level, data, logger)) is not None:
            self._call.outbound.notify(notice, may_wait=self._may_wait)

    async def alog(self, level: str, data: Any, logger: str | None = None) -> None:
        """``log`` for async code, which may have to wait for a slow client."""
        if (notice := self._log(level, data, logger)) is not None:
            await self._call.outbound.anotify(notice, may_wait=self._may_wait)

    def notify_elicitation_complete(self, elicitation_id: str) -> None:
        """Tell a client of 2025-11-25 that a page is done with whose question was built by hand (ELI-09)."""
        if (notice := self._complete(elicitation_id)) is not None:
            self._call.outbound.notify(notice, may_wait=self._may_wait)

    async def anotify_elicitation_complete(self, elicitation_id: str) -> None:
        """``notify_elicitation_complete`` for async code."""
        if (notice := self._complete(elicitation_id)) is not None:
            await self._call.outbound.anotify(notice, may_wait=self._may_wait)

    def close_sse_stream(self) -> None:
        """Let the client hang up and come back: for a call that takes long, and would hold a connection meanwhile.

        What is sent from now on, and the answer, wait for the client, which asks for them after two seconds and
        then reads the stream again. Does nothing where a client cannot do that: before 2025-11-25, in the modern
        era, where the answer is JSON, and over stdio (LH-09, SEP-1699); nor while ``DETACHED_CALLS`` are without
        their clients. Raises ``CallCancelled`` once the call was given up.
        """
        self.raise_if_cancelled()
        self._call.outbound.close_stream()

    async def aclose_sse_stream(self) -> None:
        """``close_sse_stream`` for async code."""
        self.close_sse_stream()

    def wants_log(self, level: str) -> bool:
        """Whether a message of this level would be sent. A modern client says so in each request (LOG-03)."""
        rank = _rank(level)
        envelope = self._call.envelope
        least = envelope.log_level or (None if envelope.revision.is_modern else DEFAULT_LEVEL)
        return least is not None and rank >= _rank(least)

    @property
    def _may_wait(self) -> bool:
        """Nobody's lock is held longer because a client reads slowly."""
        return self._running is None or not self._running.holds_transaction

    def _complete(self, elicitation_id: str) -> dict[str, Any] | None:
        self.raise_if_cancelled()
        revision = self._call.revision
        return elicitation_complete(elicitation_id) if revision.has_form_modes and not revision.is_modern else None

    def _progress(self, progress: float, total: float | None, message: Any) -> dict[str, Any] | None:
        _check_number("progress", progress)
        if total is not None:
            _check_number("total", total)
        self.raise_if_cancelled()
        call = self._call
        token = call.envelope.progress_token
        if token is None:
            return None
        if not self._advance(progress):
            return None
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and call.revision.has_progress_message:
            params["message"] = str(message)
        return notification_message("notifications/progress", params)

    def _advance(self, progress: float) -> bool:
        dialogue = self._call.dialogue
        last = dialogue.progress
        if last is not None and progress <= last:
            if not dialogue.is_rerun:
                logger.debug("Progress %s is not above %s and was not sent", progress, last)
            return False
        dialogue.progress = progress
        return True

    def _log(self, level: str, data: Any, name: str | None) -> dict[str, Any] | None:
        is_wanted = self.wants_log(level)
        self.raise_if_cancelled()
        if not is_wanted:
            return None
        call = self._call
        params: dict[str, Any] = {"level": level}
        if name is not None:
            params["logger"] = name
        params["data"] = to_jsonable(data, call.server.services.jsonable)
        if not call.dialogue.is_new(hashlib.sha256(encode(params)).digest()):
            return None
        return notification_message("notifications/message", params)


def _rank(level: str) -> int:
    try:
        return LOG_LEVELS.index(level)
    except ValueError:
        raise ValueError(f"The log level {level!r} is unknown: it is one of {', '.join(LOG_LEVELS)}.") from None


def _check_number(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} was given {value!r}. It is a finite number: write context.report_progress(3, 10).")
