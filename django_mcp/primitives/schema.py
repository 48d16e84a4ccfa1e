"""JSON Schemas: checked at registration, compiled once, never fetched from anywhere (JS-01..09)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import jsonschema
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.faults import path_text, schema_faults, shown
from django_mcp.primitives.headers import Header as Header
from django_mcp.primitives.jsonable import resolve_texts
from django_mcp.primitives.plain import is_plainly_valid
from django_mcp.primitives.walk import walk

MAX_DEPTH = 64
MAX_SUBSCHEMAS = 10_000
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
EXACT = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
# Keywords that ask nothing of a value, beside the type or the alternatives.
TYPED = frozenset({"type", "title", "description", "$defs"})
CHOOSING = TYPED - {"type"} | {"anyOf"}
DIALECTS = "2020-12 (the default), 2019-09, draft-07, draft-06 and draft-04"


class CompiledSchema:
    """A schema that was checked, ready to validate values."""

    __slots__ = ("_exact", "_validator")

    def __init__(self, schema: Mapping[str, Any], *, option: str, origin: str) -> None:
        plain = checked_schema(schema, f"The {option} of {origin}")
        # An empty registry knows no documents and retrieves none (JS-06).
        self._exact = _exact_type(plain)
        self._validator: Validator = _dialect(plain)(plain, registry=Registry())

    def faults(self, value: Any, *, with_values: bool = True) -> tuple[str, ...]:
        """What is wrong with the value, one line a fault; empty if it fits."""
        if type(value) is self._exact:
            return ()
        try:
            errors = list(self._validator.iter_errors(value))
        except RecursionError:
            return ("the value is nested too deeply for its schema",)
        return schema_faults(errors, with_values=with_values) if errors else ()


def _exact_type(schema: Mapping[str, Any], allowed: Set[str] = frozenset({"type"})) -> type | None:
    """The type whose values all fit, for a schema that asks for nothing else."""
    kind = schema.get("type")
    return EXACT.get(kind) if isinstance(kind, str) and schema.keys() <= allowed else None


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value fits a schema that was made from annotations and needs no check."""
    if _fits_plainly(value, schema):
        return True
    return bool(jsonschema.Draft202012Validator(dict(schema), registry=Registry()).is_valid(value))


def _fits_plainly(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether it fits beyond doubt: the schema, or one of its alternatives, asks for its type and nothing else."""
    if "anyOf" not in schema:
        return _exact_type(schema, TYPED) is type(value)
    return schema.keys() <= CHOOSING and any(_exact_type(choice, TYPED) is type(value) for choice in schema["anyOf"])


def checked_schema(schema: Any, subject: str) -> dict[str, Any]:
    """The schema with its texts resolved, after everything that can be wrong with it was looked for."""
    if not isinstance(schema, Mapping):
        raise InvalidPrimitive(
            f'{subject} is {shown(schema)}. A JSON Schema is a dict: write {{"type": "object", "properties": {{}}}}.'
        )
    if _depth(schema) > MAX_DEPTH:
        raise InvalidPrimitive(
            f"{subject} is nested more than {MAX_DEPTH} levels deep, which is all that is allowed: "
            'move parts of it to "$defs" or simplify it.'
        )
    plain: dict[str, Any] = resolve_texts(schema)
    subschemas = [subschema for _, subschema in walk(plain)]
    if (count := len(subschemas)) > MAX_SUBSCHEMAS:
        raise InvalidPrimitive(
            f"{subject} has {count} subschemas. Allowed are {MAX_SUBSCHEMAS}: split the tool or simplify the schema."
        )
    _check_dialect(plain, subject)
    _check_references(plain, list(_references(subschemas)), subject)
    return plain


def _depth(value: Any, level: int = 0) -> int:
    """How deep the containers are nested, looked at no deeper than it matters."""
    # Most are texts and numbers, and it takes long to find out that those are no Mapping.
    if isinstance(value, str | int):
        return level
    if isinstance(value, dict | Mapping):
        children: Any = value.values()
    elif isinstance(value, list | tuple):
        children = value
    else:
        return level
    if level > MAX_DEPTH:
        return level
    return max((_depth(child, level + 1) for child in children), default=level + 1)


def _dialect(schema: Mapping[str, Any]) -> Any:
    """jsonschema's class for the declared dialect, or None for one that is unknown (JS-01, JS-03)."""
    if "$schema" not in schema:
        return jsonschema.Draft202012Validator
    if not isinstance(schema["$schema"], str):
        return None
    dialect = validator_for(schema, default=None)  # type: ignore[arg-type]
    return None if dialect is jsonschema.Draft3Validator else dialect


def _check_dialect(schema: dict[str, Any], subject: str) -> None:
    dialect = _dialect(schema)
    if dialect is None:
        raise InvalidPrimitive(
            f'{subject} declares "$schema": {schema["$schema"]!r}. Supported dialects are {DIALECTS}: '
            "declare one of them or leave $schema out."
        )
    if "$schema" not in schema and is_plainly_valid(schema):
        return
    try:
        dialect.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = path_text(error.absolute_path) or "the root"
        raise InvalidPrimitive(
            f"{subject} has {shown(error.instance)} at {where}, which its dialect does not allow: "
            f"{error.message[:200]}. Correct that part of the schema."
        ) from None


def _check_references(schema: dict[str, Any], references: list[tuple[str, str]], subject: str) -> None:
    if not references:
        return
    root = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().resolver_with_root(root)
    for keyword, reference in references:
        if not reference.startswith("#") or keyword == "$id" or not _resolves(resolver, reference):
            raise InvalidPrimitive(
                f'{subject} has the "{keyword}" {reference!r}. References stay within the one schema and '
                'name a part of it: put the part under "$defs" and write "$ref": "#/$defs/Name".'
            )


def _resolves(resolver: Any, reference: str) -> bool:
    try:
        resolver.lookup(reference)
    except Unresolvable:
        return False
    return True


def _references(subschemas: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Everything that points somewhere. A ``$id`` below the root would change what the others mean."""
    for subschema in subschemas:
        for keyword in REFERENCES:
            if isinstance(reference := subschema.get(keyword), str):
                yield keyword, reference
        if subschema is not subschemas[0] and isinstance(identifier := subschema.get("$id"), str):
            yield "$id", identifier


def require_object(schema: Mapping[str, Any], *, option: str, origin: str) -> None:
    """The root of an input schema must say ``"type": "object"`` (TOOL-07)."""
    if schema.get("type") != "object":
        raise InvalidPrimitive(
            f"The {option} of {origin} has the root type {schema.get('type')!r}. Arguments are always an "
            'object: write "type": "object" at its root.'
        )
