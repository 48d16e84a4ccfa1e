"""What is returned, cut to the fields that an output schema declares.

A model instance, a row of a QuerySet or a subclass of the declared class has more to it than a client may
see: what is not declared is never sent. Where the schema allows additional properties, all are declared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pydantic

from django_mcp.exceptions import InvalidOutput
from django_mcp.primitives.jsonable import TOO_DEEP, WRITABLE, JSONDefault, dumped
from django_mcp.primitives.walk import walk

ABSENT = object()
LEAVES = (*WRITABLE, bytes, bytearray, memoryview, bool, type(None))
# Keywords that may allow properties which "properties" does not name.
OPENING = frozenset({"patternProperties", "allOf", "if", "dependentSchemas", "$dynamicRef"})


class DeclaredFields:
    """Reads values as one output schema describes them."""

    __slots__ = ("_places", "_root")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        # By the identity of subschemas, which live as long as the root.
        self._places: dict[int, _Place] = {}

    @classmethod
    def of(cls, schema: Mapping[str, Any] | None) -> DeclaredFields | None:
        """``None`` for a schema that declares no field and no list, in which nothing is left out."""
        declares = schema is not None and any(
            "properties" in one or "array" in one.get("type", ()) for _, one in walk(dict(schema))
        )
        return cls(schema) if schema is not None and declares else None

    def read(self, value: Any, default: JSONDefault) -> Any:
        """The value with objects replaced by dicts of their declared fields. Raises ``InvalidOutput``."""
        try:
            return self._read(value, self._root, default)
        except RecursionError:
            raise InvalidOutput(TOO_DEEP) from None

    def _read(self, value: Any, schema: Any, default: JSONDefault) -> Any:
        if isinstance(value, LEAVES):
            return value
        if isinstance(value, pydantic.BaseModel):
            value = dumped(value, default)
        place = self._place(schema)
        if isinstance(value, Mapping):
            # Other keys than texts become texts later.
            declared = {key: item for key, item in value.items() if not isinstance(key, str) or place.declares(key)}
            return {key: self._read(item, place.member(key), default) for key, item in declared.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value) if place.declares(field.name)]
            return {name: self._read(getattr(value, name), place.member(name), default) for name in names}
        if place.items is not None:
            return self._rows(value, place.items, default)
        if place.properties is None or isinstance(value, list | tuple) or _is_written(value, default):
            return value
        return self._object(value, place, default)

    def _rows(self, value: Any, items: Any, default: JSONDefault) -> Any:
        if not isinstance(value, Iterable) and callable(rows := getattr(value, "all", None)):
            value = rows()  # the manager of a relation
        return [self._read(item, items, default) for item in value] if isinstance(value, Iterable) else value

    def _object(self, value: Any, place: _Place, default: JSONDefault) -> dict[str, Any]:
        properties: Mapping[str, Any] = place.properties or {}
        read = {name: (getattr(value, name, ABSENT), field) for name, field in properties.items()}
        missing = [name for name in place.required if read.get(name, (ABSENT,))[0] is ABSENT]
        if missing:
            raise InvalidOutput(
                f"A value of type {type(value).__name__} was returned, which has no {missing[0]}, although the output "
                "schema declares it."
            )
        return {name: self._read(item, field, default) for name, (item, field) in read.items() if item is not ABSENT}

    def _place(self, schema: Any) -> _Place:
        found = self._places.get(id(schema))
        if found is None:
            if not isinstance(schema, Mapping):
                return ANYTHING
            found = self._places[id(schema)] = _Place(list(self._choices(schema)))
        return found

    def _choices(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """The schemas behind references, one for each alternative."""
        if not isinstance(schema, Mapping):
            yield {}
        elif isinstance(reference := schema.get("$ref"), str):
            yield from self._choices(self._root.get("$defs", {}).get(reference.removeprefix("#/$defs/")))
        elif choices := [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
            for choice in choices:
                yield from self._choices(choice)
        else:
            yield schema


def _is_written(value: Any, default: JSONDefault) -> bool:
    """Whether the site's hook has JSON for it, such as the text of a lazy translation."""
    try:
        default(value)
    except TypeError:
        return False
    return True


class _Place:
    """What a schema says of a value: its fields as an object, its ``items`` as a list."""

    __slots__ = ("_additional", "_names", "items", "properties", "required")

    def __init__(self, choices: list[Mapping[str, Any]]) -> None:
        # An object that says nothing of its fields itself is read as the first alternative.
        first = next((one for one in choices if "properties" in one or "array" in one.get("type", ())), {})
        self.properties: Mapping[str, Any] | None = first.get("properties")
        self.required: Iterable[str] = first.get("required", ())
        self.items = None if self.properties is not None or not first else first.get("items", {})
        objects = [one for one in choices if "object" in one.get("type", "object")]
        self._names = {name: field for one in reversed(objects) for name, field in one.get("properties", {}).items()}
        self._additional = next(filter(None, map(_additional, objects)), None) if objects else True

    def declares(self, name: str) -> bool:
        return self._additional is not None or name in self._names

    def member(self, name: Any) -> Any:
        return self._names.get(name, self._additional)


def _additional(schema: Mapping[str, Any]) -> Any:
    """The schema of properties without a name in it, as far as it allows any."""
    if "properties" not in schema or OPENING.intersection(schema):
        return schema.get("additionalProperties") or True
    return schema.get("additionalProperties")


ANYTHING = _Place([])
