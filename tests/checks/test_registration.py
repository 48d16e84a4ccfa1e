"""That the checks are registered, and that no settings make one raise."""

import importlib
import sys
from unittest import mock

import pytest
from django.core import mail
from django.core.checks import run_checks
from django.core.checks.registry import registry
from django.db import connections
from django.test import override_settings

from django_mcp import checks
from django_mcp.apps import SimpleMCPConfig
from django_mcp.checks.databases import check_tables

BAD_VALUES = [None, 5, "x", b"x", [5], [None], {"default": None}, {"default": 5}, {5: 5}, {"default": {"CONFIG": 5}}]
READ = ("ASGI_APPLICATION", "CHANNEL_LAYERS", "DJANGO_MCP", "MIDDLEWARE")


@pytest.fixture(autouse=True)
def not_a_test_run(monkeypatch):
    """The suite silences what only a test run silences."""
    monkeypatch.delattr(mail, "outbox")


def test_every_check_is_registered_however_often_the_app_is_ready():
    before = len(registry.registered_checks)
    SimpleMCPConfig("django_mcp", sys.modules["django_mcp"]).ready()
    assert len(registry.registered_checks) == before
    assert {*checks.CHECKS, check_tables} <= registry.registered_checks


def test_every_check_function_is_in_the_list():
    modules = ("asgi", "configuration", "databases", "layers", "mounts", "offers", "packages")
    found = {
        value
        for module in modules
        for name, value in vars(importlib.import_module(f"django_mcp.checks.{module}")).items()
        if name.startswith("check_")
    }
    assert found == {*checks.CHECKS, check_tables}


def test_the_checks_run_alone_by_their_tag_and_without_a_database():
    found = run_checks(tags=["django_mcp"])
    assert found
    assert all(str(message.id).startswith("django_mcp.") for message in found)
    assert all(message.hint for message in found)


@pytest.mark.parametrize("value", BAD_VALUES, ids=repr)
@pytest.mark.parametrize("setting", READ)
def test_no_setting_makes_a_check_raise(setting, value):
    for debug in (True, False):
        with override_settings(**{setting: value, "DEBUG": debug}):
            run_all()


@pytest.mark.parametrize("value", BAD_VALUES, ids=repr)
def test_no_databases_make_a_check_raise(value):
    with mock.patch.object(connections, "settings", value):
        run_all()


@pytest.mark.parametrize("value", [None, 5, "no.such.urls", "tests.checks.broken_urls", [5]], ids=repr)
def test_no_urlconf_makes_a_check_raise(value):
    with override_settings(ROOT_URLCONF=value):
        run_all()


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE="2 MB")
def test_a_limit_of_django_that_is_no_number_makes_no_check_raise():
    assert "django_mcp.E002" in {message.id for message in run_all()}


def run_all():
    return [message for check in checks.CHECKS for message in check(app_configs=None, databases=None)]
