"""What was wrong with arguments, in lines a model can act on: the field, what was given, what is allowed."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from jsonschema import ValidationError as SchemaFault
from pydantic_core import ErrorDetails

MAX_FAULTS = 20
MAX_SHOWN = 80

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = MAX_SHOWN
_shortened.maxlevel = 3


def shown(value: Any) -> str:
    """The value in at most eighty characters."""
    text = _shortened.repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def path_text(parts: Iterable[str | int]) -> str:
    """``("point", "tags", 0)`` as ``point.tags[0]``."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def bounded(faults: Sequence[str]) -> tuple[str, ...]:
    """The first faults, and how many more there are."""
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    return (*faults[:MAX_FAULTS], f"and {len(faults) - MAX_FAULTS} more")


def unknown_name(path: str, allowed: Sequence[str]) -> str:
    return f"{path} is unknown; allowed are {', '.join(allowed) or 'none'}"


def missing_name(path: str) -> str:
    return f"{path} is required but was not given"


def shown_name(name: str) -> str:
    """A name the client made up: bounded, and visibly a text unless it looks like a name."""
    return name if name.isidentifier() and len(name) <= MAX_SHOWN else shown(name)


def argument_faults(errors: Iterable[ErrorDetails], arguments: Any, allowed: Sequence[str]) -> tuple[str, ...]:
    """pydantic's errors, those about one value joined with "or"."""
    faults: list[str] = []
    rules: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    for error in errors:
        path = _value_path(error, arguments)
        text = path_text(path)
        if error["type"] == "missing":
            faults.append(missing_name(text))
        elif error["type"] in UNKNOWN:
            *place, name = path
            text = path_text([*place, shown_name(str(name))])
            faults.append(f"{text} is unknown" if place else unknown_name(text, allowed))
        else:
            given[text] = shown(error["input"])
            rules.setdefault(text, []).append(_rule(error))
    for text, wanted in rules.items():
        faults.append(f"{text}: {_joined(wanted)}, not {given[text]}")
    return bounded(faults)


def _joined(rules: Iterable[str]) -> str:
    """``must be an integer or a string`` from one rule for each member of a union."""
    first, *others = dict.fromkeys(rules)
    return " or ".join([first, *(other.removeprefix("must be ") for other in others)])


UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
# pydantic speaks of Python's types where a client knows JSON's.
OBJECTS = ("dict_type", "model_type", "dataclass_type", "model_attributes_type")


def _rule(error: ErrorDetails) -> str:
    if error["type"] in OBJECTS:
        return "must be an object"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"].endswith(("_parsing", "_from_float")):
        # What follows the comma tells how the parser failed.
        message = message.partition(",")[0]
    if message.startswith("Input should be "):
        return f"must be {message.removeprefix('Input should be ')}"
    return message[:1].lower() + message[1:]


def _value_path(error: ErrorDetails, arguments: Any) -> list[str | int]:
    """The location without the names of union members and validators pydantic puts into it."""
    path: list[str | int] = []
    current = arguments
    for position, part in enumerate(error["loc"], 1):
        if isinstance(current, dict) and part in current:
            current = current[part]
        elif isinstance(current, list) and isinstance(part, int):
            current = current[part] if part < len(current) else None
        elif not (error["type"] == "missing" and position == len(error["loc"])):
            continue
        path.append(part)
    return path


def schema_faults(errors: Iterable[SchemaFault], *, with_values: bool) -> tuple[str, ...]:
    """jsonschema's errors, those about names spelled out one by one."""
    lines = (line for error in errors for line in _schema_lines(error, with_values))
    return bounded(list(dict.fromkeys(lines)))


def _schema_lines(error: SchemaFault, with_values: bool) -> Iterator[str]:
    path = list(error.absolute_path)
    wanted: Any = error.validator_value
    if error.validator == "required":
        # One error a name, and the name is in the message alone.
        for name in [name for name in wanted if error.message.startswith(repr(name))]:
            yield missing_name(path_text([*path, name]))
    elif error.validator == "additionalProperties" and wanted is False:
        schema = cast(dict[str, Any], error.schema)
        allowed = list(schema.get("properties", {}))
        patterns = list(schema.get("patternProperties", {}))
        for name in cast(dict[str, Any], error.instance):
            if name not in allowed and not any(re.search(pattern, name) for pattern in patterns):
                yield unknown_name(path_text([*path, shown_name(name)]), [*allowed, *patterns])
    else:
        where = f"{path_text(path)}: " if path else ""
        value = f", not {shown(error.instance)}" if with_values else ""
        yield f"{where}{_schema_rule(error)}{value}"


def _schema_rule(error: SchemaFault) -> str:
    allowed: Any = error.validator_value
    validator: Any = error.validator
    match validator:
        case "type":
            return f"must be of type {' or '.join([allowed] if isinstance(allowed, str) else allowed)}"
        case None:
            return "must be left out"
        case "enum":
            return f"must be one of {', '.join(map(shown, allowed))}"
        case "const":
            return f"must be {shown(allowed)}"
        case "anyOf" | "oneOf":
            return f"must fit the schema's {error.validator}{_alternatives(error)}"
        case _:
            return f"must satisfy {error.validator} {shown(allowed)}"


def _alternatives(error: SchemaFault) -> str:
    """What each alternative lacks, for the few that can be read at a glance."""
    lines = [line for child in error.context or () for line in _schema_lines(child, False)]
    return f" ({' or '.join(lines)})" if 0 < len(lines) <= 5 else ""
