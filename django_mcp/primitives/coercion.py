"""Which conversions arguments go through: pydantic's, minus the ones that hide a mistake.

Numeric texts become numbers and ``5.0`` becomes 5, because clients send them. A boolean is no number,
a number is no boolean, no text and no date, and nothing is NaN or Infinity.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from pydantic_core import CoreSchema, SchemaValidator, core_schema

# Keys of core schemas under which further core schemas are found.
NESTED = (
    "schema", "items_schema", "keys_schema", "values_schema", "choices", "steps", "fields", "definitions",
    "extras_schema", "strict_schema", "lax_schema", "json_schema", "python_schema", "arguments_schema",
)  # fmt: skip

# pydantic-core would otherwise take the validator a model class was compiled with. Before it knew the
# argument it does so in any case, and models keep pydantic's own conversions.
PREBUILT = "_use_prebuilt"
OPTIONS = {PREBUILT: False} if PREBUILT in inspect.signature(SchemaValidator).parameters else {}


def compile_validator(schema: CoreSchema) -> SchemaValidator:
    """A validator for the schema with its conversions narrowed, models inside included."""
    return SchemaValidator(_narrow(schema), None, **OPTIONS)


def _narrow(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return type(node)(_narrow(item) for item in node)
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("type"), str):
        # Fields and choices by name.
        return {key: _narrow(value) for key, value in node.items()}
    copy = {key: _narrow(value) if key in NESTED else value for key, value in node.items()}
    return _guarded(copy, _guard_for(node))


def _guarded(node: dict[str, Any], guard: CoreSchema | None) -> Any:
    """First the guard, which lets a value pass as it is, then what pydantic does with it."""
    if guard is None:
        return node
    if node["type"] == "float":
        node["allow_inf_nan"] = False
    reference = node.pop("ref", None)
    return core_schema.chain_schema([guard, node], ref=reference)


def _guard_for(node: dict[str, Any]) -> CoreSchema | None:
    match node["type"]:
        case "literal":
            return _guard_values(node["expected"])
        case "enum":
            return _guard_values([member.value for member in node["members"]])
        case kind:
            return GUARDS.get(kind)


def _guard_values(values: Sequence[Any]) -> CoreSchema | None:
    """``True == 1``, so a choice of numbers would take a boolean."""
    if not all(type(value) in (int, float, str) for value in values):
        return None
    return _one_of(" or ".join(map(repr, values)), *NUMERIC)


def _one_of(wanted: str, *choices: CoreSchema) -> CoreSchema:
    return core_schema.custom_error_schema(
        core_schema.union_schema(list(choices), mode="left_to_right"),
        "wrong_type",
        custom_error_message=f"Input should be {wanted}",
    )


INTEGER = core_schema.int_schema(strict=True)
NUMBER = core_schema.float_schema(strict=True)
TEXT = core_schema.str_schema(strict=True)
NUMERIC = (INTEGER, NUMBER, TEXT)
BOOLEAN = core_schema.bool_schema(strict=True)
BOOLEAN_TEXT = core_schema.literal_schema(["true", "false", "True", "False"])

# By the type of the core schema.
GUARDS: dict[str, CoreSchema] = {
    "int": _one_of("a valid integer", *NUMERIC),
    "float": _one_of("a valid number", *NUMERIC),
    "decimal": _one_of("a valid decimal number", *NUMERIC),
    "bool": _one_of("true or false", BOOLEAN, BOOLEAN_TEXT),
    "date": _one_of("a date as text, such as 2026-07-28", TEXT),
    "datetime": _one_of("a date and time as text, such as 2026-07-28T12:00:00Z", TEXT),
    "time": _one_of("a time as text, such as 12:00:00", TEXT),
    "timedelta": _one_of("a duration as text, such as P1DT2H", TEXT),
}
