"""How often somebody may ask: an allowance for each key that refills with time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

BURST = 10.0  # seconds' worth that may be used at once
MOST = 10_000  # keys that are remembered


class RateLimit:
    """Kept in this process alone: a site with several workers allows as much in each."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[Hashable, tuple[float, float]] = {}

    def allows(self, key: Hashable, rate: int) -> bool:
        """Whether one more is within ``rate`` a second; if so it counts."""
        now = self._clock()
        with self._lock:
            used, since = self._used.pop(key, (0.0, now))
            used = max(0.0, used - (now - since) * rate)
            allowed = used + 1 <= rate * BURST
            self._used[key] = (used + 1 if allowed else used, now)
            if len(self._used) > MOST:
                del self._used[next(iter(self._used))]  # who has not asked for longest
        return allowed
