"""What a database holds when nobody has used it, put back after each flush.

Django flushes after every test that commits, and has all apps make their content types and permissions again, which
takes most of the time of such a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, connections, transaction
from django.db.models import Model

from django_mcp.switches import switchboard

# Where the command finds it.
SIGNAL = "django.core.management.commands.flush.emit_post_migrate_signal"


class FirstRows:
    def __init__(self) -> None:
        self._rows = {alias: list(_filled(alias)) for alias in connections if _is_there(alias)}

    @contextmanager
    def after_each_flush(self) -> Iterator[None]:
        with patch(SIGNAL, self.put_back):
            yield

    def put_back(self, verbosity: int, interactive: bool, db: str) -> None:
        """In place of the signal, whose arguments these are."""
        with transaction.atomic(using=db):
            for model, rows in self._rows[db]:
                model._base_manager.using(db).bulk_create(rows)
        switchboard.forget()


def _is_there(alias: str) -> bool:
    """Only the databases are made that a chosen test uses, and a look into SQLite's file would make it."""
    return connections[alias].vendor != "sqlite" or Path(connections[alias].settings_dict["NAME"]).exists()


def _filled(alias: str) -> Iterator[tuple[type[Model], list[Model]]]:
    """Models and their rows; content types come first, since permissions name them."""
    with suppress(DatabaseError):  # it was not made
        for model in sorted(apps.get_models(include_auto_created=True), key=lambda one: one is not ContentType):
            if rows := list(model._base_manager.using(alias).all()):
                yield model, rows
