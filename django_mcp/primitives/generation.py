"""JSON Schemas made from annotations, without what only costs a model's attention."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaError

from django_mcp.primitives.walk import walk

DEFINITION = "#/$defs/"
DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"

# Everything that pydantic, or an annotation's own code below it, raises for what it cannot use.
UNUSABLE = (PydanticUserError, SchemaError, TypeError, NameError, AttributeError)


class _Generator(GenerateJsonSchema):
    # A default that cannot be written as JSON is left out of the schema without a warning.
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    # By core schema, the names of the methods; finding them is half the work of describing a small tool.
    _methods: dict[Any, str] = {}

    def build_schema_type_to_method(self) -> dict[Any, Callable[[Any], dict[str, Any]]]:
        if not self._methods:
            made = super().build_schema_type_to_method()
            _Generator._methods = {kind: method.__name__ for kind, method in made.items()}
            return made
        return {kind: getattr(self, name) for kind, name in self._methods.items()}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        """With the texts that become a number, where pydantic promises to take any text."""
        made: dict[str, Any] = super().decimal_schema(schema)
        for choice in made.get("anyOf", ()):
            if choice == {"type": "string"}:
                choice["pattern"] = DECIMAL
        return made


class FormGenerator(_Generator):
    """Choices that have labels, such as those of Django models, show them (SEP-1330)."""

    def enum_schema(self, schema: Any) -> Any:
        made = super().enum_schema(schema)
        members = schema["members"]
        if made.get("type") == "string" and all(hasattr(member, "label") for member in members):
            del made["enum"]
            made["oneOf"] = [{"const": member.value, "title": str(member.label)} for member in members]
        return made


def generate_schema(
    adapter: TypeAdapter[Any], mode: Literal["validation", "serialization"], *, name: str = ""
) -> dict[str, Any]:
    """The schema of an adapter: titles that repeat names dropped, enums written where they are used."""
    schema = adapter.json_schema(schema_generator=_Generator, mode=mode)
    _drop_title(schema, name)
    definitions: dict[str, Any] = schema.get("$defs", {})
    if not definitions:
        return schema
    for key, definition in definitions.items():
        _drop_title(definition, key)
    _inline(schema, {key for key, definition in definitions.items() if "enum" in definition})
    return _with_root(schema)


def reason(error: Exception) -> str:
    """What one of ``UNUSABLE`` says of the fault, without the advice that follows and is about pydantic."""
    return str(error).partition("\n")[0].partition(". ")[0]


def _drop_title(schema: dict[str, Any], name: str) -> None:
    title = schema.get("title")
    if isinstance(title, str) and _plain(name).endswith(_plain(title)):
        del schema["title"]


def _plain(name: str) -> str:
    """The name as pydantic writes it under $defs."""
    return re.sub(r"[^a-zA-Z0-9.\-_]", "_", name)


def _inline(schema: dict[str, Any], names: set[str]) -> None:
    definitions = schema.get("$defs", {})
    for _, subschema in walk(schema):
        name = str(subschema.get("$ref", "")).removeprefix(DEFINITION)
        if name in names:
            del subschema["$ref"]
            subschema.update({**definitions[name], **subschema})
    for name in names:
        del definitions[name]
    if "$defs" in schema and not definitions:
        del schema["$defs"]


def _with_root(schema: dict[str, Any]) -> dict[str, Any]:
    """A recursive type's root is a bare reference; clients look for ``type`` at the root."""
    name = str(schema.get("$ref", "")).removeprefix(DEFINITION)
    if name not in schema.get("$defs", {}):
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**schema["$defs"][name], **rest}
