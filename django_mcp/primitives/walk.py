"""Every subschema of a JSON Schema, told apart from data that only looks like one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Keywords whose value is a mapping from names to schemas.
NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"})
# Keywords whose value is data.
DATA = frozenset({"const", "default", "enum", "example", "examples"})

Path = tuple[str, ...]


def walk(schema: Any, path: Path | None = ()) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Pairs of a path and a subschema, the root first.

    The path is the chain of property names from the root, and ``None`` for whatever is reached
    otherwise.
    """
    if isinstance(schema, list):
        for item in schema:
            yield from walk(item, None)
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword, value in list(schema.items()):
        if keyword == "properties" and isinstance(value, Mapping):
            for name, item in value.items():
                yield from walk(item, None if path is None else (*path, name))
        elif keyword in NAMED and isinstance(value, Mapping):
            for item in value.values():
                yield from walk(item, None)
        elif keyword not in DATA:
            yield from walk(value, None)
