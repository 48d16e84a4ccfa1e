"""How our rows are looked up, written and remembered.

Only digests of ids and tokens are stored; the value itself is shown once, to whoever gets it.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.db import Error, connections, models, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q
from django.utils import timezone

if TYPE_CHECKING:
    from django_mcp.models import AccessToken, Session  # noqa: F401  named in a string only

TOKEN_START = "mcp_"  # noqa: S105  what every token begins with, so that secret scanners know it
_SHOWN = 10
# SQLite before 3.32 takes 999 parameters a statement, and the row's own condition has some too.
MAX_BATCH = 900

logger = logging.getLogger("django_mcp")

M = TypeVar("M", bound=models.Model)
V = TypeVar("V")


def digest_of(secret: str) -> str:
    """What is stored of a session id or token. Both are random, so no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_token_value() -> tuple[str, str, str]:
    """A random token, what people may see of it, and what is stored of it."""
    value = TOKEN_START + secrets.token_urlsafe(32)
    return value, value[:_SHOWN], digest_of(value)


class SessionQuerySet(models.QuerySet["Session"]):
    def over(self, *, now: datetime, idle_since: datetime) -> SessionQuerySet:
        """Sessions that are too old, or were last used before ``idle_since``."""
        return self.filter(Q(expires__lte=now) | Q(last_seen__lte=idle_since))


class AccessTokenManager(models.Manager["AccessToken"]):
    def issue(self, user: Any, name: str = "", expires: datetime | None = None) -> tuple[AccessToken, str]:
        """A new token for ``user`` and its value, which nobody can read again afterwards.

        Without ``expires`` it is good until it is revoked.
        """
        token = self.model(user=user, name=name, created=timezone.now(), expires=expires)
        value = token.set_new_value()
        token.save(using=router.db_for_write(self.model))
        return token, value

    def find(self, value: str) -> AccessToken | None:
        """The token with this value, usable or not, with its user."""
        rows = self.using(router.db_for_write(self.model)).select_related("user")
        return rows.filter(digest=digest_of(value)).first()

    def clear(self, *, expired_before: datetime, batch_size: int) -> int:
        """Remove tokens that expired before this time; how many there were."""
        rows = self.using(router.db_for_write(self.model)).filter(expires__lt=expired_before)
        return delete_in_batches(rows, batch_size)


def write_quietly(rows: models.QuerySet[Any], **values: Any) -> int:
    """One UPDATE of book-keeping: never waits for another writer, never fails or spoils the call.

    Returns the number of rows written, 0 where it was left for the next time.
    """
    connection = connections[rows.db]
    try:
        with without_waiting(connection), transaction.atomic(using=rows.db):
            if _can_skip_locked(connection) and not _lock(rows):
                return 0
            return rows.update(**values)
    except Error as error:
        logger.warning("%s not updated: %s", rows.model._meta.label, error)
        return 0


def delete_in_batches(rows: models.QuerySet[M], batch_size: int) -> int:
    """Delete ``rows``, a transaction each batch. Leaves what someone else is working on.

    Returns the number of rows deleted.
    """
    connection = connections[rows.db]
    size = min(batch_size, MAX_BATCH)
    removed, left = 0, rows
    while batch := _keys(left.order_by("pk")[:size]):
        left = rows.filter(pk__gt=batch[-1])
        removed += _delete(rows.filter(pk__in=batch), connection)
    return removed


def _delete(rows: models.QuerySet[Any], connection: BaseDatabaseWrapper) -> int:
    if _can_skip_locked(connection):
        with transaction.atomic(using=rows.db):
            _, counts = rows.filter(pk__in=_lock(rows)).delete()
    else:
        # No transaction around it: on SQLite a read that turns into a write there can fail.
        _, counts = rows.delete()
    return counts.get(rows.model._meta.label, 0)


def _keys(rows: models.QuerySet[Any]) -> list[Any]:
    return list(rows.values_list("pk", flat=True))


def _lock(rows: models.QuerySet[Any]) -> list[Any]:
    return _keys(rows.select_for_update(skip_locked=True))


def _can_skip_locked(connection: BaseDatabaseWrapper) -> bool:
    return connection.features.has_select_for_update_skip_locked


@contextmanager
def without_waiting(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """SQLite has one writer, and waits for it by default for five seconds."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    raw = connection.connection
    (patience,) = raw.execute("PRAGMA busy_timeout").fetchone()
    raw.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        raw.execute(f"PRAGMA busy_timeout = {patience}")


class Recent(Generic[V]):
    """Values remembered for a moment, at most ``limit`` of them, by any thread of this process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: dict[str, tuple[float, V]] = {}
        self._lock = Lock()

    def get(self, key: str, max_age: float) -> V | None:
        """The value, unless it was put in ``max_age`` seconds ago or earlier."""
        entry = self._values.get(key)
        if entry is None or time.monotonic() - entry[0] >= max_age:
            return None
        return entry[1]

    def put(self, key: str, value: V, alias: str) -> None:
        """Remember what was read on ``alias``, unless it may yet be rolled back."""
        if connections[alias].in_atomic_block:
            return
        with self._lock:
            self._values.pop(key, None)
            while len(self._values) >= self._limit:
                del self._values[next(iter(self._values))]
            self._values[key] = (time.monotonic(), value)

    def forget(self, key: str) -> None:
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
