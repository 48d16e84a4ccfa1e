"""Arguments made from a published schema are accepted, and broken ones are refused by the name of the field.

The tools are those of the example project and of the fixture sites of this suite. Nothing is called: what
is asked is whether the arguments bind.
"""

import math
import string
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Literal
from uuid import UUID

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from django_mcp import default_server
from django_mcp.exceptions import InvalidArguments
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.versions import Revision
from django_mcp.registry import Snapshot

SITES = ("tests.shop.mcp", "example_project.helpdesk.mcp", "tests.conformance.mcp")


@dataclass
class Rest:
    tags: list[str]


def _tools():
    """The tools of all sites. Modules that ran already keep what they registered."""
    found = {}
    for site in SITES:
        with default_server.registry.override() as registry:
            before = registry.snapshot()
            registry.restore(Snapshot())
            import_module(site)
            tools = registry.tools or {
                name: tool for name, tool in before.tools.items() if tool.function.__module__.startswith(site)
            }
            found.update({f"{site.split('.')[1]}:{name}": tool for name, tool in tools.items()})
    return found


def _dates(
    day: date, at: datetime, wait: timedelta, code: UUID, only: Literal["one"], price: Decimal, rest: Rest | None = None
): ...


LIST_OF_TYPES = {"type": "object", "properties": {"size": {"type": ["integer", "null"], "multipleOf": 12}}}
TOOLS = {
    **_tools(),
    "here:dates": ToolDefinition.from_function(_dates),
    "here:sizes": ToolDefinition.from_function(lambda size=None: size, name="sizes", input_schema=LIST_OF_TYPES),
}
FORMATS = {
    "date": st.dates().map(str),
    "date-time": st.datetimes(timezones=st.just(UTC)).map(lambda one: one.isoformat()),
    "time": st.times().map(lambda one: f"{one.isoformat()}Z"),
    "duration": st.integers(0, 10**6).map("PT{}S".format),
    "uuid": st.uuids().map(str),
}
words = st.text(string.ascii_letters + string.digits + " äß", max_size=20)
anything = st.none() | st.booleans() | st.integers(-5, 5) | words | st.lists(st.integers(0, 3), max_size=2)


def values(schema, root):
    """What fits the schema, for the keywords that our schemas use."""
    if "$ref" in schema:
        return values(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return st.one_of([values(choice, root) for choice in schema[keyword]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return st.one_of([values({**schema, "type": kind}, root) for kind in kinds])
    return KINDS[kinds](schema, root) if kinds in KINDS else anything


def _strings(schema, root):
    if (made := FORMATS.get(schema.get("format"))) is not None:
        return made
    if "pattern" in schema:
        made = st.from_regex(schema["pattern"], fullmatch=True, alphabet=st.characters(codec="ascii"))
        return made.filter(lambda text: len(text) <= schema.get("maxLength", 5000))
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 40), 300))


def _integers(schema, root):
    step = schema.get("multipleOf", 1)
    least = schema.get("minimum", schema.get("exclusiveMinimum", -1001) + 1)
    most = schema.get("maximum", schema.get("exclusiveMaximum", 1001) - 1)
    return st.integers(math.ceil(least / step), math.floor(most / step)).map(lambda number: number * step)


def _numbers(schema, root):
    return st.floats(schema.get("minimum", -1e6), schema.get("maximum", 1e6), allow_nan=False)


def _arrays(schema, root):
    items = values(schema.get("items", {}), root)
    return st.lists(items, min_size=schema.get("minItems", 0), max_size=schema.get("maxItems", 3))


def _objects(schema, root):
    declared = {name: values(one, root) for name, one in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: one for name, one in declared.items() if name in required},
        optional={name: one for name, one in declared.items() if name not in required},
    )


KINDS = {
    "string": _strings,
    "integer": _integers,
    "number": _numbers,
    "boolean": lambda schema, root: st.booleans(),
    "null": lambda schema, root: st.none(),
    "array": _arrays,
    "object": _objects,
}
WRONG = ({"nested": []}, [[{}]], {}, [], [None], -(10**30), 10**30, 0.5, True, None, "", "\0" * 6000)
relaxed = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def _names_fields(schema):
    """Whether whatever is wrong is wrong with one field, and not with several together."""
    return bool(schema.get("properties")) and not {"allOf", "anyOf", "oneOf", "if"}.intersection(schema)


def test_there_are_tools_of_every_site():
    assert {name.partition(":")[0] for name in TOOLS} == {"shop", "helpdesk", "conformance", "here"}
    assert len(TOOLS) > 40


@pytest.mark.parametrize("name", TOOLS)
def test_published_schemas_are_valid_in_every_revision(name):
    """JS-01, JS-05, TOOL-07."""
    for revision in Revision:
        wire = TOOLS[name].to_wire(revision)
        for schema in (wire["inputSchema"], wire.get("outputSchema", {})):
            jsonschema.Draft202012Validator.check_schema(schema)
        assert wire["inputSchema"]["type"] == "object"


@pytest.mark.parametrize("name", TOOLS)
@relaxed
@given(data=st.data())
def test_arguments_that_fit_are_accepted(name, data):
    """S66, S71, JS-01: the schema promises nothing that the function would refuse."""
    tool = TOOLS[name]
    given_arguments = data.draw(values(tool.input_schema, tool.input_schema))
    assume(jsonschema.Draft202012Validator(tool.input_schema).is_valid(given_arguments))
    tool.arguments.bind(given_arguments)


def _mutants(arguments, schema):
    """The arguments with one field left out or replaced, as far as the schema does not allow that."""
    validator = jsonschema.Draft202012Validator(schema)
    for field in schema["properties"]:
        others = {name: value for name, value in arguments.items() if name != field}
        for mutant in (others, *({**others, field: value} for value in WRONG)):
            if not validator.is_valid(mutant):
                yield field, mutant


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if _names_fields(tool.input_schema)])
@relaxed
@given(data=st.data())
def test_broken_arguments_are_refused_by_the_name_of_the_field(name, data):
    """BL-064, BL-066, TOOL-25, S70, S71."""
    tool = TOOLS[name]
    arguments = data.draw(values(tool.input_schema, tool.input_schema))
    assume(jsonschema.Draft202012Validator(tool.input_schema).is_valid(arguments))
    mutants = [*_mutants(arguments, tool.input_schema)]
    assert mutants
    for field, mutant in mutants:
        with pytest.raises(InvalidArguments) as caught:
            tool.arguments.bind(mutant)
        assert any(fault.startswith(field) for fault in caught.value.faults), caught.value.faults


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if "additionalProperties" in tool.input_schema])
def test_unknown_names_are_refused(name):
    """BL-064."""
    with pytest.raises(InvalidArguments, match="nobody_knows_it is unknown"):
        TOOLS[name].arguments.bind({"nobody_knows_it": 1})
