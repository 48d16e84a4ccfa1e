"""``on_commit()`` inside Django's ``TestCase``, whose transaction never commits."""

from __future__ import annotations

import logging
from typing import Any

from django.db import connections

logger = logging.getLogger("django_mcp.testing")

Marks = dict[str, int]


def mark_commit_hooks() -> Marks:
    """How many hooks wait on each connection of this thread."""
    return {one.alias: len(one.run_on_commit) for one in connections.all(initialized_only=True)}


def run_commit_hooks(marks: Marks) -> None:
    """Run, and take away, what was registered since, where only the test's own transaction is open.

    Without it the hooks would have run at the end of the call. One that fails is logged, as it is then.
    """
    connection: Any  # much of what follows has no stubs
    for connection in connections.all(initialized_only=True):
        blocks = connection.atomic_blocks
        if not blocks or not all(block._from_testcase for block in blocks):
            continue
        begin = marks.get(connection.alias, 0)
        while waiting := connection.run_on_commit[begin:]:
            del connection.run_on_commit[begin:]
            for _savepoints, hook, robust in waiting:
                try:
                    hook()
                except Exception:
                    if not robust:
                        raise
                    logger.exception("An on_commit hook failed; the call stays committed")
