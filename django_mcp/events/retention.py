"""Removes what is over now and then, on the thread of the reader, so that no call has to.

``mcp_clear`` does it at once, and alone where no process reads the log.
"""

from __future__ import annotations

import logging
import random
import time

from django.db import Error

from django_mcp.events import call_streams, log
from django_mcp.pending import clear_pending
from django_mcp.running.threads import after_fork

logger = logging.getLogger("django_mcp.events")

EVERY = 300.0  # seconds


class Retention:
    """When this process does it next, however short its reader runs each time."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._next = time.monotonic() + random.uniform(0, EVERY)  # noqa: S311 - not all at once

    def see_to(self) -> None:
        """Called on the reader's thread."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        try:
            log.prune()
            call_streams.clear_streams()
            clear_pending()
        except Error as error:
            logger.warning("What is over was not removed: %s", error)


retention = Retention()
after_fork(retention.renew)
