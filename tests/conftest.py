"""Keeps runs honest: what ran is written down, and CI accepts no skipped integration test.

Set TEST_RECORD to a file name to get {node id: outcome} there; .ci/ran.py compares the records of all legs.
"""

import json
import os
from pathlib import Path

import pytest
from django.test import TransactionTestCase
from django.urls import clear_script_prefix
from django.utils import timezone, translation
from hypothesis import settings

from django_mcp.events import reader
from django_mcp.running import close_lanes
from tests.first_rows import FirstRows
from tests.threads import close_connections_of_asgiref

_outcomes: dict[str, str] = {}

# Many runs with few examples find what one run with many finds. For many at once: pytest --hypothesis-profile=thorough.
settings.register_profile("thorough", settings())
settings.register_profile("brief", settings(max_examples=25))
settings.load_profile("brief")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """A database that another thread is still connected to cannot be dropped."""
    with django_db_blocker.unblock():
        first_rows = FirstRows()
    with first_rows.after_each_flush():
        yield
    reader.close()
    close_lanes()
    close_connections_of_asgiref()


@pytest.fixture(autouse=True)
def no_traces_of_requests():
    """A handler leaves the script prefix, LocaleMiddleware the language, and a stream the reader of events behind."""
    yield
    reader.close()
    clear_script_prefix()
    translation.deactivate()
    timezone.deactivate()


def pytest_ignore_collect(collection_path, config):
    """The clients take seconds to import, and all tests that drive them are integration tests."""
    is_wanted = "not integration" not in config.option.markexpr
    return None if is_wanted or collection_path.name not in {"browser", "clients"} else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if needs_database(item):
            item.add_marker("database")


def needs_database(item):
    is_case = item.cls is not None and issubclass(item.cls, TransactionTestCase)
    return is_case or "db" in item.fixturenames or item.get_closest_marker("django_db") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    in_ci = os.environ.get("CI") == "true"
    if in_ci and report.skipped and item.get_closest_marker("integration"):
        report.outcome = "failed"
        report.longrepr = f"Skipped, which CI does not allow here: {report.longrepr}"
    return report


def pytest_runtest_logreport(report):
    if report.when == "call" or report.skipped or report.failed:
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish():
    if record := os.environ.get("TEST_RECORD"):
        Path(record).write_text(json.dumps(_outcomes, indent=0, sort_keys=True))
