"""The processes that others may have to do without: their names, and their signs of life.

Whether one is gone is judged by how often somebody has looked in vain, and by no clock: those of two machines may
differ, and while nobody can look, as when the database is away or all have slept, nobody can give a sign either.
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
    """Notices which of the others are gone. To be asked every ``BEAT`` seconds, or less often."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[datetime | None, int]] = {}

    def gone(self, beats: Mapping[str, datetime | None]) -> list[str]:
        """Those whose last sign of life is the same as it was the last ``SILENT`` times."""
        known = self._seen
        self._seen = {
            worker: (beat, seen[1] + 1) if (seen := known.get(worker)) is not None and seen[0] == beat else (beat, 0)
            for worker, beat in beats.items()
        }
        return [worker for worker, (_, times) in self._seen.items() if times >= SILENT]
