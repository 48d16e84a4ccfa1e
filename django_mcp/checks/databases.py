"""The databases: connections that are thrown away, SQLite's locking, and tables that are missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Warning
from django.db import connections, router

SQLITE_LINE = (
    '"OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, '
    '"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"}'
)

_WAL = re.compile(r"journal_mode\s*(=|\()\s*['\"]?wal\b", re.IGNORECASE)
_LOCKING_MODES = ("IMMEDIATE", "EXCLUSIVE")


def check_connections(**_kwargs: Any) -> list[CheckMessage]:
    """W001. Nobody can tell which databases the tools use, so each is looked at.

    Not SQLite, where a connection is an open file and costs little. Not pools either: they demand a
    ``CONN_MAX_AGE`` of 0.
    """
    return [
        Warning(
            f"DATABASES[{alias!r}] has CONN_MAX_AGE 0: each call that reaches the database opens a connection "
            "and closes it again. On PostgreSQL a call then takes 4.4 ms in place of 0.19 ms.",
            hint=f'Write "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True in DATABASES[{alias!r}].',
            id="django_mcp.W001",
        )
        for alias, database in _databases()
        if not _is_sqlite(database) and database.get("CONN_MAX_AGE", 0) == 0 and not _options(database).get("pool")
    ]


def check_sqlite(**_kwargs: Any) -> list[CheckMessage]:
    """W006. Several calls write at once; a read that turns into a write cannot wait for another one.

    Only the settings are read: closing a second handle of the file would drop SQLite's locks on it.
    """
    return [
        Warning(
            f"DATABASES[{alias!r}] is SQLite without {' and '.join(missing)}: "
            'calls that write at the same time fail with "database is locked".',
            hint=f"Write {SQLITE_LINE} in DATABASES[{alias!r}].",
            id="django_mcp.W006",
        )
        for alias, database in _databases()
        if _is_sqlite(database) and not _is_in_memory(database) and (missing := list(_missing_modes(database)))
    ]


def check_tables(*, databases: Sequence[str] | None = None, **_kwargs: Any) -> list[CheckMessage]:
    """W008, asked of the database. ``migrate`` itself is about to create them."""
    if sys.argv[1:2] == ["migrate"]:
        return []
    return [
        Warning(
            f"The database {alias!r} lacks tables: {', '.join(missing)}.",
            hint=f"Run manage.py migrate django_mcp --database {alias}.",
            id="django_mcp.W008",
        )
        for alias in databases or ()
        if (missing := _missing_tables(alias))
    ]


def _databases() -> list[tuple[str, Mapping[str, Any]]]:
    """The aliases with their settings; a connection is not even made."""
    try:
        return [(alias, database) for alias, database in connections.settings.items() if database.get("ENGINE")]
    except Exception:  # noqa: BLE001 - Django reports it at the first query
        return []


def _is_sqlite(database: Mapping[str, Any]) -> bool:
    return str(database["ENGINE"]).endswith(("sqlite3", "spatialite"))


def _is_in_memory(database: Mapping[str, Any]) -> bool:
    name = str(database.get("NAME") or ":memory:")
    return ":memory:" in name or "mode=memory" in name


def _options(database: Mapping[str, Any]) -> Mapping[str, Any]:
    options = database.get("OPTIONS")
    return options if isinstance(options, Mapping) else {}


def _missing_modes(database: Mapping[str, Any]) -> Iterator[str]:
    options = _options(database)
    if not _WAL.search(str(options.get("init_command"))):
        yield "journal_mode=WAL"
    if str(options.get("transaction_mode")).upper() not in _LOCKING_MODES:
        yield "transaction_mode IMMEDIATE"


def _missing_tables(alias: str) -> list[str]:
    try:
        existing = set(connections[alias].introspection.table_names(include_views=True))
        return [
            model._meta.db_table
            for model in apps.get_app_config("django_mcp").get_models()
            if router.db_for_write(model) == alias
            and router.allow_migrate_model(alias, model)
            and model._meta.db_table not in existing
        ]
    except Exception:  # noqa: BLE001 - a database out of reach, or a router of the site's: Django says so
        return []
