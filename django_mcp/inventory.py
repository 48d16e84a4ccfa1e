"""The rows of what is registered, kept in step with the registries.

Several processes may do it at once, also those of two versions of a site: what one does not know has
vanished for it, which marks the row and changes no switch.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from django.apps import apps
from django.db import connections, router
from django.utils import timezone

from django_mcp.managers import MAX_BATCH, digest_of
from django_mcp.primitives.base import Primitive
from django_mcp.registry import Kind
from django_mcp.running import write_later
from django_mcp.server.server import Server

logger = logging.getLogger("django_mcp")

# Seconds until it is tried again after a failure.
RETRY_AFTER = 60.0

# The version of each server's registry that the rows were brought in step with by this process.
_in_step: dict[Server, int] = {}
# When the next try is due where the last one failed.
_due: dict[Server, float] = {}


class Changes(NamedTuple):
    """How many rows were new, came back after they had vanished, vanished, and stayed."""

    added: int
    returned: int
    vanished: int
    stayed: int


def rows() -> Any:
    """Those of ``RegisteredPrimitive``, where they are written."""
    # Models cannot be imported before the apps are ready.
    from django_mcp.models import RegisteredPrimitive

    return RegisteredPrimitive.objects.using(router.db_for_write(RegisteredPrimitive))


def has_table() -> bool:
    """Whether the rows can exist, which is not so before ``migrate``. Asks the database."""
    known = rows()
    return known.model._meta.db_table in connections[known.db].introspection.table_names()


def keep_in_step(server: Server) -> None:
    """Bring the rows in step with what ``server`` has registered by now, soon and on another thread."""
    version = server.registry.version
    if _in_step.get(server) != version and time.monotonic() >= _due.get(server, 0):
        _in_step[server] = version
        write_later(_sync_quietly, server)


def sync(server: Server, known: Any) -> Changes:
    """Make and mark rows until they say what ``server`` has registered; ``known`` are all rows there are."""
    wanted = {digest: (kind, one) for kind, one in _registered(server) for digest in [_digest(server, kind, one)]}
    # Compared here, since MariaDB takes "Shop" and "shop" for the same.
    own = {row.digest: row for row in known.filter(server=server.name) if row.server == server.name}
    new = [_new_row(known.model, server, digest, *wanted[digest]) for digest in wanted.keys() - own.keys()]
    # Another process may be quicker.
    known.bulk_create(sorted(new, key=lambda row: (row.kind, row.key)), MAX_BATCH, ignore_conflicts=True)
    returned = [own[digest].pk for digest in wanted.keys() & own.keys() if own[digest].vanished is not None]
    _update(known, returned, vanished=None)
    _move(known, {own[digest]: app_of(wanted[digest][1]) for digest in wanted.keys() & own.keys()})
    vanished = mark_vanished(known, [own[digest] for digest in own.keys() - wanted.keys()])
    return Changes(len(new), len(returned), vanished, len(wanted) - len(new) - len(returned))


def mark_vanished(known: Any, gone: Iterable[Any], now: datetime | None = None) -> int:
    """Mark those rows that are not marked yet; how many there were."""
    keys = [row.pk for row in gone if row.vanished is None]
    _update(known, keys, vanished=now or timezone.now())
    return len(keys)


def app_of(primitive: Primitive) -> str:
    """The label of the app whose code the function is, "" for code outside all apps."""
    config = apps.get_containing_app_config(primitive.origin)
    return "" if config is None else config.label


def _sync_quietly(server: Server) -> None:
    """Nobody waits for it, and the site works without: the switches that are there hold all the same."""
    try:
        if has_table():
            sync(server, rows())
        else:
            logger.warning("Migrate the database to manage what the server %r has in the admin", server.name)
    except Exception:
        _due[server] = time.monotonic() + RETRY_AFTER
        _in_step.pop(server, None)
        logger.exception("The rows of the server %r are not in step with what it has registered", server.name)


def _registered(server: Server) -> Iterator[tuple[Kind, Primitive]]:
    snapshot = server.registry.snapshot()
    for kind in Kind:
        for primitive in snapshot.of(kind).values():
            yield kind, primitive


def _digest(server: Server, kind: Kind, primitive: Primitive) -> str:
    return digest_of(json.dumps([server.name, kind, primitive.key]))


def _new_row(model: Any, server: Server, digest: str, kind: Kind, primitive: Primitive) -> Any:
    return model(digest=digest, server=server.name, kind=kind.value, key=primitive.key, app=app_of(primitive))


def _move(known: Any, apps_of_rows: dict[Any, str]) -> None:
    moved: dict[str, list[Any]] = {}
    for row, app in apps_of_rows.items():
        if row.app != app:
            moved.setdefault(app, []).append(row.pk)
    for app, keys in moved.items():
        _update(known, keys, app=app)


def _update(known: Any, keys: Collection[Any], **values: Any) -> None:
    remaining = iter(keys)
    while batch := list(islice(remaining, MAX_BATCH)):
        known.filter(pk__in=batch).update(**values)
