"""The processes that others may have to do without: their names, and their signs of life.

Whether one is gone is judged by the reader's own clock: clocks of two machines may differ, and both may have slept.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime

from django.utils import timezone

from django_mcp.events.numbering import log_alias
from django_mcp.running.threads import after_fork

BEAT = 10.0  # seconds between two signs of life of a process that has GET streams
SILENT = 4  # beats without a sign of life, after which a worker is taken for dead


class _Identity:
    """The name under which this process is known to others."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.key = secrets.token_hex(8)


this = _Identity()
after_fork(this.renew)


def beat(worker: str) -> None:
    """Write a sign of life. Raises ``django.db.Error``."""
    from django_mcp.models import Worker

    now = timezone.now()
    rows = Worker.objects.using(log_alias())
    if not rows.filter(pk=worker).update(beat=now):
        rows.create(pk=worker, beat=now)


def beats(workers: Collection[str]) -> dict[str, datetime | None]:
    """The last sign of life of each; ``None`` where there is none."""
    from django_mcp.models import Worker

    found = dict(Worker.objects.using(log_alias()).filter(pk__in=workers).values_list("key", "beat"))
    return {worker: found.get(worker) for worker in workers}


class Watch:
    """Notices which of the others are gone."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[datetime | None, float]] = {}

    def gone(self, beats: Mapping[str, datetime | None], now: float) -> list[str]:
        """Those whose last sign of life has been the same for ``SILENT`` beats (``time.monotonic()``)."""
        known = self._seen
        self._seen = {
            worker: seen if (seen := known.get(worker)) is not None and seen[0] == beat else (beat, now)
            for worker, beat in beats.items()
        }
        return [worker for worker, (_, since) in self._seen.items() if now - since >= SILENT * BEAT]
