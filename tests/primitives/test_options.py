"""Options of tools beyond names: kinds of annotations, tags, sizes, media types, and types for schemas."""

import dataclasses
from typing import Any, cast

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from django_mcp.exceptions import InvalidArguments, InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Icon
from django_mcp.primitives.declared import DeclaredFields
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.resources import ResourceDefinition
from django_mcp.primitives.tools import ToolAnnotations, ToolDefinition
from django_mcp.protocol.versions import Revision
from django_mcp.server.call import Source
from django_mcp.server.icons import complete_icons
from tests.primitives.values import no_hook, numbered


def look(arguments): ...


@pytest.mark.parametrize(
    ("made", "hints"),
    numbered(
        (ToolAnnotations.reads(), (True, None, None, False)),
        (ToolAnnotations.adds(), (False, False, False, False)),
        (ToolAnnotations.sets(), (False, False, True, False)),
        (ToolAnnotations.deletes(), (False, True, False, False)),
        (ToolAnnotations.deletes(idempotent_hint=True, open_world_hint=True), (False, True, True, True)),
    ),
)
def test_each_kind_of_tool_has_its_hints(made, hints):
    """S60, TOOL-20."""
    assert (made.read_only_hint, made.destructive_hint, made.idempotent_hint, made.open_world_hint) == hints


def test_tags_are_told_to_those_who_know_meta():
    """S82, META-01."""
    tool = ToolDefinition.from_function(look, tags={"b", "a"}, meta={"example.com/key": 1})

    assert tool.tags == ("a", "b")
    assert tool.to_wire(Revision.V2026_07_28)["_meta"] == {"django-mcp/tags": ["a", "b"], "example.com/key": 1}
    assert "_meta" not in tool.to_wire(Revision.V2025_03_26)
    assert PromptDefinition.from_function(lambda: "", name="p", tags=["x"]).tags == ("x",)
    assert ResourceDefinition.from_function(lambda: "", name="r", uri="a:b", tags=["x"]).tags == ("x",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": "billing"}, "was given tags='billing'. They are a list of texts: write tags=[\"billing\"]."),
        ({"tags": [""]}, "was given tags=['']. They are a list of texts: write tags=[\"billing\"]."),
        (
            {"max_size": 0},
            "was given max_size=0. It is a number of bytes above 0: write max_size=100_000.",
        ),
        (
            {"max_size": True},
            "was given max_size=True. It is a number of bytes above 0: write max_size=100_000.",
        ),
        (
            {"mime_type": "png"},
            "was given mime_type='png'. It is a media type: write mime_type=\"application/json\".",
        ),
        (
            {"output_schema": type},
            "was given output_schema=<class 'type'>, which describes nothing. It is a JSON Schema or a type that "
            "pydantic can describe: write output_schema=list[TicketOut].",
        ),
    ],
    ids=ascii,
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidPrimitive) as caught:
        ToolDefinition.from_function(look, **options)
    assert str(caught.value) == f"tests.primitives.test_options.look {message}"


def test_bytes_need_a_media_type():
    """M2."""

    def draw() -> bytes: ...  # type: ignore[empty-body]

    with pytest.raises(InvalidPrimitive, match=r"returns bytes and does not say what they are. Clients need a media"):
        ToolDefinition.from_function(draw)
    with pytest.raises(InvalidOutput, match="Bytes are sent with a media type"):
        ToolDefinition.from_function(look).output.to_result(b"x", no_hook)
    assert ToolDefinition.from_function(draw, mime_type="image/png").output_schema is None
    assert (
        ToolDefinition.from_function(draw, mime_type="image/png").output
        != ToolDefinition.from_function(draw, mime_type="a/b").output
    )


class OrderIn(BaseModel):
    number: int = Field(ge=1)
    tags: list[str] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    number: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict, total=False):
    name: str


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (OrderIn, {"number": "5", "tags": '["a"]'}, OrderIn(number=5, tags=["a"])),
        (Point, {"x": 1}, Point(1)),
        (Named, {"name": "ann"}, {"name": "ann"}),
        (Open, {"number": 1, "more": 2}, cast(Any, Open)(number=1, more=2)),
    ],
    ids=ascii,
)
def test_one_type_may_describe_all_arguments(kind, given, expected):
    """S54, S72."""
    tool = ToolDefinition.from_function(look, input_schema=kind)

    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is (kind is Open)
    assert tool.prepare(given, None, no_hook).kwargs == {"arguments": expected}
    assert (
        tool.arguments
        == ToolDefinition.from_function(look, input_schema=kind).arguments
        != ToolDefinition.from_function(look).arguments
    )


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        (
            {"number": 0, "nummer": 1},
            ("number: must be greater than or equal to 1, not 0", "nummer is unknown; allowed"),
        ),
        ({}, ("number is required but was not given",)),
        ({"number": True}, ("number: must be a valid integer, not True",)),
        ({"number": 1, "tags": "x"}, ("tags: must be a valid list, not 'x'",)),
        ({"number": 1, "tags": "[1]"}, ("tags[0]: must be a valid string, not 1",)),
    ],
    ids=ascii,
)
def test_faults_of_a_whole_type_are_named_all_at_once(given, faults):
    """BL-064, BL-066, S71."""
    with pytest.raises(InvalidArguments) as caught:
        ToolDefinition.from_function(look, input_schema=OrderIn).prepare(given, None, no_hook)
    assert len(caught.value.faults) == len(faults)
    assert all(found.startswith(fault) for found, fault in zip(caught.value.faults, faults, strict=True))


def two(one, other): ...


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            two,
            Point,
            f"tests.primitives.test_options.two was given the input_schema {Point!r} and "
            "takes one, other. A type describes the arguments as a whole: let the function take them as one "
            "parameter, def function(arguments, context).",
        ),
        (
            look,
            type,
            "tests.primitives.test_options.look was given input_schema=<class 'type'>, which describes no arguments (",
        ),
        (
            look,
            list[int],
            "The input_schema of tests.primitives.test_options.look has the root type 'array'. Arguments are always an",
        ),
    ],
    ids=["two", "type", "list"],
)
def test_types_that_describe_no_arguments_are_refused(function, kind, message):
    with pytest.raises(InvalidPrimitive) as caught:
        ToolDefinition.from_function(function, input_schema=kind)
    assert str(caught.value).startswith(message)


def test_a_type_may_describe_the_result():
    """S79."""
    tool = ToolDefinition.from_function(look, output_schema=list[Point])
    assert tool.output_schema == {
        "type": "array",
        "items": {"$ref": "#/$defs/Point"},
        "$defs": {
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            }
        },
    }


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
NESTED = {
    "type": "object",
    "properties": {
        "a": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}]},
        "b": True,
        "c": {"type": "array"},
        "d": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/P"}]},
        "e": {"anyOf": [{"type": "null"}, {}]},
    },
    "additionalProperties": POINT,
    "$defs": {"P": POINT},
}


class Thing:
    x = 1
    secret = 2


@dataclasses.dataclass
class Holder:
    a: Any


@pytest.mark.parametrize(
    ("value", "read"),
    numbered(
        ({"a": Thing(), "b": 5, "more": Thing()}, {"a": {"x": 1}, "b": 5, "more": {"x": 1}}),
        (Holder(Thing()), {"a": {"x": 1}}),
        ({"a": None, "c": (1, 2)}, {"a": None, "c": [1, 2]}),
        ({"c": 5}, {"c": 5}),
        ({"d": Thing(), "e": range(2)}, {"d": {"x": 1}, "e": range(2)}),
        (OrderIn(number=1), {"number": 1, "tags": []}),
    ),
)
def test_objects_are_read_through_the_schema(value, read):
    fields = DeclaredFields.of(NESTED)
    assert fields is not None
    assert fields.read(value, no_hook) == read


@pytest.mark.parametrize("schema", [None, {"type": "object", "additionalProperties": {"type": "string"}}, {}])
def test_a_schema_without_fields_reads_nothing(schema):
    assert DeclaredFields.of(schema) is None


def test_what_the_schema_leaves_open_stays_as_it_is():
    thing = Thing()
    assert DeclaredFields(NESTED).read({"b": thing}, no_hook)["b"] is thing
    assert DeclaredFields({"type": "array", "items": POINT}).read(thing, no_hook) is thing


def test_icons_without_a_known_address_are_left_out():
    """ICON-03."""
    both = {"icons": [Icon("/static/a.png").to_wire(Revision.V2026_07_28), {"src": "data:,x"}]}
    alone = {"icons": [{"src": "/static/a.png"}]}

    complete_icons((both, alone, {}), Source())
    assert both == {"icons": [{"src": "data:,x"}]}
    assert alone == {}
