"""Signatures are read once, at registration, and what no client could fill is refused there."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Optional

import pytest

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.tools import ToolDefinition
from tests.primitives import values
from tests.primitives.values import Context, no_hook, numbered

if TYPE_CHECKING:
    from elsewhere import Order, Queryset  # type: ignore[import-not-found]


class SubContext(Context): ...


def annotated(word: str, ctx: Context): ...
def optional(word: str, ctx: Context | None = None): ...
def old_optional(word: str, ctx: Optional[Context] = None): ...  # noqa: UP045
def quoted(word: str, ctx: values.Context): ...
def inherited(word: str, ctx: SubContext): ...
def by_name(word: str, server_context): ...
def by_odd_name(word: str, server_context: str): ...
def bare(word: str, context): ...
def unresolved(word: str, ctx: elsewhere.Context | None): ...  # type: ignore[name-defined]  # noqa: F821


CONTEXT_TAKERS = [annotated, optional, old_optional, quoted, inherited, by_name, by_odd_name, bare, unresolved]


@pytest.mark.parametrize("function", CONTEXT_TAKERS, ids=lambda function: function.__name__)
def test_the_context_is_no_argument(function):
    """S73."""
    tool = ToolDefinition.from_function(function)

    assert list(tool.input_schema["properties"]) == ["word"]
    kwargs = tool.prepare({"word": "x"}, "the context", no_hook).kwargs
    assert kwargs == {"word": "x", tool.signature.context_name: "the context"}


def test_an_annotated_context_is_an_argument():
    def function(context: str): ...

    assert list(ToolDefinition.from_function(function).input_schema["properties"]) == ["context"]


def test_clients_cannot_give_the_context():
    from django_mcp.exceptions import InvalidArguments

    with pytest.raises(InvalidArguments, match="ctx is unknown"):
        ToolDefinition.from_function(annotated).prepare({"word": "x", "ctx": 1}, None, no_hook)


def takes_keywords(**options): ...
def takes_positionals(*items): ...
def takes_by_position(item, /): ...
def method(self, word: str): ...
def by_class(cls): ...
def twice(one: Context, two: Context): ...
def missing(order: Order): ...


@pytest.mark.parametrize(
    ("function", "message"),
    numbered(
        (takes_keywords, r"takes \*\*options.*write the parameters out, or give a schema .*input_schema="),
        (takes_positionals, r"takes \*items.*write items: list"),
        (takes_by_position, "takes item by position only.*remove the /"),
        (method, r"takes self, so it is a method without its object"),
        (twice, "takes the context twice, as one and as two"),
        (missing, "annotates order with 'Order', which cannot be resolved.*outside TYPE_CHECKING"),
        (iter, "has no signature"),
        (42, "was given 42, which is no function"),
        (Context, "was given Context, which is no function"),
        (classmethod(by_class), "above @classmethod"),
        (staticmethod(annotated), "above @staticmethod"),
    ),
)
def test_what_no_client_could_call_is_refused(function, message):
    """BL-032, BL-064."""
    with pytest.raises(InvalidPrimitive, match=message):
        ToolDefinition.from_function(function)


def test_async_generators_are_refused():
    async def stream():
        yield 1

    assert asyncio.run(anext(stream())) == 1
    with pytest.raises(InvalidPrimitive, match="is an async generator"):
        ToolDefinition.from_function(stream)


def test_what_a_partial_filled_in_is_hidden():
    """A client must not override it."""

    def order(user, item: str, count: int = 1): ...

    tool = ToolDefinition.from_function(functools.partial(order, "alice", count=5))

    assert list(tool.input_schema["properties"]) == ["item"]
    assert tool.name == "order"


def test_bound_methods_and_callable_objects_are_functions():
    class Finder:
        "Find a word."

        def find(self, word: str):
            "Find it."

        async def __call__(self, word: Context, count: int): ...

    method = ToolDefinition.from_function(Finder().find)
    assert (method.name, method.description, method.is_async) == ("find", "Find it.", False)
    assert list(method.input_schema["properties"]) == ["word"]
    instance = ToolDefinition.from_function(Finder())
    assert (instance.name, instance.description, instance.is_async) == ("Finder", "Find a word.", True)
    assert instance.place == ""


def test_names_in_annotations_are_looked_up_in_the_enclosing_function():
    class Local:
        pass

    def function(word: str) -> Local:
        return Local()

    assert ToolDefinition.from_function(function).output_schema is None
    assert isinstance(function("x"), Local)


def test_decorated_functions_are_read_below_the_decorator():
    def decorator(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    tool = ToolDefinition.from_function(decorator(annotated))

    assert list(tool.input_schema["properties"]) == ["word"]
    assert tool.origin == "tests.primitives.test_signature.annotated"
    assert not tool.is_async
    assert tool.function("x", None) is None


def test_async_functions_are_known():
    async def function(): ...

    class Marked:
        _is_coroutine = object()

        def __call__(self): ...

    assert ToolDefinition.from_function(function).is_async
    assert ToolDefinition.from_function(functools.partial(function)).is_async
    assert ToolDefinition.from_function(Marked()).is_async


def test_an_unresolved_return_annotation_counts_as_none():
    def function() -> Queryset: ...

    assert ToolDefinition.from_function(function).output_schema is None
