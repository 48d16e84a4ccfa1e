"""MH-15, MH-16: which parameters may be marked for a header."""

from typing import Annotated

import pytest
from pydantic import Field

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.schema import Header
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.headers import HeaderParam
from django_mcp.protocol.versions import Revision


def marked(schema, name="Region"):
    return {**schema, "x-mcp-header": name}


def verbatim(**properties):
    def function(arguments: dict): ...

    return ToolDefinition.from_function(function, input_schema={"type": "object", "properties": properties})


def test_a_marked_parameter_is_published_and_known():
    """MH-15."""

    def search(region: Annotated[str, Header("Region")] = "eu", pages: Annotated[int, Header("Pages")] = 1): ...

    tool = ToolDefinition.from_function(search)
    assert tool.to_wire(Revision.V2026_07_28)["inputSchema"]["properties"]["region"] == {
        "type": "string",
        "x-mcp-header": "Region",
        "default": "eu",
    }
    assert tool.header_params == (
        HeaderParam(header="Region", path=("region",), kind="string"),
        HeaderParam(header="Pages", path=("pages",), kind="integer"),
    )


def test_an_optional_marked_parameter_is_published_with_its_one_type():
    def search(region: Annotated[str | None, Header("Region"), Field(description="Where")] = None): ...

    tool = ToolDefinition.from_function(search)
    assert tool.input_schema["properties"]["region"] == {
        "type": "string",
        "x-mcp-header": "Region",
        "description": "Where",
    }
    assert tool.prepare({"region": None}, None, str).kwargs == {"region": None}


def test_a_null_default_of_a_marked_parameter_is_not_published():
    def search(region: Annotated[str | None, Header("Region"), Field(None)]): ...

    assert ToolDefinition.from_function(search).input_schema["properties"]["region"] == {
        "type": "string",
        "x-mcp-header": "Region",
    }


def test_nested_properties_may_be_marked():
    tool = verbatim(where={"type": "object", "properties": {"on": marked({"type": "boolean"})}})

    assert tool.header_params == (HeaderParam(header="Region", path=("where", "on"), kind="boolean"),)


def test_a_property_that_is_called_like_the_keyword_is_a_property():
    assert verbatim(**{"x-mcp-header": {"type": "string"}}).header_params == ()


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"a": marked({"type": "string"}, "")}, "''. A header's name"),
        ({"a": marked({"type": "string"}, "My Region")}, "'My Region'"),
        ({"a": marked({"type": "string"}, "a\n")}, "letters, digits"),
        ({"a": marked({"type": "string"}, 5)}, "5. A header's name"),
        ({"a": marked({"type": "number"})}, "of type 'number'"),
        ({"a": marked({"type": ["string", "null"]})}, "string, integer and boolean"),
        ({"a": marked({})}, "of type None"),
        ({"a": marked({"type": "string"}), "b": marked({"type": "string"}, "REGION")}, "a and b with the same"),
        ({"a": {"type": "array", "items": marked({"type": "string"})}}, "where clients do not look"),
        ({"a": {"anyOf": [marked({"type": "string"})]}}, "where clients do not look"),
        (
            {"a": {"items": {"type": "object", "properties": {"b": marked({"type": "string"})}}}},
            "where clients do not look",
        ),
        ({"a": marked({"type": "integer", "maximum": 2**53})}, "stays within"),
        ({"a": marked({"type": "integer", "enum": [-(2**53)]})}, "stays within"),
    ],
    ids=ascii,
)
def test_broken_marks_are_refused_at_registration(properties, message):
    """MH-16."""
    with pytest.raises(InvalidPrimitive, match=message):
        verbatim(**properties)


def test_the_root_cannot_be_marked():
    """MH-16."""

    def function(arguments: dict): ...

    with pytest.raises(InvalidPrimitive, match="where clients do not look"):
        ToolDefinition.from_function(function, input_schema=marked({"type": "object"}))


@pytest.mark.parametrize("name", ["", "My Region", "Größe", None])
def test_the_marker_checks_its_name(name):
    """MH-16."""
    with pytest.raises(InvalidPrimitive, match="Header was given"):
        Header(name)


def test_a_union_cannot_be_marked():
    def search(region: Annotated[str | int, Header("Region")]): ...

    with pytest.raises(InvalidPrimitive, match="of type None"):
        ToolDefinition.from_function(search)


def test_the_marker_shows_its_name():
    assert repr(Header("Region")) == "Header('Region')"
