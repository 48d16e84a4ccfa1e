"""Forms that a client shows to a person: a flat schema, and the answers read by it (ELI-01, ELI-03, ELI-04)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from django_mcp.exceptions import InvalidAnswer, InvalidPrimitive
from django_mcp.primitives.coercion import compile_validator
from django_mcp.primitives.faults import argument_faults
from django_mcp.primitives.generation import UNUSABLE, FormGenerator
from django_mcp.primitives.jsonable import resolve_texts
from django_mcp.primitives.schema import CompiledSchema
from django_mcp.protocol.versions import Revision

FORMATS = ("email", "uri", "date", "date-time")
_COMMON = ("type", "title", "description", "default")
# What a client has to understand; anything else is checked by us alone.
KEYWORDS = {
    "string": (*_COMMON, "minLength", "maxLength", "format", "enum", "enumNames", "oneOf"),
    "number": (*_COMMON, "minimum", "maximum"),
    "integer": (*_COMMON, "minimum", "maximum"),
    "boolean": _COMMON,
    "array": (*_COMMON, "items", "minItems", "maxItems"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """``read`` turns the content of an answer into a value, or raises ``InvalidAnswer``."""

    schema: dict[str, Any]
    read: Callable[[dict[str, Any]], Any]

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The schema as this revision may have it. Raises ``InvalidPrimitive`` for several choices in an old one."""
        schema: dict[str, Any] = resolve_texts(self.schema)
        if revision.has_form_modes:
            return schema
        properties = {name: _in_old_words(name, declared) for name, declared in schema["properties"].items()}
        return {**{key: value for key, value in schema.items() if key != "$schema"}, "properties": properties}


def choice(options: Sequence[str] | Mapping[str, Any], /, **more: Any) -> dict[str, Any]:
    """A property with one of several texts: a list of them, or a mapping from each to its title.

    ``more`` are further keywords, such as ``title``, ``description`` or ``default``.
    """
    return {"type": "string", **_options(options, titled="oneOf"), **more}


def choices(options: Sequence[str] | Mapping[str, Any], /, **more: Any) -> dict[str, Any]:
    """A property with any number of several texts; ``more`` may hold ``minItems`` and ``maxItems`` too."""
    items = _options(options, titled="anyOf")
    return {"type": "array", "items": items if "anyOf" in items else {"type": "string", **items}, **more}


def _options(options: Sequence[str] | Mapping[str, Any], *, titled: str) -> dict[str, Any]:
    if isinstance(options, Mapping):
        return {titled: [{"const": value, "title": title} for value, title in options.items()]}
    return {"enum": list(options)}


def read_form(source: Any) -> Form:
    """The form that a pydantic model, dataclass, TypedDict or schema stands for; ``InvalidPrimitive`` for others."""
    if isinstance(source, Mapping):
        return _from_schema(source)
    if isinstance(source, type) and (hasattr(source, "model_fields") or dataclasses.is_dataclass(source)):
        return _from_type(source)
    if is_typeddict(source):
        return _from_type(source)
    raise InvalidPrimitive(
        f"A form was given as {source!r}. It is a pydantic model, a dataclass, a TypedDict, a Django Form class or a "
        'JSON Schema: write {"type": "object", "properties": {"name": {"type": "string"}}}.'
    )


def _from_schema(schema: Mapping[str, Any]) -> Form:
    plain: dict[str, Any] = resolve_texts(schema)
    checked_schema(plain)
    compiled = CompiledSchema(plain, option="schema", origin="a form")

    def read(content: dict[str, Any]) -> dict[str, Any]:
        if faults := compiled.faults(content):
            raise InvalidAnswer(*faults)
        return content

    return Form(dict(schema), read)


@lru_cache(maxsize=256)
def _from_type(source: Any) -> Form:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(source)
        made = adapter.json_schema(schema_generator=FormGenerator, mode="validation")
    except UNUSABLE as error:
        raise InvalidPrimitive(
            f"{source.__name__} cannot be described as a form ({error}). Fields of forms are texts, numbers, "
            "booleans, dates, and choices of texts."
        ) from None
    definitions = made.get("$defs", {})
    properties = {name: _plain(name, declared, definitions) for name, declared in made.get("properties", {}).items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if made.get("required"):
        schema["required"] = made["required"]
    checked_schema(schema)
    validate = compile_validator(adapter.core_schema).validate_python
    names = tuple(properties)

    def read(content: dict[str, Any]) -> Any:
        try:
            return validate(content)
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False)
            raise InvalidAnswer(*argument_faults(errors, content, names)) from None

    return Form(schema, read)


def _plain(name: str, declared: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The property with references followed, without null as a choice, and without what clients need not know."""
    declared = _followed(declared, definitions)
    kinds = [one for one in declared.get("anyOf", ()) if one.get("type") != "null"]
    if len(kinds) == 1 and len(declared["anyOf"]) == 2:
        rest = {key: value for key, value in declared.items() if key != "anyOf"}
        if rest.get("default", "") is None:
            del rest["default"]
        declared = {**_followed(kinds[0], definitions), **rest}
    if _is_secret(declared):
        raise no_secrets(name)
    if "const" in declared:
        declared = {**declared, "enum": [declared["const"]]}
    if declared.get("type") == "array":
        items = _followed(declared.get("items", {}), definitions)
        declared = {**declared, "items": {"anyOf": items["oneOf"]} if "oneOf" in items else items}
    # An enum is kept even where it makes the form one that is refused.
    known = (*KEYWORDS.get(declared.get("type", ""), declared), "enum")
    plain = {key: value for key, value in declared.items() if key in known}
    if plain.get("format", "email") not in FORMATS:
        del plain["format"]
    return plain


def _followed(declared: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    name = declared.get("$ref", "").rpartition("/")[2]
    if name not in definitions:
        return declared
    rest = {key: value.value if isinstance(value, Enum) else value for key, value in declared.items() if key != "$ref"}
    return {**definitions[name], **rest}


def checked_schema(schema: Mapping[str, Any]) -> None:
    """Raise ``InvalidPrimitive`` for what a client need not be able to show."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping):
        raise InvalidPrimitive(
            'A form was given a schema that is no flat object. Write {"type": "object", "properties": {...}}.'
        )
    for name, declared in properties.items():
        if isinstance(declared, Mapping) and _is_secret(declared):
            raise no_secrets(name)
        if not _is_simple(declared):
            raise InvalidPrimitive(
                f"The form's field {name} is {declared!r}. Fields are texts, numbers, booleans, dates, one of "
                "several texts, or several of them: nothing nested can be asked for."
            )


def no_secrets(name: str) -> InvalidPrimitive:
    """ELI-10: a form passes through the client, and through whatever keeps its conversations."""
    return InvalidPrimitive(
        f"The form's field {name} is a secret, which no client may be given. Ask for it on a page of the site: "
        "context.elicit_url()."
    )


def _is_secret(declared: Mapping[str, Any]) -> bool:
    return declared.get("format") == "password" or declared.get("writeOnly") is True


def _is_simple(declared: Any) -> bool:
    if not isinstance(declared, Mapping) or declared.get("type") not in KEYWORDS:
        return False
    if declared["type"] != "array":
        return not set(declared) - set(KEYWORDS[declared["type"]]) - {"pattern", "$comment"}
    items = declared.get("items")
    return isinstance(items, Mapping) and ("enum" in items or "anyOf" in items)


def _in_old_words(name: str, declared: dict[str, Any]) -> dict[str, Any]:
    """2025-06-18 knows one way to name choices, and defaults of booleans alone."""
    kind = declared["type"]
    if kind == "array":
        raise InvalidPrimitive(
            f"The field {name} takes several of its choices, which this client's revision has no form for."
        )
    old = {key: value for key, value in declared.items() if key != "default" or kind == "boolean"}
    if options := old.pop("oneOf", None):
        old["enum"] = [option["const"] for option in options]
        old["enumNames"] = [option["title"] for option in options]
    return old
