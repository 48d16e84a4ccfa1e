"""What a tool returns becomes content for the model and a value for programs."""

import dataclasses
import datetime
import decimal
import enum
import typing
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar

import jsonschema
import pytest
import typing_extensions
from pydantic import BaseModel, Field

from django_mcp.exceptions import ErrorResult, InvalidOutput, InvalidPrimitive
from django_mcp.primitives.outputs import WrappedResult
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.content import (
    AudioContent,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResult,
)
from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.versions import Revision
from tests.primitives.values import Lazy, lazy_hook, numbered

T = TypeVar("T")
IMAGE = ImageContent(b"png", "image/png")
# What an author may write although its type says otherwise.
Loose: Any = ToolResult


class Movie(typing_extensions.TypedDict):
    year: int


@dataclasses.dataclass
class Node:
    name: str
    kids: "list[Node]" = dataclasses.field(default_factory=list)


class Order(BaseModel):
    number: int = Field(serialization_alias="no")
    price: decimal.Decimal = decimal.Decimal("1.10")
    label: Any = None


class Box(BaseModel, Generic[T]):
    it: T


class Color(enum.StrEnum):
    RED = "red"


class Shape(enum.Enum):
    ROUND = 1


class Text(str):
    __slots__ = ()


class Strange: ...


def result_of(value, annotation=..., **options):
    def function(): ...

    if annotation is not ...:
        function.__annotations__["return"] = annotation
    tool = ToolDefinition.from_function(function, **options)
    return tool.prepare({}, None, lazy_hook).finish(value)


def texts(result):
    return [block.text for block in result.content]


@pytest.mark.parametrize(
    ("value", "expected", "structured"),
    numbered(
        ("hello", ["hello"], ABSENT),
        ("", [""], ABSENT),
        (Text("x"), ["x"], ABSENT),
        (Color.RED, ["red"], ABSENT),
        (Lazy("später"), ["später"], ABSENT),
        (datetime.date(2026, 7, 28), ["2026-07-28"], ABSENT),
        (None, [], ABSENT),
        (True, ["true"], True),
        (5, ["5"], 5),
        (1.5, ["1.5"], 1.5),
        (Shape.ROUND, ["1"], 1),
        ([], ["[]"], []),
        ((), ["[]"], []),
        ({}, ["{}"], {}),
        ({"a": "ü"}, ['{"a":"ü"}'], {"a": "ü"}),
        (["a", "b"], ['["a","b"]'], ["a", "b"]),
        ({"a": {1}}, ['{"a":[1]}'], {"a": [1]}),
        (Node("a", [Node("b")]), None, {"name": "a", "kids": [{"name": "b", "kids": []}]}),
        (Order(number=1), ['{"no":1,"price":"1.10","label":null}'], {"no": 1, "price": "1.10", "label": None}),
        (Movie(year=1999), ['{"year":1999}'], {"year": 1999}),
    ),
)
def test_values_become_text_and_structure(value, expected, structured):
    """S77, S78, BL-038, TOOL-13, TOOL-15, TOOL-16."""
    result = result_of(value)

    assert expected is None or texts(result) == expected
    assert result.structured == structured
    assert type(result.structured) is type(structured)
    assert not result.is_error


@pytest.mark.parametrize(
    ("value", "expected"),
    numbered(
        (IMAGE, (IMAGE,)),
        ([IMAGE, "text"], (IMAGE, TextContent("text"))),
        ((TextContent("a"), IMAGE), (TextContent("a"), IMAGE)),
        ((block for block in (IMAGE,)), (IMAGE,)),
        (Loose(content=IMAGE), (IMAGE,)),
        (Loose(content="text"), (TextContent("text"),)),
        (Loose(content=["a", IMAGE]), (TextContent("a"), IMAGE)),
    ),
)
def test_content_is_content(value, expected):
    """S77, X15, TOOL-17."""
    result = result_of(value)

    assert result.content == expected
    assert result.structured is ABSENT


def test_no_content_is_no_json_where_content_was_promised():
    assert result_of([], list[TextContent]).content == ()
    assert result_of([], Iterator[TextContent | AudioContent]).content == ()


def test_an_authors_result_is_kept():
    """S76, S82, X15."""
    result = result_of(
        ToolResult(content=(IMAGE,), structured={"at": datetime.date(2026, 7, 28)}, meta={"key": uuid.UUID(int=1)})
    )

    assert result.content == (IMAGE,)
    assert result.structured == {"at": "2026-07-28"}
    assert result.meta == {"key": "00000000-0000-0000-0000-000000000001"}


def test_an_authors_structure_gets_its_text():
    """TOOL-15, BL-062."""
    assert texts(result_of(ToolResult(structured=None))) == ["null"]
    assert texts(result_of(ToolResult(structured="a"))) == ["a"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (None, None),
        (Any, None),
        (object, None),
        (str, None),
        (str | None, None),
        (TextContent, None),
        (list[ImageContent | str], None),
        (ToolResult, None),
        (dict[str, ResourceLink], None),
        (Strange, None),
        (list[Strange], None),
        (int, {"type": "integer"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Annotated[int, Field(ge=0), ["has no hash"]], {"type": "integer", "minimum": 0}),
        (Annotated[object, ["has no hash"]], None),
        (dict, {"type": "object", "additionalProperties": True}),
        (Literal["a"], {"const": "a", "type": "string"}),
        (Color, {"enum": ["red"], "type": "string"}),
        (Optional[bool], {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),  # noqa: UP045
        (Movie, {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}),
        (Box[int], {"type": "object", "properties": {"it": {"type": "integer"}}, "required": ["it"]}),
    ],
    ids=ascii,
)
def test_return_annotations_are_output_schemas(annotation, schema):
    """TOOL-10."""

    def function(): ...

    function.__annotations__["return"] = annotation
    assert ToolDefinition.from_function(function).output_schema == schema


def test_recursive_types_have_an_object_at_the_root():
    def function() -> Node: ...  # type: ignore[empty-body]

    schema = ToolDefinition.from_function(function).output_schema
    assert schema is not None
    assert schema["type"] == "object"
    assert list(schema["$defs"]) == ["Node"]
    jsonschema.Draft202012Validator.check_schema(schema)


class Old(typing.TypedDict):
    year: int


@pytest.mark.skipif("sys.version_info >= (3, 12)")
def test_the_wrong_typed_dict_is_refused_with_the_right_one():
    def function() -> Old: ...  # type: ignore[empty-body]

    with pytest.raises(InvalidPrimitive, match="from typing_extensions import TypedDict"):
        ToolDefinition.from_function(function)


def test_structured_results_are_checked_before_they_are_sent():
    """W17, S80, BL-062, TOOL-11."""
    assert result_of({"year": 1999}, Movie).structured == {"year": 1999}
    with pytest.raises(InvalidOutput, match=r"^The result does not fit the output schema: year: must be of type"):
        result_of({"year": "1999"}, Movie)
    with pytest.raises(InvalidOutput, match="must be of type object"):
        result_of(None, Movie)
    with pytest.raises(InvalidOutput, match="returned content alone"):
        result_of(IMAGE, Movie)
    with pytest.raises(InvalidOutput, match="returned content alone"):
        result_of(ToolResult(content=(IMAGE,)), Movie)


def test_output_faults_keep_values_to_themselves():
    with pytest.raises(InvalidOutput) as caught:
        result_of({"year": "a secret"}, Movie)
    assert "secret" not in str(caught.value)


def test_an_error_result_is_not_checked_and_undoes_what_the_tool_wrote():
    """S83, BL-063."""
    with pytest.raises(ErrorResult) as caught:
        result_of(ToolResult(content=(TextContent("not found"),), is_error=True), Movie)

    assert texts(caught.value.result) == ["not found"]
    assert caught.value.result.is_error


def test_a_declared_schema_makes_a_text_structured():
    result = result_of("a", output_schema={"type": "string"})

    assert (texts(result), result.structured) == (["a"], "a")
    assert result_of(None, int | None).structured is None


OLD = Revision.V2025_03_26
LEGACY = Revision.V2025_11_25
MODERN = Revision.V2026_07_28


def listed(schema, revision):
    def function(): ...

    return ToolDefinition.from_function(function, output_schema=schema).to_wire(revision).get("outputSchema")


def test_other_roots_than_objects_are_wrapped_for_legacy():
    """BL-062, TOOL-10, TOOL-12, TOOL-14."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#"}, {"$ref": "#/items/anyOf/0"}]},
        "$defs": {"x": {"type": "integer"}},
    }

    assert listed(schema, MODERN) == schema
    assert listed(schema, OLD) is None
    wrapped = listed(schema, LEGACY)
    assert wrapped == {
        "$schema": schema["$schema"],
        "$defs": schema["$defs"],
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/$defs/x"},
                        {"$ref": "#/properties/result"},
                        {"$ref": "#/properties/result/items/anyOf/0"},
                    ]
                },
            }
        },
        "required": ["result"],
    }
    jsonschema.validate({"result": [1, [2]]}, wrapped)


def test_objects_are_not_wrapped():
    schema = {"type": "object"}

    assert listed(schema, LEGACY) == listed(schema, MODERN) == schema


def test_values_are_wrapped_as_their_schema_is():
    """TOOL-14: an object, too, if the schema also admits something else."""
    result = result_of({"a": 1}, dict[str, int] | None)

    assert isinstance(result, WrappedResult)
    assert result.to_wire(MODERN)["structuredContent"] == {"a": 1}
    assert result.to_wire(LEGACY)["structuredContent"] == {"result": {"a": 1}}
    assert "structuredContent" not in result.to_wire(OLD)
    assert result_of(5, int).to_wire(LEGACY)["structuredContent"] == {"result": 5}


def test_bad_output_schemas_are_refused_at_registration():
    """JS-05, JS-06."""
    with pytest.raises(InvalidPrimitive, match=r"The output_schema of .* has 'obj' at type"):
        listed({"type": "obj"}, MODERN)
    with pytest.raises(InvalidPrimitive, match=r"\$ref"):
        listed({"$ref": "https://example.com"}, MODERN)
