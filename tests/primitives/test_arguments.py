"""Arguments reach a function in its own types, or the client reads what is wrong with them."""

import dataclasses
import datetime
import decimal
import enum
import time
import uuid
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from django_mcp.exceptions import InvalidArguments, InvalidPrimitive
from django_mcp.primitives.coercion import OPTIONS
from django_mcp.primitives.tools import ToolDefinition
from tests.primitives.values import no_hook


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    ONE = 1


class Mixed(enum.Enum):
    NOTHING = None
    PAIR = (1, 2)


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0
    kids: "list[Point]" = dataclasses.field(default_factory=list)


class Movie(TypedDict):
    year: int


class Order(BaseModel):
    quantity: int
    price: float = 0

    @field_validator("quantity")
    @classmethod
    def check_quantity(cls, value):
        if value > 100:
            raise ValueError("quantity is limited to 100")
        return value


def bind(function, /, **arguments):
    return ToolDefinition.from_function(function).prepare(arguments, None, no_hook).kwargs


def faults(function, /, **arguments):
    with pytest.raises(InvalidArguments) as caught:
        bind(function, **arguments)
    return caught.value.faults


def takes(annotation):
    """A function with one parameter ``it``."""

    def function(it): ...

    function.__annotations__ = {"it": annotation}
    return function


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (int, 2, 2),
        (int, "2", 2),
        (int, 5.0, 5),
        (float, 1, 1.0),
        (float, "1.5", 1.5),
        (bool, True, True),
        (bool, "true", True),
        (str, "2", "2"),
        (int | str, "2", "2"),
        (int | str, 2, 2),
        (int | bool, True, True),
        (float | int, 2, 2),
        (Any, {"a": None}, {"a": None}),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (decimal.Decimal, 1.1, decimal.Decimal("1.1")),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (datetime.datetime, "2026-07-28T12:00:00Z", datetime.datetime(2026, 7, 28, 12, tzinfo=datetime.UTC)),
        (datetime.time, "12:00", datetime.time(12)),
        (datetime.timedelta, "P1D", datetime.timedelta(days=1)),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
        (Color, "red", Color.RED),
        (Level, 1, Level.ONE),
        (Mixed, None, Mixed.NOTHING),
        (Literal["a", 1], 1, 1),
        (Literal[True], True, True),
        (list[int], [1, "2"], [1, 2]),
        (set[int], [1, 1], {1}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Point, {"x": 1, "kids": [{"x": 2}]}, Point(1, kids=[Point(2)])),
        (Movie, {"year": 1999}, {"year": 1999}),
        (Order, {"quantity": 3}, Order(quantity=3)),
        (Optional[list[int]], None, None),  # noqa: UP045 - the old spelling is what many sites have
        (int | None, None, None),
    ],
    ids=ascii,
)
def test_values_arrive_in_the_annotated_type(annotation, given, expected):
    """BL-019, BL-032."""
    value = bind(takes(annotation), it=given)["it"]

    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "given", "fault"),
    [
        (int, True, "it: must be a valid integer, not True"),
        (int, 2.5, "it: must be a valid integer, not 2.5"),
        (int, "x", "it: must be a valid integer, not 'x'"),
        (int, None, "it: must be a valid integer, not None"),
        (float, True, "it: must be a valid number, not True"),
        (float, "nan", "it: must be a finite number, not 'nan'"),
        (float, "1e999", "it: must be a finite number, not '1e999'"),
        (bool, 1, "it: must be true or false, not 1"),
        (bool, "yes", "it: must be true or false, not 'yes'"),
        (str, 5, "it: must be a valid string, not 5"),
        (decimal.Decimal, True, "it: must be a valid decimal number, not True"),
        (decimal.Decimal, "NaN", "it: must be a finite number, not 'NaN'"),
        (datetime.date, 5, "it: must be a date as text, such as 2026-07-28, not 5"),
        (uuid.UUID, "x", "it: must be a valid UUID, not 'x'"),
        (Color, "green", "it: must be 'red' or 'blue', not 'green'"),
        (Level, True, "it: must be 1, not True"),
        (Literal[1, 2], True, "it: must be 1 or 2, not True"),
        (int | str, True, "it: must be a valid integer or a valid string, not True"),
        (int | int, [], "it: must be a valid integer, not []"),
        (list[int], [1, "x"], "it[1]: must be a valid integer, not 'x'"),
        (list[int], 5, "it: must be a valid list, not 5"),
        (dict[str, int], {"a": "x"}, "it.a: must be a valid integer, not 'x'"),
        (dict[str, int], [], "it: must be an object, not []"),
        (tuple[int, int], [1], "it[1] is required but was not given"),
        (Point, {"x": True}, "it.x: must be a valid integer, not True"),
        (Point, {}, "it.x is required but was not given"),
        (Point, {"x": 1, "z": 1}, "it.z is unknown"),
        (Point | None, {"x": 1, "kids": [{"x": 1}, {"x": "q"}]}, "it.kids[1].x: must be a valid integer, not 'q'"),
        (Movie, {"year": 1999, "no name": 1}, "it.'no name' is unknown"),
        (Order, {"quantity": 101}, "it.quantity: quantity is limited to 100, not 101"),
        (Annotated[int, Field(ge=1)], 0, "it: must be greater than or equal to 1, not 0"),
        (Annotated[str, Field(min_length=2)], "a", "it: string should have at least 2 characters, not 'a'"),
    ],
    ids=ascii,
)
def test_wrong_values_are_named_with_what_is_allowed(annotation, given, fault):
    """BL-019, BL-066."""
    assert faults(takes(annotation), it=given) == (fault,)


@pytest.mark.skipif(not OPTIONS, reason="this pydantic-core always takes a model's own validator")
def test_models_hold_to_the_same_rules():
    """BL-019."""
    assert faults(takes(Order), it={"quantity": True, "price": "inf"}) == (
        "it.quantity: must be a valid integer, not True",
        "it.price: must be a finite number, not 'inf'",
    )


def add(a: int, b: int): ...


def test_all_faults_come_at_once():
    """BL-064, BL-066."""
    assert faults(add, b="x", limitt=1) == (
        "a is required but was not given",
        "limitt is unknown; allowed are a, b",
        "b: must be a valid integer, not 'x'",
    )


def test_unknown_arguments_of_a_function_without_any_are_refused():
    def now(): ...

    assert bind(now) == {}
    assert faults(now, x=1) == ("x is unknown; allowed are none",)
    assert faults(now, **{"a b" * 40: 1})[0].startswith("'a ba b")


def test_shown_values_are_cut_and_faults_are_counted():
    assert len(faults(takes(int), it="x" * 10_000)[0]) < 130
    assert len(faults(takes(int), it=[["x" * 70] * 6] * 6)[0]) < 130
    found = faults(takes(list[int]), it=["x"] * 50)
    assert len(found) == 21
    assert found[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("annotation", "text", "expected"),
    [
        (list[int], "[1, 2, 3]", [1, 2, 3]),
        (Point, '{"x":1,"y":2}', Point(1, 2.0)),
        (dict[str, int] | None, '{"a": 1}', {"a": 1}),
        (dict[str, int] | None, "null", None),
        (list[Color], '["red"]', [Color.RED]),
        (Literal[1, 2], "1", 1),
    ],
    ids=ascii,
)
def test_json_texts_are_read_where_no_text_fits(annotation, text, expected):
    """BL-020."""
    assert bind(takes(annotation), it=text)["it"] == expected


@pytest.mark.parametrize("text", ["[1,", "[NaN]", "\ud800", "[" * 100, "abc"], ids=ascii)
def test_broken_json_texts_are_named(text):
    """BL-020."""
    assert faults(takes(list[int]), it=text)[0].startswith("it: must be a valid list, not ")


def test_faults_inside_json_texts_name_their_place():
    """BL-020."""
    assert faults(takes(list[int]), it='[1, "x"]') == ("it[1]: must be a valid integer, not 'x'",)


def test_json_texts_stay_texts_where_a_text_fits():
    """BL-020."""
    assert bind(takes(str), it="[1]") == {"it": "[1]"}
    assert bind(takes(list[int] | str), it="[1]") == {"it": "[1]"}
    assert bind(takes(Any), it="[1]") == {"it": "[1]"}


def test_defaults_are_the_functions_own():
    """BL-032: absent, null and a value behave as the signature says."""

    def search(tag: str | None = None, limit: int = Field(10, le=50), page: Annotated[int, Field(1)] = 2): ...

    assert bind(search) == {"limit": 10, "page": 1}
    assert bind(search, tag=None, limit="5") == {"tag": None, "limit": 5, "page": 1}
    assert faults(search, limit=51) == ("limit: must be less than or equal to 50, not 51",)


def test_a_field_without_a_default_is_required():
    def search(limit: int = Field(ge=1), *, word: Annotated[str, Field(description="What for")]): ...

    tool = ToolDefinition.from_function(search)
    assert tool.input_schema["required"] == ["limit", "word"]
    assert tool.input_schema["properties"]["word"]["description"] == "What for"


def test_an_alias_is_the_clients_name_for_a_parameter():
    def send(sender: Annotated[str, Field(alias="from")] = "me"): ...

    assert ToolDefinition.from_function(send).input_schema["properties"] == {"from": {"type": "string"}}
    assert bind(send, **{"from": "you"}) == {"sender": "you"}


def test_preparing_a_call_takes_microseconds():
    """S64."""
    tool = ToolDefinition.from_function(add)
    best = min(_seconds_for_a_thousand(tool) for _ in range(5))

    assert best < 0.05


def _seconds_for_a_thousand(tool):
    start = time.perf_counter()
    for _ in range(1000):
        tool.prepare({"a": 1, "b": 2}, None, no_hook)
    return time.perf_counter() - start


class Unknown: ...


@pytest.mark.parametrize("annotation", [Unknown, list[Unknown], type(lambda: 0)])
def test_types_without_a_schema_are_refused_at_registration(annotation):
    with pytest.raises(InvalidPrimitive, match=r"annotates it with .* Allowed are texts"):
        ToolDefinition.from_function(takes(annotation))


def test_callables_cannot_be_described():
    from collections.abc import Callable

    with pytest.raises(InvalidPrimitive, match="annotates it with"):
        ToolDefinition.from_function(takes(Callable[[int], int]))


def test_a_signature_that_fails_as_a_whole_is_refused():
    def search(word: str = Field(pattern="(")): ...

    with pytest.raises(InvalidPrimitive, match="cannot be described to clients"):
        ToolDefinition.from_function(search)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=8,
)


def everything(
    number: int,
    ratio: float = 0,
    flag: bool = False,
    day: datetime.date | None = None,
    price: decimal.Decimal | None = None,
    key: uuid.UUID | None = None,
    color: Color = Color.RED,
    point: Point | None = None,
    order: Order | None = None,
    items: list[int | str] = [],  # noqa: B006
    named: dict[str, bool] | None = None,
): ...


EVERYTHING = ToolDefinition.from_function(everything)
NAMES = [name for name in EVERYTHING.input_schema["properties"] if name != "number"]


@given(
    st.fixed_dictionaries(
        {"number": st.integers() | JSON_VALUES}, optional=dict.fromkeys([*NAMES, "other"], JSON_VALUES)
    )
)
def test_arguments_fit_or_are_named(arguments):
    """Whatever a client sends, the answer is a call or readable faults."""
    answer = outcome(arguments)

    assert isinstance(answer, str) or type(answer["number"]) is int
    assert answer


def outcome(arguments):
    try:
        return EVERYTHING.prepare(arguments, None, no_hook).kwargs
    except InvalidArguments as error:
        return str(error)
