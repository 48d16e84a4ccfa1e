"""What the tests of this folder share: a hook that knows no type, and contexts."""

import pytest

from django_mcp.primitives.base import Injected


class Context(Injected):
    """Stands in for the one of the server."""


class Lazy:
    """A text that is made when it is asked for, as gettext_lazy's are."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


def numbered(*cases):
    """Parameters whose ids are the same in every run, whatever their repr says."""
    return [pytest.param(*case, id=str(number)) for number, case in enumerate(cases)]


def no_hook(value):
    raise TypeError(f"no {value}")


def lazy_hook(value):
    if isinstance(value, Lazy):
        return str(value)
    raise TypeError
