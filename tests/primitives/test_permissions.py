"""A permission is nothing, a Django permission, or a function of the context."""

from types import SimpleNamespace

from django_mcp.primitives.permissions import is_allowed


def context(*permissions):
    return SimpleNamespace(user=SimpleNamespace(has_perm=lambda name: name in permissions))


def test_no_permission_allows_everybody():
    assert is_allowed(None, context()) is True


def test_a_text_is_asked_of_the_user():
    assert is_allowed("shop.view_item", context("shop.view_item")) is True
    assert is_allowed("shop.view_item", context()) is False


def test_a_function_decides_by_the_context():
    asked = context()

    assert is_allowed(lambda given: given is asked, asked) is True
