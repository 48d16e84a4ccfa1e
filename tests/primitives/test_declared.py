"""What an output schema does not declare is never sent, whatever kind of value carries it."""

import dataclasses
import datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from django_mcp.exceptions import InvalidOutput
from django_mcp.primitives.declared import DeclaredFields
from django_mcp.primitives.tools import ToolDefinition
from tests.primitives.values import Lazy, lazy_hook, no_hook, numbered


class UserOut(BaseModel):
    name: str = "ann"


class UserRow(UserOut):
    password: str = "secret"


class Team(BaseModel):
    lead: UserOut


class TeamRow(Team):
    lead: UserRow


class OpenOut(BaseModel):
    model_config = ConfigDict(extra="allow")


class Renamed(BaseModel):
    name: str = Field("ann", serialization_alias="called")


@dataclasses.dataclass
class NameOut:
    name: str = "ann"


@dataclasses.dataclass
class NameRow(NameOut):
    password: str = "secret"


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any = None


@dataclasses.dataclass
class PairOut:
    left: UserOut
    right: UserOut | None


class Named(TypedDict):
    name: str


class Numbered(TypedDict):
    number: int
    owner: NameOut


def look(): ...


def structured(value: Any, returns: Any) -> Any:
    return ToolDefinition.from_function(look, output_schema=returns).output.to_result(value, lazy_hook).structured


@pytest.mark.parametrize(
    ("value", "returns", "sent"),
    numbered(
        (UserRow(), UserOut, {"name": "ann"}),
        ([UserRow()], list[UserOut], [{"name": "ann"}]),
        ({"a": UserRow()}, dict[str, UserOut], {"a": {"name": "ann"}}),
        (TeamRow(lead=UserRow()), Team, {"lead": {"name": "ann"}}),
        (UserRow(), UserOut | None, {"name": "ann"}),
        (NameRow(), NameOut, {"name": "ann"}),
        (NameRow(), UserOut, {"name": "ann"}),
        (Pair(UserRow(), UserRow()), PairOut, {"left": {"name": "ann"}, "right": {"name": "ann"}}),
        ({"name": "ann", "password": "secret"}, Named, {"name": "ann"}),
        ({"name": "ann", "password": "secret"}, UserOut, {"name": "ann"}),
        (Renamed(name="ann"), Renamed, {"called": "ann"}),
        # Each alternative declares fields.
        ({"number": 1, "owner": NameRow()}, Named | Numbered, {"number": 1, "owner": {"name": "ann"}}),
        (UserRow(), Numbered | UserOut, {"name": "ann"}),
        # The schema declares whatever comes.
        (OpenOut.model_validate({"left": 1}), OpenOut, {"left": 1}),
        ({"a": 1}, dict[str, Any] | UserOut, {"a": 1}),
        # What is no object stays one of the other alternatives.
        (datetime.date(2026, 7, 28), datetime.date | UserOut, "2026-07-28"),
        (Lazy("later"), str | UserOut, "later"),
        ([1], list[int] | UserOut, [1]),
    ),
)
def test_undeclared_fields_are_left_out(value, returns, sent):
    """TOOL-10: an annotation is what clients may see, also of a subclass of it."""
    assert structured(value, returns) == sent


@pytest.mark.parametrize(
    ("schema", "sent"),
    numbered(
        ({"properties": {"a": {}}}, {"a": 1}),
        ({"type": ["object", "null"], "properties": {"a": {}}, "additionalProperties": False}, {"a": 1}),
        ({"properties": {"a": {}}, "additionalProperties": True}, {"a": 1, "b": 2}),
        ({"properties": {"a": {}}, "patternProperties": {"^b$": {}}}, {"a": 1, "b": 2}),
        ({"allOf": [{"properties": {"a": {}}}]}, {"a": 1, "b": 2}),
        ({"anyOf": [True, {"properties": {"a": {}}}]}, {"a": 1, "b": 2}),
    ),
)
def test_a_schema_that_allows_more_is_followed(schema, sent):
    fields = DeclaredFields.of(schema)
    assert fields is not None
    assert fields.read({"a": 1, "b": 2}, no_hook) == sent


def test_keys_that_are_no_texts_stay():
    assert DeclaredFields({"properties": {"1": {}}}).read({1: "a"}, no_hook) == {1: "a"}


def test_an_object_in_itself_is_named():
    fields = DeclaredFields({"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"it": {"$ref": "#/$defs/N"}}}}})

    class Loop:
        @property
        def it(self):
            return self

    with pytest.raises(InvalidOutput, match="contains itself"):
        fields.read(Loop(), no_hook)
