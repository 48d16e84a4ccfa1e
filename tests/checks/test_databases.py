"""W001, W006 and W008."""

import sys
from unittest import mock

import pytest
from django.apps import apps
from django.core.checks import WARNING
from django.db import OperationalError, connection, connections
from django.test import override_settings

from django_mcp.checks.databases import SQLITE_LINE, check_connections, check_sqlite, check_tables
from tests.checks.messages import only

POSTGRES = {"ENGINE": "django.db.backends.postgresql", "NAME": "site", "CONN_MAX_AGE": 0, "OPTIONS": {}}
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/srv/db.sqlite3", "CONN_MAX_AGE": 0, "OPTIONS": {}}
IMMEDIATE = {"transaction_mode": "immediate"}
WAL = {"init_command": "PRAGMA journal_mode = wal;"}


def databases(**given):
    return mock.patch.object(connections, "settings", given)


def test_a_connection_per_call_is_told_for_each_alias():
    with databases(default=POSTGRES, replica=POSTGRES):
        one, two = check_connections()
    assert (one.id, one.level) == ("django_mcp.W001", WARNING)
    assert "DATABASES['default'] has CONN_MAX_AGE 0" in one.msg
    assert "4.4 ms in place of 0.19 ms" in one.msg
    assert one.hint == 'Write "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True in DATABASES[\'default\'].'
    assert "DATABASES['replica']" in str(two.hint)


@pytest.mark.parametrize(
    "database",
    [
        {**POSTGRES, "CONN_MAX_AGE": 60},
        {**POSTGRES, "CONN_MAX_AGE": None},
        {**POSTGRES, "OPTIONS": {"pool": True}},
        SQLITE,
        {"ENGINE": ""},
    ],
)
def test_kept_connections_pools_and_files_are_silent(database):
    with databases(default=database):
        assert check_connections() == []


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({}, "journal_mode=WAL and transaction_mode IMMEDIATE"),
        (None, "journal_mode=WAL and transaction_mode IMMEDIATE"),
        (WAL, "transaction_mode IMMEDIATE"),
        ({**WAL, "transaction_mode": "DEFERRED"}, "transaction_mode IMMEDIATE"),
        (IMMEDIATE, "journal_mode=WAL"),
        ({**IMMEDIATE, "init_command": "PRAGMA journal_mode=DELETE"}, "journal_mode=WAL"),
    ],
)
def test_sqlite_that_locks_is_told_the_options(options, missing):
    with databases(default={**SQLITE, "OPTIONS": options}):
        warning = only(check_sqlite())
    assert (warning.id, warning.level) == ("django_mcp.W006", WARNING)
    assert f"DATABASES['default'] is SQLite without {missing}:" in warning.msg
    assert warning.hint == f"Write {SQLITE_LINE} in DATABASES['default']."


@pytest.mark.parametrize(
    "database",
    [
        {**SQLITE, "OPTIONS": {**IMMEDIATE, **WAL}},
        {**SQLITE, "OPTIONS": {"transaction_mode": "EXCLUSIVE", "init_command": "PRAGMA journal_mode('WAL')"}},
        {**SQLITE, "NAME": ":memory:"},
        {**SQLITE, "NAME": "file:shared?mode=memory&cache=shared"},
        {**SQLITE, "NAME": ""},
        POSTGRES,
    ],
)
def test_good_sqlite_and_other_databases_are_silent(database):
    with databases(default=database):
        assert check_sqlite() == []


def test_the_line_of_the_hint_silences_the_warning():
    options = eval("{" + SQLITE_LINE + "}")["OPTIONS"]  # noqa: S307 - it is what people paste
    with databases(default={**SQLITE, "OPTIONS": options}):
        assert check_sqlite() == []


def test_without_databases_named_none_is_touched():
    with mock.patch.object(connections, "settings", {}):
        assert check_tables() == []
        assert check_tables(databases=None) == []


@pytest.mark.django_db
def test_tables_that_are_there_are_silent():
    assert check_tables(databases=["default"]) == []


@pytest.mark.django_db
def test_missing_tables_are_told_with_the_command(monkeypatch):
    tables = {model._meta.db_table for model in apps.get_app_config("django_mcp").get_models()}
    there = sorted(tables - {"django_mcp_accesstoken"})
    monkeypatch.setattr(connection.introspection, "table_names", lambda **options: there)
    warning = only(check_tables(databases=["default"]))
    assert (warning.id, warning.level) == ("django_mcp.W008", WARNING)
    assert warning.msg == "The database 'default' lacks tables: django_mcp_accesstoken."
    assert warning.hint == "Run manage.py migrate django_mcp --database default."
    # The tables are not missed where the router does not put them, nor by the command that makes them.
    assert check_tables(databases=["other"]) == []
    with override_settings(DATABASE_ROUTERS=["tests.checks.routers.Nowhere"]):
        assert check_tables(databases=["default"]) == []
    monkeypatch.setattr(sys, "argv", ["manage.py", "migrate"])
    assert check_tables(databases=["default"]) == []


def test_a_database_out_of_reach_is_left_to_django(monkeypatch):
    def fail(**options):
        raise OperationalError("connection refused")

    monkeypatch.setattr(connection.introspection, "table_names", fail)
    assert check_tables(databases=["default", "no such alias"]) == []
