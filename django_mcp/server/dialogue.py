"""What goes back and forth with the client while one call runs.

``Outbound`` is the only way up to the client. Where nothing can be sent, ``NO_OUTBOUND`` stands in, so
nobody who sends asks how the call came in.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from django_mcp.server.answers import Answers

Message = dict[str, Any]


class Outbound(Protocol):
    """Sends messages that belong to one call, from any thread, until the call has its answer.

    With ``may_wait`` the sender is held back while the client is slow. A message that comes too late is dropped.
    """

    @property
    def can_send(self) -> bool:
        """Whether the client would get what is sent now."""

    def notify(self, message: Message, *, may_wait: bool) -> None: ...

    async def anotify(self, message: Message, *, may_wait: bool) -> None: ...

    def close_stream(self) -> None:
        """Send the client away for a while, where it knows how to come back for the rest (LH-09)."""


class NoOutbound:
    """The client gets nothing but the answer: WSGI, or an ``Accept`` without streams."""

    can_send = False

    def notify(self, message: Message, *, may_wait: bool) -> None:
        """Drop the message."""

    async def anotify(self, message: Message, *, may_wait: bool) -> None:
        """Drop the message."""

    def close_stream(self) -> None:
        """There is none."""


NO_OUTBOUND = NoOutbound()


class Dialogue:
    """What was said in one call. It outlives the runs of a function that asks the client."""

    __slots__ = ("_logged", "_replayed", "answers", "progress")

    def __init__(self) -> None:
        self.answers = Answers()
        # The last value that was sent
        self.progress: float | None = None
        self._logged: Counter[bytes] | None = None
        self._replayed: Counter[bytes] | None = None

    def is_new(self, entry: bytes) -> bool:
        """Whether a log message was not sent by an earlier run already."""
        if self._replayed is not None and self._replayed[entry] > 0:
            self._replayed[entry] -= 1
            return False
        if self._logged is None:
            self._logged = Counter()
        self._logged[entry] += 1
        return True

    @property
    def is_rerun(self) -> bool:
        return self._replayed is not None

    def run_again(self) -> None:
        """From here on the function repeats itself, and the client has heard its beginning."""
        self._replayed = Counter(self._logged)
