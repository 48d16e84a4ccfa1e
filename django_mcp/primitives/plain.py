"""Schemas that need no look at the metaschema, which takes a millisecond each.

Almost every schema is made of these few keywords with values of these kinds, above all those that are
made from annotations. Whatever is not goes through the metaschema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def is_plainly_valid(schema: Any) -> bool:
    """Whether the schema is valid 2020-12 beyond doubt. ``False`` means only that it has to be checked (JS-05)."""
    if type(schema) is bool:
        return True
    if type(schema) is not dict:
        return False
    return all((rule := RULES.get(keyword)) is not None and rule(value) for keyword, value in schema.items())


def _is_type(value: Any) -> bool:
    return type(value) is str and value in TYPES


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_any(value: Any) -> bool:
    return True


def _is_list(value: Any) -> bool:
    return type(value) is list


def _are_names(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value)) and len(set(value)) == len(value)


def _are_schemas(value: Any) -> bool:
    return type(value) is list and bool(value) and all(map(is_plainly_valid, value))


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(is_plainly_valid, value.values()))


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError):
        return False
    return True


def _is_reference(value: Any) -> bool:
    return type(value) is str and value.startswith("#/$defs/") and re.search(r"[^\w/$#.-]", value) is None


RULES: dict[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "properties": _is_named,
    "required": _are_names,
    "additionalProperties": is_plainly_valid,
    "items": is_plainly_valid,
    "prefixItems": _are_schemas,
    "anyOf": _are_schemas,
    "oneOf": _are_schemas,
    "allOf": _are_schemas,
    "enum": _is_list,
    "const": _is_any,
    "default": _is_any,
    "examples": _is_list,
    "title": _is_text,
    "description": _is_text,
    "format": _is_text,
    "pattern": _is_pattern,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_number,
    "exclusiveMaximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "uniqueItems": _is_flag,
    "$ref": _is_reference,
    "$defs": _is_named,
    "x-mcp-header": _is_any,
}
