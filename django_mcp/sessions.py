"""Legacy sessions as rows: any worker knows them, and each belongs to one server and principal.

A session id is no credential (SEC-01): one that belongs to somebody else is as unknown as one that
never was (SEC-03). A session ends ``SESSION_AGE`` after it began, or when it was idle for
``SESSION_IDLE``. Use is noted at most every ``touch_interval()``, and an idle session is given that
much longer, so one in use never ends early.

These functions are sync and run in the store pool.
"""

from __future__ import annotations

import json
import logging
import math
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth import get_user_model
from django.db import Error, connections, router
from django.db.models import Min
from django.utils import timezone

from django_mcp.auth.base import ANONYMOUS
from django_mcp.conf import mcp_settings
from django_mcp.events.legacy import announce_end, announce_initialized
from django_mcp.managers import (
    MAX_BATCH,
    Recent,
    SessionQuerySet,
    delete_in_batches,
    digest_of,
    write_quietly,
)
from django_mcp.protocol.errors import invalid_params
from django_mcp.protocol.versions import Revision
from django_mcp.server.call import Caller, SessionState

if TYPE_CHECKING:
    from django_mcp.models import Session

logger = logging.getLogger("django_mcp")

# What a client may make us keep about itself.
MAX_CLIENT_BYTES = 64 * 1024

_SESSION_ID = re.compile(r"[\x21-\x7e]{1,128}")  # LH-29
# Text that PostgreSQL cannot store.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class SessionLimit(Exception):
    """No room for another anonymous session. ``retry_after`` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"Too many anonymous sessions, try again in {retry_after} s")
        self.retry_after = retry_after


class _Row(NamedTuple):
    pk: int
    server: str
    principal: str
    revision: str
    client_info: dict[str, Any]
    client_capabilities: dict[str, Any]
    log_level: str
    initialized: bool
    last_seen: datetime
    expires: datetime


_recent: Recent[_Row] = Recent(10_000)
# Servers that had no room a moment ago, so that turning a flood away costs no queries.
_full: Recent[int] = Recent(100)


def open_session(
    *,
    server: str,
    caller: Caller,
    revision: Revision,
    client_info: dict[str, Any],
    client_capabilities: dict[str, Any],
) -> str:
    """A new session's id, which is not stored. Raises ``SessionLimit`` if there is no room."""
    if len(json.dumps([client_info, client_capabilities])) > MAX_CLIENT_BYTES:
        raise invalid_params(f"clientInfo and capabilities are larger than {MAX_CLIENT_BYTES} bytes")
    now = timezone.now()
    _make_room(server, caller.principal, now)
    session_id = secrets.token_urlsafe(32)
    _rows().create(
        digest=digest_of(session_id),
        server=server,
        principal=caller.principal,
        user=caller.user if isinstance(caller.user, get_user_model()) else None,
        revision=str(revision),
        client_info=_storable(client_info),
        client_capabilities=_storable(client_capabilities),
        created=now,
        last_seen=now,
        expires=now + timedelta(seconds=mcp_settings().session_age),
    )
    return session_id


def find_session(*, server: str, principal: str, session_id: str) -> SessionState | None:
    """The session as this request sees it; ``None`` unless it is alive and this principal's own."""
    now = timezone.now()
    row = _find(server, principal, session_id, now)
    revision = None if row is None else Revision.find(row.revision)
    if row is None or revision is None:
        return None
    if _note_use(row.pk, row.last_seen, now):
        _recent.clear()
    return SessionState(
        pk=row.pk,
        server=row.server,
        principal=row.principal,
        revision=revision,
        client_info=row.client_info,
        client_capabilities=row.client_capabilities,
        log_level=row.log_level or None,
        initialized=row.initialized,
    )


def close_session(*, server: str, principal: str, session_id: str) -> bool:
    """End a session; false if there is none to end."""
    row = _find(server, principal, session_id, timezone.now())
    if row is None:
        return False
    rows = _rows().filter(pk=row.pk)
    announce_end(row.pk)
    _, counts = rows.delete()
    clear_session_cache()
    return bool(counts.get(rows.model._meta.label))


def touch_session(state: SessionState) -> bool:
    """Note that a session is still in use; false if it is gone or too old.

    Whoever keeps a call or stream open calls this every ``touch_interval()`` and at its end, since
    idle time counts from there. Writes nothing if the last note is recent.
    """
    now = timezone.now()
    row = _rows().filter(pk=state.pk).values_list("last_seen", "expires").first()
    if row is None or row[1] <= now:
        return False
    if _note_use(state.pk, row[0], now):
        _recent.clear()
    return True


def touch_sessions(keys: Sequence[int]) -> set[int]:
    """Note that all of these are in use; those that are neither gone nor too old."""
    now = timezone.now()
    long_ago = now - timedelta(seconds=touch_interval())
    alive: set[int] = set()
    for start in range(0, len(keys), MAX_BATCH):
        rows = _rows().filter(pk__in=keys[start : start + MAX_BATCH], expires__gt=now)
        found = dict(rows.values_list("pk", "last_seen"))
        alive |= set(found)
        idle = [pk for pk, last_seen in found.items() if last_seen <= long_ago]
        if idle and write_quietly(_rows().filter(pk__in=idle, last_seen__lte=long_ago), last_seen=now):
            _recent.clear()
    return alive


def touch_interval() -> float:
    """How often, in seconds, the use of a session is noted."""
    return min(60.0, mcp_settings().session_idle / 10)


def set_log_level(state: SessionState, level: str) -> None:
    _rows().filter(pk=state.pk).update(log_level=level)
    _recent.clear()


def mark_initialized(state: SessionState) -> None:
    if not state.initialized:
        _rows().filter(pk=state.pk).update(initialized=True)
        _recent.clear()
        announce_initialized(state.pk)


def clear_expired(batch_size: int = 500) -> int:
    """Remove the sessions that are over. Safe to run twice at once."""
    now = timezone.now()
    return delete_in_batches(_rows().over(now=now, idle_since=_idle_since(now)), batch_size)


def clear_session_cache() -> None:
    """Forget the sessions that ``SESSION_CACHE`` remembers, and which servers are full."""
    _recent.clear()
    _full.clear()


@cache
def _model() -> type[Session]:
    # Models cannot be imported before the apps are ready.
    from django_mcp.models import Session

    return Session


def _alias() -> str:
    return router.db_for_write(_model())


def _rows() -> SessionQuerySet:
    return _model().objects.using(_alias())


def _find(server: str, principal: str, session_id: str, now: datetime) -> _Row | None:
    if not _SESSION_ID.fullmatch(session_id):
        return None
    digest = digest_of(session_id)
    row = _recent.get(digest, mcp_settings().session_cache) or _read(digest)
    # Compared here, since MariaDB takes "user:Ann" and "user:ann" for the same.
    if row is None or (row.server, row.principal) != (server, principal):
        return None
    return row if row.expires > now and row.last_seen > _idle_since(now) else None


def _read(digest: str) -> _Row | None:
    alias = _alias()
    select = _select(alias)
    with connections[alias].cursor() as cursor:
        cursor.execute(select.sql, [digest])
        found = cursor.fetchone()
    if found is None:
        return None
    row = _Row._make(select.convert(found))
    if mcp_settings().session_cache:
        _recent.put(digest, row, alias)
    return row


class _Select(NamedTuple):
    sql: str
    convert: Callable[[tuple[Any, ...]], Iterable[Any]]


@cache
def _select(alias: str) -> _Select:
    """The SELECT of every legacy request. Compiling it takes Django seven times as long as running it."""
    query = _rows().using(alias).filter(digest="").values_list(*_Row._fields).query
    compiler = query.get_compiler(alias)
    sql, _params = compiler.as_sql()
    converters = compiler.get_converters([column for column, *_rest in compiler.select])
    return _Select(sql, lambda row: next(iter(compiler.apply_converters([row], converters))))


def _idle_since(now: datetime) -> datetime:
    return now - timedelta(seconds=mcp_settings().session_idle + touch_interval())


def _note_use(pk: int, last_seen: datetime, now: datetime) -> bool:
    long_ago = now - timedelta(seconds=touch_interval())
    if last_seen > long_ago:
        return False
    return bool(write_quietly(_rows().filter(pk=pk, last_seen__lte=long_ago), last_seen=now))


def _make_room(server: str, principal: str, now: datetime) -> None:
    """Keep a principal below its cap. Two processes may overshoot it a little for a moment."""
    settings = mcp_settings()
    anonymous = principal == ANONYMOUS
    if anonymous and (wait := _full.get(server, 1.0)) is not None:
        raise SessionLimit(wait)
    owned = _rows().filter(server=server, principal=principal)
    cap = settings.anonymous_sessions if anonymous else settings.sessions_per_user
    surplus = owned.count() + 1 - cap
    if surplus <= 0:
        return
    removable = owned
    if anonymous:
        removable = owned.filter(created__lte=now - timedelta(seconds=settings.session_min_age))
    idlest = removable.order_by("last_seen").values_list("pk", flat=True)
    victims = list(idlest[: min(surplus, MAX_BATCH)])
    if anonymous and not victims:
        wait = _retry_after(owned, now)
        _full.put(server, wait, owned.db)
        raise SessionLimit(wait)
    _evict(owned.filter(pk__in=victims))


def _retry_after(owned: SessionQuerySet, now: datetime) -> int:
    oldest = owned.aggregate(oldest=Min("created"))["oldest"] or now
    grown = oldest + timedelta(seconds=mcp_settings().session_min_age)
    return max(1, math.ceil((grown - now).total_seconds()))


def _evict(rows: SessionQuerySet) -> None:
    """A session too many does less harm than a client that cannot come in."""
    try:
        delete_in_batches(rows, MAX_BATCH)
    except Error as error:
        logger.warning("Idle sessions not removed: %s", error)
    _recent.clear()


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value
