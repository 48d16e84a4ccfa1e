"""Having the log read, for as long as somebody wants to hear of its entries."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from django_mcp.events.kinds import Entry
from django_mcp.events.tail import Take, reader


def _take(entries: Sequence[Entry]) -> None:
    """The callbacks have heard of them already."""


class Attention:
    """Has the reader run, and give its entries to *take*; without it, for one who hears of them by ``on``.

    Good for one time.
    """

    __slots__ = ("_is_over", "_lock", "_take", "is_held", "start")

    def __init__(self, take: Take = _take) -> None:
        self._take = take
        self.start = 0  # every entry above this number is heard of
        self._lock = threading.Lock()
        self._is_over = False
        self.is_held = False

    def begin(self) -> None:
        """Every entry from now on is heard of. Reads the database; raises ``django.db.Error``. Harmless once held."""
        if self.is_held:
            return
        self.start = reader.attach(self._hear)
        with self._lock:
            self.is_held = not self._is_over
        if not self.is_held:
            reader.detach(self._hear)

    def end(self) -> None:
        """May be called on any thread, and while another one begins."""
        with self._lock:
            self._is_over = True
            was_held, self.is_held = self.is_held, False
        if was_held:
            reader.detach(self._hear)

    def _hear(self, entries: Sequence[Entry]) -> None:
        if not self._is_over:  # by now another one may have begun to hear in its place
            self._take(entries)
