"""Hears PostgreSQL's NOTIFY on a connection and a thread of its own.

It is proved by a NOTIFY from another connection: a pooler between us and the server may let LISTEN through
and deliver nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from django.db import connections

from django_mcp.events.doorbells import CHANNEL

logger = logging.getLogger("django_mcp.events")

LISTEN_FOR = 30.0  # seconds, after which the connection is tried
PROOF_WITHIN = 2.0
_BACK_OFF = (0.1, 2.0)
# Half a minute after a network has swallowed the server, the kernel says so.
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class PostgresEar:
    """Calls ``ring`` whenever a publisher rings, and once after each new beginning."""

    def __init__(self, alias: str, ring: Callable[[], None]) -> None:
        self.hears = False
        self._alias = alias
        self._ring = ring
        self._over = threading.Event()
        self._raw: Any = None
        self._thread = threading.Thread(target=self._work, name="mcp-listen", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        raw = self._raw
        if raw is not None:
            with suppress(Exception):  # it may be gone already; psycopg has many words for that
                raw.close()

    def _work(self) -> None:
        pause, longest = _BACK_OFF
        while not self._over.is_set():
            try:
                self._listen()
                pause = _BACK_OFF[0]
            except Exception as error:  # noqa: BLE001 - whatever the driver raises, the poll goes on
                self.hears = False
                if not self._over.is_set():
                    logger.info("LISTEN failed, next try in %.1f s: %s", pause, error)
                self._over.wait(pause)
                pause = min(pause * 2, longest)
        self.hears = False

    def _listen(self) -> None:
        with _own_connection(self._alias) as connection:
            raw = self._raw = connection.connection
            if not _can_listen(raw):
                self._over.set()
                return
            raw.execute(f"LISTEN {CHANNEL}")
            self.hears = self._is_proved(raw)
            self._ring()
            while self.hears and not self._over.is_set():
                for _ in raw.notifies(timeout=LISTEN_FOR):
                    self._ring()
                raw.execute("SELECT 1")
        if not self.hears:
            self._over.wait(LISTEN_FOR)

    def _is_proved(self, raw: Any) -> bool:
        with _own_connection(self._alias) as other:
            other.connection.execute(f"NOTIFY {CHANNEL}")
        until = time.monotonic() + PROOF_WITHIN
        return any(True for _ in raw.notifies(timeout=until - time.monotonic(), stop_after=1))


def _can_listen(raw: Any) -> bool:
    return callable(getattr(raw, "notifies", None))  # a list of psycopg2's


@contextmanager
def _own_connection(alias: str) -> Iterator[Any]:
    """One that no pool knows and no transaction spoils."""
    connection = connections.create_connection(alias)
    options = {key: value for key, value in connection.settings_dict["OPTIONS"].items() if key != "pool"}
    connection.settings_dict = {**connection.settings_dict, "OPTIONS": {**_KEEPALIVES, **options}}
    with closing(connection):
        connection.ensure_connection()
        yield connection
