"""E004 and W002."""

import pytest
from django.core.checks import ERROR, WARNING
from django.test import override_settings

from django_mcp import MCPServer, default_server
from django_mcp.checks.mounts import ENDPOINT, check_language_mounts, check_slash_mounts
from django_mcp.urls import endpoint_urls
from tests.checks import urls
from tests.checks.messages import only


@pytest.mark.parametrize("name", urls.GOOD)
def test_a_good_mount_is_silent(name):
    with override_settings(ROOT_URLCONF=urls.GOOD[name]):
        assert check_language_mounts() == []
        assert check_slash_mounts() == []


@pytest.mark.parametrize("line", urls.SLASHES)
def test_a_mount_with_a_slash_is_told_the_line_without(line):
    """BL-050."""
    with override_settings(ROOT_URLCONF=urls.SLASHES[line]):
        warning = only(check_slash_mounts())
        assert check_language_mounts() == []
    assert (warning.id, warning.level, warning.obj) == ("django_mcp.W002", WARNING, default_server)
    assert warning.hint == f"Leave the slash out, then both spellings are served: {line}."


def test_the_slash_is_named_with_the_path_that_is_not_found():
    with override_settings(ROOT_URLCONF=urls.mounted(default_server, "mcp/")):
        warning = only(check_slash_mounts())
    assert warning.msg == (
        "The server 'default' is mounted at /mcp/: through Django's handlers /mcp is not found, "
        "and a redirect would lose the body of a POST."
    )


def test_another_server_is_told_its_own_line(make_server):
    server: MCPServer = make_server("support")
    with override_settings(ROOT_URLCONF=urls.mounted(server, "support/mcp/")):
        warning = only(check_slash_mounts())
    assert warning.hint.endswith('path("support/mcp", get_server("support").urls).')


def test_a_mount_in_i18n_patterns_is_an_error():
    with override_settings(ROOT_URLCONF=urls.TRANSLATED):
        error = only(check_language_mounts())
        assert check_slash_mounts() == []
    assert (error.id, error.level, error.obj) == ("django_mcp.E004", ERROR, default_server)
    assert "is mounted inside i18n_patterns(): its path /mcp/ changes with the language" in error.msg
    assert error.hint == (
        'Move it out of i18n_patterns(): urlpatterns = [path("mcp", include("django_mcp.urls")), *i18n_patterns(...)].'
    )


def test_a_mount_at_the_root_of_i18n_patterns_is_an_error():
    with override_settings(ROOT_URLCONF=urls.TRANSLATED_ROOT):
        error = only(check_language_mounts())
    assert 'path("", include("django_mcp.urls"))' in error.hint


def test_our_own_pattern_is_known():
    [pattern] = endpoint_urls(default_server)
    assert str(pattern.pattern) == ENDPOINT
