"""E002 and E003."""

import pytest
from django.core import mail
from django.core.checks import ERROR
from django.test import override_settings

from django_mcp import default_server
from django_mcp.auth import AllowAny, BearerToken
from django_mcp.checks.configuration import check_open_servers, check_settings
from tests.checks.messages import only

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}


def faults(**given):
    with override_settings(DJANGO_MCP=given):
        return check_settings()


def test_good_settings_are_no_fault(make_server):
    make_server("narrow", settings={"PAGE_SIZE": 3})
    assert faults(PAGE_SIZE=50, CONTEXT_PROCESSORS=["django.utils.timezone.now"]) == []
    with override_settings():
        from django.conf import settings

        del settings.DJANGO_MCP
        assert check_settings() == []


def test_an_unknown_key_is_a_fault_that_names_the_close_one():
    fault = only(faults(SESION_IDLE=5))
    assert (fault.id, fault.level) == ("django_mcp.E002", ERROR)
    assert "DJANGO_MCP has unknown keys: SESION_IDLE. Known keys: ALLOWED_ORIGINS" in fault.msg
    assert fault.hint == "Write \"SESSION_IDLE\" in place of 'SESION_IDLE'."


def test_an_unknown_key_like_no_other_is_to_be_taken_out():
    with override_settings(DJANGO_MCP={5: 5}):
        fault = only(check_settings())
    assert fault.hint == "Take '5' out."


def test_every_wrong_value_is_told_with_its_default():
    one, two = faults(PAGE_SIZE="50", ALLOWED_ORIGINS="https://app.example")
    assert one.msg == "DJANGO_MCP['PAGE_SIZE'] is '50', but must be None or a whole number of at least 1."
    assert one.hint == 'Write "PAGE_SIZE": None for the default, or leave the key out.'
    assert two.hint == 'Write "ALLOWED_ORIGINS": [] for the default, or leave the key out.'


def test_settings_that_are_no_dict_are_a_fault():
    with override_settings(DJANGO_MCP=["PAGE_SIZE"]):
        fault = only(check_settings())
    assert "must be a dict" in fault.msg
    assert fault.hint == 'Write DJANGO_MCP = {"PAGE_SIZE": 50}, or leave it out.'


def test_the_settings_of_a_server_are_told_as_its_own(make_server):
    make_server("support", settings={"PAGE_SIZE": 0})
    fault = only(check_settings())
    assert fault.msg.startswith("MCPServer('support', settings=...)['PAGE_SIZE'] is 0")


def test_a_path_that_leads_nowhere_is_told_once(make_server):
    make_server("second")
    fault = only(faults(AUTHENTICATION="no.such.Class"))
    assert "names 'no.such.Class', which cannot be imported" in fault.msg
    assert fault.hint == "Write the dotted path of something that can be imported."
    fault = only(faults(CONTEXT_PROCESSORS=["no.such.function"]))
    assert "DJANGO_MCP['CONTEXT_PROCESSORS'] names 'no.such.function'" in fault.msg
    first, second = faults(MIDDLEWARE=["no.such.function"], EXCEPTION_REPORTER="no.such.reporter")
    assert "DJANGO_MCP['MIDDLEWARE'] names 'no.such.function'" in first.msg
    assert "DJANGO_MCP['EXCEPTION_REPORTER'] names 'no.such.reporter'" in second.msg


def test_a_middleware_of_the_consumer_is_not_imported():
    assert faults(CONSUMER_MIDDLEWARE=["no.such.wrapper"]) == []


@pytest.fixture
def not_a_test_run(monkeypatch):
    monkeypatch.delattr(mail, "outbox")


@pytest.fixture
def told(not_a_test_run):
    def told(**options):
        with override_settings(**options):
            return check_open_servers()

    return told


def test_an_open_server_outside_debug_is_an_error(told):
    """LH-03, MH-03, SEC-11."""
    error = only(told(DJANGO_MCP=OPEN))
    assert (error.id, error.level, error.obj) == ("django_mcp.E003", ERROR, default_server)
    assert error.msg == "The server 'default' is open: whoever reaches it may use it without credentials."
    assert 'Write "AUTHENTICATION": "django_mcp.auth.BearerToken"' in error.hint
    assert 'SILENCED_SYSTEM_CHECKS = ["django_mcp.E003"]' in error.hint


def test_a_server_that_takes_some_without_credentials_is_open(told):
    assert len(told(DJANGO_MCP={"AUTHENTICATION": [BearerToken, AllowAny]})) == 1


def test_a_closed_server_and_an_open_one_under_debug_are_fine(told):
    assert told(DJANGO_MCP={}) == []
    assert told(DJANGO_MCP=OPEN, DEBUG=True) == []


def test_a_test_run_is_not_told_about_open_servers():
    """The test runner runs the checks with DEBUG off, whatever the site says."""
    with override_settings(DJANGO_MCP=OPEN):
        assert check_open_servers() == []


def test_each_server_is_judged_by_its_own_settings(told, make_server):
    support = make_server("support", settings=OPEN)
    assert told(DJANGO_MCP={}) == []  # neither mounted nor with anything to offer
    support.tool(name="hello")(lambda: None)
    error = only(told(DJANGO_MCP={}))
    assert error.obj is support


def test_an_authentication_that_does_not_load_is_left_to_e002(told):
    assert told(DJANGO_MCP={"AUTHENTICATION": "no.such.Class"}) == []
