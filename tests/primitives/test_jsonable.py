"""Which Python values JSON can carry, and how they are written."""

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections import OrderedDict, UserDict, deque
from typing import Any

import pytest
from pydantic import BaseModel, Field

from django_mcp.exceptions import InvalidOutput
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.content import ImageContent, ToolResult
from tests.primitives.values import Lazy, lazy_hook, numbered

IMAGE = ImageContent(b"png", "image/png")
# What an author may write although its type says otherwise.
Loose: Any = ToolResult


@dataclasses.dataclass
class Node:
    name: str


class Order(BaseModel):
    number: int = Field(serialization_alias="no")
    price: decimal.Decimal = decimal.Decimal("1.10")
    label: Any = None


class Color(enum.StrEnum):
    RED = "red"


class Number(int):
    pass


class Ratio(float):
    pass


class Money(decimal.Decimal):
    pass


class Key(uuid.UUID):
    pass


class Moment(datetime.datetime):
    pass


class Day(datetime.date):
    pass


class Hour(datetime.time):
    pass


class Span(datetime.timedelta):
    pass


def result_of(value):
    def function(): ...

    return ToolDefinition.from_function(function).prepare({}, None, lazy_hook).finish(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    numbered(
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Key(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.10"), "1.10"),
        (decimal.Decimal("1E+2"), "100"),
        (decimal.Decimal("1E+5000"), "1E+5000"),
        (Money("1.10"), "1.10"),
        (datetime.datetime(2026, 7, 28, 12, tzinfo=datetime.UTC), "2026-07-28T12:00:00Z"),
        (Moment(2026, 7, 28), "2026-07-28T00:00:00"),
        (Day(2026, 7, 28), "2026-07-28"),
        (datetime.time(12), "12:00:00"),
        (Hour(12), "12:00:00"),
        (datetime.timedelta(days=1, hours=2), "P1DT2H"),
        (Span(days=1), "P1D"),
        (pathlib.PurePosixPath("/a"), "/a"),
        (Color.RED, "red"),
        (Number(5), 5),
        (Ratio(0.5), 0.5),
        (Lazy("x"), "x"),
        (deque([1]), [1]),
        (frozenset({1}), [1]),
        (range(2), [0, 1]),
        ({"a": 1}.values(), [1]),
        ({"a": 1}.keys(), ["a"]),
        ((item for item in "ab"), ["a", "b"]),
        (OrderedDict(a=(1,)), {"a": [1]}),
        (UserDict(a=1), {"a": 1}),
        ({1: "a", None: "b", 2.5: "c"}, {"1": "a", "null": "b", "2.5": "c"}),
        ({False: 1, Color.RED: 2, uuid.UUID(int=1): 3}, None),
        (Order(number=1, label=Lazy("x")), {"no": 1, "price": "1.10", "label": "x"}),
    ),
)
def test_ordinary_python_values_are_json(value, expected):
    """BL-004, BL-022."""
    written = result_of({"it": value}).structured["it"]

    if expected is None:
        expected = {"false": 1, "red": 2, "00000000-0000-0000-0000-000000000001": 3}
    assert written == expected
    json.dumps(written, allow_nan=False)


class Strange: ...


def endless():
    value: list = []
    value.append(value)
    return value


async def coroutine(): ...


@pytest.mark.parametrize(
    ("make", "message"),
    numbered(
        (Strange, "type tests.primitives.test_jsonable.Strange was returned"),
        (lambda: {"a": [Strange()]}, "tests.primitives.test_jsonable.Strange"),
        (lambda: Order(number=1, label=Strange()), "tests.primitives.test_jsonable.Strange"),
        (lambda: Node, "type builtins.type"),
        (lambda: b"x", "type bytes .*ImageContent"),
        (lambda: {"a": bytearray(b"x")}, "type bytearray"),
        (lambda: float("nan"), "non-finite number"),
        (lambda: {"mean": float("inf")}, "non-finite number"),
        (lambda: {"mean": Ratio("inf")}, "non-finite number"),
        (lambda: decimal.Decimal("NaN"), "non-finite number"),
        (lambda: {(1, 2): 3}, "a key of type tuple"),
        (lambda: {1: "a", "1": "b"}, "Two keys"),
        (endless, "contains itself"),
        (coroutine, "make the decorator's wrapper async"),
        (lambda: [IMAGE, 5], "type int was returned among content"),
        (lambda: Loose(content=(5,)), "type int was returned among content"),
    ),
)
def test_what_json_cannot_say_is_named(make, message):
    """BL-004, BL-005."""
    with pytest.raises(InvalidOutput, match=message):
        result_of(make())


def test_a_hook_that_gives_its_value_back_does_not_loop():
    def function(): ...

    invocation = ToolDefinition.from_function(function).prepare({}, None, lambda value: value)
    with pytest.raises(InvalidOutput, match="Strange"):
        invocation.finish(Strange())
