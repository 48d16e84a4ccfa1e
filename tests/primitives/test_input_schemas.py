"""Input schemas: what is generated, and what a site may write itself."""

import dataclasses
import decimal
import enum
import uuid
from datetime import date
from typing import Annotated, Literal

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field

from django_mcp.exceptions import InvalidArguments, InvalidPrimitive
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.versions import Revision
from tests.primitives.values import Context, Lazy, no_hook


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Node:
    name: str
    color: Color = Color.RED
    kids: "list[Node]" = dataclasses.field(default_factory=list)


class Named(BaseModel):
    model_config = ConfigDict(title="A name")
    title: str


def everything(
    node: Node,
    other: Node,
    named: Named,
    color: Color,
    limits: Annotated[int, Field(ge=1, title="Limit")],
    word: str | None = None,
    numbers: list[int] | None = None,
    kind: Literal["a", "b"] = "a",
    key: uuid.UUID | None = None,
    price: decimal.Decimal = decimal.Decimal("1.10"),
    day: date = date(2026, 7, 28),
    counts: dict[str, int] = {},  # noqa: B006
    wrong: str = None,  # type: ignore[assignment]  # noqa: RUF013
    odd: int = object(),  # type: ignore[assignment]
): ...


def test_a_function_without_arguments_has_the_closed_empty_object():
    """S61, TOOL-08."""

    def now(): ...

    assert ToolDefinition.from_function(now).input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_generated_schemas_are_valid_and_closed():
    """BL-032, JS-01, JS-05, TOOL-07."""
    schema = ToolDefinition.from_function(everything).input_schema

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["required"] == ["node", "other", "named", "color", "limits"]
    assert schema["additionalProperties"] is False
    assert set(schema["$defs"]) == {"Node", "Named"}


def test_generated_schemas_have_no_titles_but_the_authors():
    properties = ToolDefinition.from_function(everything).input_schema["properties"]

    assert properties["limits"] == {"minimum": 1, "title": "Limit", "type": "integer"}
    assert properties["word"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    definitions = ToolDefinition.from_function(everything).input_schema["$defs"]
    assert "title" not in definitions["Node"]
    assert definitions["Named"]["title"] == "A name"
    assert definitions["Named"]["properties"] == {"title": {"type": "string"}}


def test_enums_are_written_where_they_are_used():
    schema = ToolDefinition.from_function(everything).input_schema

    assert schema["properties"]["color"] == {"enum": ["red"], "type": "string"}
    assert schema["$defs"]["Node"]["properties"]["color"] == {
        "enum": ["red"],
        "type": "string",
        "default": "red",
    }


def test_only_enums_leave_no_definitions():
    def paint(color: Color): ...

    assert "$defs" not in ToolDefinition.from_function(paint).input_schema


def test_defaults_are_published_where_json_and_the_type_allow_them():
    """BL-032: no null default on a type without null."""
    properties = ToolDefinition.from_function(everything).input_schema["properties"]

    assert properties["price"]["default"] == "1.10"
    assert properties["day"]["default"] == "2026-07-28"
    assert properties["counts"]["default"] == {}
    assert "default" not in properties["wrong"]
    assert "default" not in properties["odd"]


def test_lazy_descriptions_are_written_when_they_are_listed():
    """BL-022."""

    def search(word: Annotated[str, Field(description=Lazy("Das Wort"))]): ...

    wire = ToolDefinition.from_function(search).to_wire(Revision.V2026_07_28)
    assert wire["inputSchema"]["properties"]["word"]["description"] == "Das Wort"


VERBATIM = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "way": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "count": {"type": "integer"},
    },
    "if": {"properties": {"way": {"const": "phone"}}, "required": ["way"]},
    "then": {"required": ["phone"]},
    "additionalProperties": False,
}


def contact(arguments: dict, context: Context): ...


def verbatim(function, schema, /, **arguments):
    return ToolDefinition.from_function(function, input_schema=schema).prepare(arguments, "the context", no_hook).kwargs


def verbatim_faults(schema, /, **arguments):
    with pytest.raises(InvalidArguments) as caught:
        verbatim(contact, schema, **arguments)
    return caught.value.faults


def test_verbatim_schemas_are_published_unchanged():
    """S61, TOOL-09, JS-02."""
    wire = ToolDefinition.from_function(contact, input_schema=VERBATIM).to_wire(Revision.V2026_07_28)

    assert wire["inputSchema"] == VERBATIM
    assert list(wire["inputSchema"]) == list(VERBATIM)


def test_a_parameter_called_arguments_takes_them_all():
    arguments = {"name": "x", "address": {"street": "y"}}

    assert verbatim(contact, VERBATIM, **arguments) == {"arguments": arguments, "context": "the context"}


def test_other_parameters_take_arguments_by_name():
    def by_name(name, phone=None): ...

    schema = {"type": "object", "properties": {"name": {}, "phone": {"type": "string"}}}

    assert verbatim(by_name, schema, name=1) == {"name": 1}
    with pytest.raises(InvalidArguments) as caught:
        verbatim(by_name, schema, phone="1", extra=2)
    assert caught.value.faults == (
        "name is required but was not given",
        "extra is unknown; allowed are name, phone",
    )


def test_keyword_parameters_take_what_the_schema_lets_through():
    """BL-064."""

    def anything(name, **rest): ...

    schema = {"type": "object", "properties": {"name": {}, "phone": {}}}

    assert verbatim(anything, schema, name=1, phone=2, more=3) == {"name": 1, "phone": 2, "more": 3}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("name", "has a property 'phone' and no parameter"),
        ("name, phone, size", "has a required parameter 'size' and no property"),
    ],
    ids=ascii,
)
def test_verbatim_names_must_agree(parameters, message):
    function = eval(f"lambda {parameters}: 0")  # noqa: S307
    schema = {"type": "object", "properties": {"name": {}, "phone": {}}}

    with pytest.raises(InvalidPrimitive, match=message):
        ToolDefinition.from_function(function, name="x", input_schema=schema)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"name": 5}, "name: must be of type string, not 5"),
        ({"way": "fax"}, "way: must be one of 'phone', 'email', not 'fax'"),
        ({"way": "phone"}, "phone is required but was not given"),
        ({"limitt": 1}, "limitt is unknown; allowed are name, address, way, phone, count"),
        ({"address": {"street": 1}}, "address.street: must be of type string, not 1"),
    ],
    ids=ascii,
)
def test_verbatim_schemas_are_enforced(arguments, fault):
    """JS-03, BL-064."""
    assert verbatim_faults(VERBATIM, **arguments) == (fault,)


@pytest.mark.parametrize(
    ("declared", "given", "fault"),
    [
        ({"type": ["string", "null"]}, 5, "it: must be of type string or null, not 5"),
        ({"const": 1}, 2, "it: must be 1, not 2"),
        ({"minimum": 3}, 2, "it: must satisfy minimum 3, not 2"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            5,
            "it: must fit the schema's anyOf (it: must be of type string or it: must be of type null), not 5",
        ),
        ({"oneOf": [{}, {}]}, 5, "it: must fit the schema's oneOf, not 5"),
        ({"type": "array", "items": {"required": ["a", "b"]}}, [{}], "it[0].a is required but was not given"),
        (False, 5, "must be left out, not 5"),
    ],
    ids=ascii,
)
def test_schema_faults_say_what_is_allowed(declared, given, fault):
    assert verbatim_faults({"type": "object", "properties": {"it": declared}}, it=given)[0] == fault


def test_names_that_fit_a_pattern_are_known():
    schema = {"type": "object", "patternProperties": {"^x-": {}}, "additionalProperties": False}

    assert verbatim_faults(schema, **{"x-a": 1, "y": 2}) == ("y is unknown; allowed are ^x-",)


def test_root_faults_have_no_path():
    assert verbatim_faults({"type": "object", "minProperties": 2}, a=1) == (
        "must satisfy minProperties 2, not {'a': 1}",
    )


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ({"type": "array"}, "[1]", [1]),
        ({"type": ["object", "null"]}, '{"a":1}', {"a": 1}),
        ({"enum": [1, 2]}, "1", 1),
        ({"oneOf": [{"type": "array"}, {"type": "object"}]}, "[]", []),
        ({"$ref": "#/$defs/list"}, "[]", []),
    ],
    ids=ascii,
)
def test_verbatim_schemas_read_json_texts(declared, text, expected):
    """BL-020."""
    schema = {"type": "object", "properties": {"it": declared}, "$defs": {"list": {"type": "array"}}}

    assert verbatim(contact, schema, it=text)["arguments"] == {"it": expected}


@pytest.mark.parametrize(
    "declared", [True, {}, {"enum": ["[1]", 2]}, {"anyOf": [{"type": "array"}, {"type": "string"}]}]
)
def test_verbatim_schemas_leave_texts_that_fit(declared):
    schema = {"type": "object", "properties": {"it": declared, "x": {"$ref": "#/properties/it"}}}

    assert verbatim(contact, schema, it="[1]")["arguments"] == {"it": "[1]"}


def test_whole_floats_become_integers():
    """BL-019."""
    value = verbatim(contact, VERBATIM, count=5.0)["arguments"]["count"]

    assert value == 5
    assert type(value) is int


def test_draft_07_is_validated_by_its_own_rules():
    """JS-02, JS-03: 2020-12 ignores the dependencies keyword."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "dependencies": {"card": ["address"], "cash": {"required": ["coins"]}},
        "definitions": {"x": {"type": "string"}},
        "properties": {"y": {"$ref": "#/definitions/x"}},
    }

    assert verbatim_faults(schema, card=1) == (
        "must satisfy dependencies {'card': ['address'], 'cash': {'required': ['coins']}}, not {'card': 1}",
    )
    assert verbatim_faults(schema, cash=1) == ("coins is required but was not given",)


def object_with(**parts):
    return {"type": "object", **parts}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (5, "is 5. A JSON Schema is a dict"),
        ({}, "has the root type None"),
        ({"type": "array"}, "has the root type 'array'"),
        ({"type": ["object"]}, "has the root type"),
        (object_with(properties={"a": {"type": "obj"}}), "has 'obj' at properties.a.type"),
        (object_with(properties={"a": {"pattern": "("}}), "at properties.a.pattern"),
        (object_with(required="a"), "has 'a' at required"),
        (object_with(**{"$schema": "urn:other"}), "declares .*'urn:other'. Supported dialects are 2020-12"),
        (object_with(**{"$schema": 5}), "declares .*5"),
        (object_with(**{"$schema": "http://json-schema.org/draft-03/schema#"}), "Supported dialects"),
        (object_with(items={"$ref": "https://example.com/a.json"}), "https://example.com/a.json"),
        (object_with(items={"$ref": "other.json"}), "'other.json'"),
        (object_with(items={"$ref": "#/$defs/missing"}), "#/.defs/missing"),
        (object_with(items={"$dynamicRef": "#nowhere"}), "#nowhere"),
        (object_with(items={"$id": "https://example.com/inner"}), "id. 'https://example.com/inner'"),
    ],
    ids=ascii,
)
def test_schemas_that_cannot_be_used_are_refused_at_registration(schema, message):
    """JS-03, JS-05, JS-06, JS-07, TOOL-07."""
    with pytest.raises(InvalidPrimitive, match=message):
        ToolDefinition.from_function(contact, input_schema=schema)


def test_an_invalid_root_is_named():
    with pytest.raises(InvalidPrimitive, match="at the root"):
        ToolDefinition.from_function(
            contact,
            input_schema=object_with(
                **{"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True}
            ),
        )


def test_schemas_have_a_size():
    """JS-08."""
    deep: dict = {}
    for _ in range(70):
        deep = {"items": deep}
    with pytest.raises(InvalidPrimitive, match="more than 64 levels"):
        ToolDefinition.from_function(contact, input_schema=object_with(items=deep))
    with pytest.raises(InvalidPrimitive, match=r"has 10002 subschemas. Allowed are 10000"):
        ToolDefinition.from_function(contact, input_schema=object_with(allOf=[{}] * 10_001))


def test_data_that_looks_like_a_reference_is_data():
    schema = object_with(properties={"$ref": {"const": {"$ref": "https://example.com"}}, "b": {"enum": [{"$id": "x"}]}})

    assert verbatim(contact, schema) == {"arguments": {}, "context": "the context"}


def test_endless_references_end():
    """JS-08."""
    assert verbatim_faults(object_with(**{"$ref": "#"})) == ("the value is nested too deeply for its schema",)


def test_recursive_references_work():
    schema = object_with(properties={"kid": {"$ref": "#"}}, additionalProperties=False)

    assert verbatim(contact, schema, kid={"kid": {}})["arguments"] == {"kid": {"kid": {}}}
