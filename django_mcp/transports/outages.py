"""A database that is away: whoever tries again and again waits ever longer, and says so once."""

from __future__ import annotations

import logging

logger = logging.getLogger("django_mcp.http")

PAUSES = (0.1, 2.0)  # seconds between two tries: the first ones, and the longest


class Outage:
    """Of one who tries. ``trouble`` is what the log is told, ``relief`` when that is over."""

    def __init__(self, trouble: str, relief: str) -> None:
        self._trouble = trouble
        self._relief = relief
        self._pause = 0.0

    def failed(self, error: Exception) -> float:
        """How many seconds to wait before the next try."""
        shortest, longest = PAUSES
        if not self._pause:
            logger.warning("%s, which is tried again: %s", self._trouble, error)
        self._pause = min(longest, 2 * self._pause or shortest)
        return self._pause

    def succeeded(self) -> None:
        """Harmless where nothing had failed."""
        if self._pause:
            logger.info("%s", self._relief)
        self._pause = 0.0
