"""Completers suggest at most a hundred values."""

import asyncio
import enum
from typing import Literal, Optional

import pytest

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.completion import Completer, CompletionResult, read_choices
from tests.primitives.values import Context, Lazy, lazy_hook, numbered


class Color(enum.Enum):
    RED = "red"
    DARK_RED = "dark red"
    BLUE = "blue"


def completer(source):
    return Completer.from_source(source, argument="color", origin="shop.prompt")


def complete(source, value, arguments=None):
    invocation = completer(source).prepare(value, arguments or {}, "the context", lazy_hook)
    returned = invocation.function(**invocation.kwargs)
    return invocation.finish(asyncio.run(returned) if invocation.is_async else returned)


@pytest.mark.parametrize("source", [Color, ["red", "dark red", "blue"], ("red", "dark red", "blue")], ids=ascii)
def test_choices_that_begin_with_the_text_come_first(source):
    """CMP-04, CMP-05."""
    assert complete(source, "R").values == ["red", "dark red"]
    assert complete(source, "").values == ["red", "dark red", "blue"]
    assert complete(source, "x").to_wire() == {"completion": {"values": [], "total": 0, "hasMore": False}}


def test_choices_need_no_lane():
    assert completer(Color).is_async


def test_a_function_gets_what_it_asks_for():
    """CMP-03."""

    def by_value(text):
        return [text]

    def by_all(text, arguments, context):
        return [text, *arguments.values(), context]

    async def by_context(text, ctx: Context):
        return (text, ctx)

    assert complete(by_value, "a", {"x": "b"}).values == ["a"]
    assert complete(by_all, "a", {"x": "b"}).values == ["a", "b", "the context"]
    assert complete(by_context, "a").values == ["a", "the context"]


def test_a_completer_is_kept():
    ready = Completer.from_choices(["a"])

    assert completer(ready) is ready


@pytest.mark.parametrize(
    ("returned", "expected"),
    numbered(
        (None, ([], 0, False)),
        ([1, True, Color.RED, Lazy("x")], (["1", "true", "red", "x"], 4, False)),
        ([str(number) for number in range(100)], ([str(number) for number in range(100)], 100, False)),
        ([str(number) for number in range(250)], ([str(number) for number in range(100)], 250, True)),
        ((str(number) for number in range(250)), ([str(number) for number in range(100)], None, True)),
        (CompletionResult(values=["a"]), (["a"], 1, False)),
        (CompletionResult(values=["a"], total=9, has_more=True), (["a"], 9, True)),
        (CompletionResult(values=["a"] * 101), (["a"] * 100, 101, True)),
    ),
)
def test_a_hundred_values_are_sent(returned, expected):
    """CMP-04."""
    result = complete(lambda value: returned, "")

    assert (result.values, result.total, result.has_more) == expected


def test_an_unknown_total_is_left_out():
    assert CompletionResult(values=(), has_more=True).to_wire() == {"completion": {"values": [], "hasMore": True}}


@pytest.mark.parametrize("returned", ["red", 5])
def test_other_values_than_lists_are_named(returned):
    with pytest.raises(InvalidOutput, match=f"type {type(returned).__name__}. It returns a list"):
        complete(lambda value: returned, "")


@pytest.mark.parametrize("source", ["red", 5, iter(["red"])], ids=["text", "number", "iterator"])
def test_other_sources_are_refused(source):
    with pytest.raises(InvalidPrimitive, match=r"to complete color. Allowed are a list of texts"):
        completer(source)


@pytest.mark.parametrize(
    ("function", "names"),
    numbered(
        (lambda: 0, "nothing"),
        (lambda arguments: 0, "arguments"),
        (lambda value, other: 0, "value, other"),
        (lambda value, arguments, more: 0, "value, arguments, more"),
    ),
)
def test_other_signatures_are_refused(function, names):
    with pytest.raises(InvalidPrimitive, match=f"takes {names}. It is called with"):
        completer(function)


@pytest.mark.parametrize(
    ("annotation", "choices"),
    [
        (Literal["a", 1], ["a", 1]),
        (Literal["a", None], ["a"]),
        (Optional[Literal["a"]], ["a"]),  # noqa: UP045
        (Color | None, ["red", "dark red", "blue"]),
        (bool, [True, False]),
        (str, []),
        (Literal["a"] | int, []),
        (None, []),
    ],
    ids=ascii,
)
def test_closed_annotations_are_choices(annotation, choices):
    assert read_choices(annotation) == choices


async def streamed(value):
    yield value  # pragma: no cover - it is refused before it could run


@pytest.mark.parametrize("source", [5, dict, streamed])
def test_what_cannot_complete_is_told_what_can(source):
    with pytest.raises(InvalidPrimitive, match="It is a list of texts, an Enum, a Literal or a function"):
        Completer.from_function(source)
