"""Having the log read for something other than a stream."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from django_mcp.events.kinds import Entry
from django_mcp.events.tail import reader


class Attention:
    """Has the reader run for one who hears of entries by ``on``. Good for one time."""

    __slots__ = ("_is_over", "_lock", "is_held")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_over = False
        self.is_held = False

    def begin(self) -> None:
        """Every entry from now on is heard of. Reads the database; raises ``django.db.Error``. Harmless once held."""
        if self.is_held:
            return
        reader.attach(_take)
        with self._lock:
            self.is_held = not self._is_over
        if not self.is_held:
            reader.detach(_take)

    def end(self) -> None:
        """May be called on any thread, and while another one begins."""
        with self._lock:
            self._is_over = True
            was_held, self.is_held = self.is_held, False
        if was_held:
            reader.detach(_take)


def _take(entries: Sequence[Entry]) -> None:
    """The callbacks have heard of them already."""
