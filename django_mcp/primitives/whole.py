"""Arguments that one type of the site describes as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from django_mcp.exceptions import InvalidArguments, InvalidPrimitive
from django_mcp.primitives.arguments import repaired
from django_mcp.primitives.coercion import compile_validator
from django_mcp.primitives.decoding import JSONTexts
from django_mcp.primitives.faults import bounded, shown_name, unknown_name
from django_mcp.primitives.generation import UNUSABLE, generate_schema, reason
from django_mcp.primitives.schema import checked_schema, require_object
from django_mcp.primitives.signature import Signature


class WholeArguments:
    """Arguments as one type of the site describes them: a pydantic model, a dataclass or a ``TypedDict``.

    The function takes them as its one parameter. Names that the type does not know are refused, unless
    it says itself what becomes of them.
    """

    __slots__ = ("_is_closed", "_json_texts", "_name", "_names", "_validate", "schema")

    def __init__(self, kind: Any, signature: Signature, origin: str) -> None:
        if len(signature.names) != 1:
            raise InvalidPrimitive(
                f"{origin} was given the input_schema {kind!r} and takes {', '.join(signature.names) or 'nothing'}. "
                "A type describes the arguments as a whole: let the function take them as one parameter, "
                "def function(arguments, context)."
            )
        adapter, self.schema = _read_whole(kind, origin)
        self._is_closed = self.schema.setdefault("additionalProperties", False) is False
        checked_schema(self.schema, f"The input schema of {origin}")
        require_object(self.schema, option="input_schema", origin=origin)
        self._name = signature.names[0]
        self._names = tuple(self.schema.get("properties", {}))
        self._json_texts = JSONTexts(self.schema)
        self._validate: Callable[[dict[str, Any]], Any] = compile_validator(adapter.core_schema).validate_python

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WholeArguments) and self.schema == other.schema

    __hash__ = None  # type: ignore[assignment]  # what is equal by a dict has no hash

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in given if name not in self._names] if self._is_closed else []
        faults = tuple(unknown_name(shown_name(name), self._names) for name in unknown)
        known = {name: value for name, value in given.items() if name not in unknown}
        found: tuple[str, ...] = ()
        try:
            value = self._validate(known)
        except ValidationError as error:
            value, found = repaired(self._validate, known, error, self._json_texts, self._names)
        if faults or found:
            raise InvalidArguments(*bounded((*found, *faults)))
        return {self._name: value}


def _read_whole(kind: Any, origin: str) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        return adapter, generate_schema(adapter, "validation", name=getattr(kind, "__name__", ""))
    except UNUSABLE as error:
        raise InvalidPrimitive(
            f"{origin} was given input_schema={kind!r}, which describes no arguments ({reason(error)}). It is a JSON "
            "Schema, or a pydantic model, dataclass or TypedDict: write input_schema=OrderIn."
        ) from error
