"""Arguments from a client, checked and converted for the function that takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Protocol, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from django_mcp.exceptions import InvalidArguments, InvalidPrimitive
from django_mcp.primitives.coercion import compile_validator
from django_mcp.primitives.decoding import JSONTexts
from django_mcp.primitives.faults import argument_faults, bounded, missing_name, shown_name, unknown_name
from django_mcp.primitives.generation import UNUSABLE, generate_schema, reason
from django_mcp.primitives.headers import KEYWORD
from django_mcp.primitives.schema import CompiledSchema, checked_schema, fits, require_object
from django_mcp.primitives.signature import Parameter, Signature
from django_mcp.protocol.errors import ABSENT

# allow_inf_nan reaches what pydantic does not narrow by itself, such as dataclasses.
CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
JSON_SCALARS = (str, int, bool, type(None))


class Arguments(Protocol):
    """What a primitive needs from either kind of arguments."""

    schema: dict[str, Any]

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the function, or ``InvalidArguments`` with every fault at once."""


class TypedArguments:
    """Arguments as the signature describes them."""

    __slots__ = ("_json_texts", "_names", "_validate", "schema")

    def __init__(self, signature: Signature, origin: str) -> None:
        adapter = _read_adapter(signature, origin)
        self.schema = _read_schema(adapter, signature, origin)
        self._names = tuple(self.schema["properties"])
        self._json_texts = JSONTexts(self.schema)
        self._validate: Callable[[dict[str, Any]], dict[str, Any]]
        self._validate = compile_validator(adapter.core_schema).validate_python

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedArguments) and self.schema == other.schema

    __hash__ = None  # type: ignore[assignment]  # what is equal by a dict has no hash

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._validate(given)
        except ValidationError as error:
            value, faults = repaired(self._validate, given, error, self._json_texts, self._names)
        if faults:
            raise InvalidArguments(*faults)
        bound: dict[str, Any] = value
        return bound


def repaired(
    validate: Callable[[dict[str, Any]], Any],
    given: dict[str, Any],
    error: ValidationError,
    json_texts: JSONTexts,
    names: Sequence[str],
) -> tuple[Any, tuple[str, ...]]:
    """The value with JSON texts read, or what is wrong with it. What clients ought to send never comes here."""
    if (decoded := json_texts.decode(given)) is not None:
        given = decoded
        try:
            return validate(given), ()
        except ValidationError as second:
            error = second
    return None, argument_faults(error.errors(include_url=False, include_context=False), given, names)


def _read_adapter(signature: Signature, origin: str) -> TypeAdapter[Any]:
    fields = {parameter.name: _read_field(parameter) for parameter in signature.parameters}
    try:
        return TypeAdapter(with_config(CONFIG)(TypedDict("Arguments", fields)))  # type: ignore[operator]
    except UNUSABLE as error:
        raise _unusable(signature, origin, error) from error


def _read_field(parameter: Parameter) -> Any:
    annotation, default = parameter.annotation, parameter.default
    if isinstance(default, FieldInfo):
        annotation = Annotated[annotation, default]
    declared = [item for item in get_args(annotation)[1:] if isinstance(item, FieldInfo)]
    has_default = any(not item.is_required() for item in declared)
    if has_default or not (default is ABSENT or isinstance(default, FieldInfo)):
        return NotRequired[annotation]
    return annotation


def _unusable(signature: Signature, origin: str, error: Exception) -> InvalidPrimitive:
    """The message names the first parameter that is unusable by itself."""
    for parameter in signature.parameters:
        try:
            TypeAdapter(parameter.annotation, config=None).json_schema()
        except UNUSABLE as fault:
            return InvalidPrimitive(
                f"{origin} annotates {parameter.name} with {parameter.annotation!r}, which no argument can "
                f"be converted to ({reason(fault)}). Allowed are texts, numbers, dates, UUIDs, enums, Literal, "
                "lists, dicts, TypedDicts, dataclasses and pydantic models: use one of them and look the "
                "object up in the function. The user and the request are in a parameter annotated Context."
            )
    return InvalidPrimitive(
        f"{origin} has a signature that cannot be described to clients ({reason(error)}). Annotate its parameters "
        "with types that pydantic can describe."
    )


def _read_schema(adapter: TypeAdapter[Any], signature: Signature, origin: str) -> dict[str, Any]:
    try:
        made = generate_schema(adapter, "validation")
    except UNUSABLE as error:
        raise _unusable(signature, origin, error) from error
    schema: dict[str, Any] = {"type": "object", "properties": made.get("properties", {})}
    if "required" in made:
        schema["required"] = made["required"]
    schema["additionalProperties"] = False
    if "$defs" in made:
        schema["$defs"] = made["$defs"]
    for declared in schema["properties"].values():
        # The type of a marked parameter is published without its null.
        if KEYWORD in declared and declared.get("default", ABSENT) is None:
            del declared["default"]
    for parameter in signature.parameters:
        _publish_default(schema, parameter)
        if parameter.description is not None and (declared := schema["properties"].get(parameter.name)) is not None:
            declared.setdefault("description", parameter.description)
    checked_schema(schema, f"The input schema of {origin}")
    return schema


def _publish_default(schema: dict[str, Any], parameter: Parameter) -> None:
    """Tell clients the default where JSON can say it and the type allows it (BL-032)."""
    default = parameter.default
    declared = schema["properties"].get(parameter.name)
    if default is ABSENT or declared is None or isinstance(default, FieldInfo):
        return
    if type(default) not in JSON_SCALARS:
        try:
            default = TypeAdapter(parameter.annotation).dump_python(default, mode="json", warnings="error")
        except ValueError:
            return
    if fits(default, {**declared, "$defs": schema.get("$defs", {})}):
        declared["default"] = default


class VerbatimArguments:
    """Arguments as a schema written by the site describes them.

    The function takes them by name, or as one dict if its only parameter is called ``arguments``.
    """

    __slots__ = ("_as_dict", "_compiled", "_integers", "_json_texts", "_required", "_signature", "schema")

    def __init__(self, schema: Mapping[str, Any], signature: Signature, origin: str) -> None:
        self._compiled = CompiledSchema(schema, option="input_schema", origin=origin)
        require_object(schema, option="input_schema", origin=origin)
        self.schema = dict(schema)
        self._signature = signature
        self._as_dict = signature.names == ("arguments",)
        properties = schema.get("properties", {})
        if not self._as_dict:
            _check_names(list(properties), signature, origin)
        self._required = [parameter.name for parameter in signature.parameters if parameter.default is ABSENT]
        self._integers = tuple(
            name
            for name, declared in properties.items()
            if isinstance(declared, Mapping) and declared.get("type") == "integer"
        )
        self._json_texts = JSONTexts(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VerbatimArguments) and self.schema == other.schema

    __hash__ = None  # type: ignore[assignment]  # what is equal by a dict has no hash

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        faults = self._compiled.faults(given)
        if faults and (decoded := self._json_texts.decode(given)) is not None:
            given, faults = decoded, self._compiled.faults(decoded)
        if faults:
            raise InvalidArguments(*faults)
        given = self._with_integers(given)
        if self._as_dict:
            return {"arguments": given}
        self._check_call(given)
        return given

    def _with_integers(self, given: dict[str, Any]) -> dict[str, Any]:
        """``5.0`` is an integer to JSON Schema and becomes one for Python (BL-019)."""
        whole = {name: int(given[name]) for name in self._integers if type(given.get(name)) is float}
        return {**given, **whole}

    def _check_call(self, given: dict[str, Any]) -> None:
        """What the schema lets through although the function has no place for it."""
        names = self._signature.names
        faults = [missing_name(name) for name in self._required if name not in given]
        if not self._signature.takes_any:
            faults += [unknown_name(shown_name(name), names) for name in given if name not in names]
        if faults:
            raise InvalidArguments(*bounded(faults))


def _check_names(properties: list[str], signature: Signature, origin: str) -> None:
    names = signature.names
    unknown = [name for name in properties if name not in names and not signature.takes_any]
    missing = [
        parameter.name
        for parameter in signature.parameters
        if parameter.default is ABSENT and parameter.name not in properties
    ]
    if not unknown and not missing:
        return
    has, lacks = ("a property", "no parameter") if unknown else ("a required parameter", "no property")
    raise InvalidPrimitive(
        f"{origin} has {has} {(unknown or missing)[0]!r} and {lacks} of that name. The properties of "
        "input_schema are the parameters of the function: give both the same names, or let the function "
        "take everything as one parameter, arguments: dict."
    )
