"""Python values to what JSON can say, for everything a site's code returns.

The standard library's types are written as pydantic's schemas describe them; what is left, Django's
types above all, goes through the ``default`` hook that the site's composition hands in.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import math
import pathlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from enum import Enum
from typing import Any

import pydantic
from pydantic_core import to_jsonable_python

from django_mcp.exceptions import InvalidOutput

NOT_FINITE = "A non-finite number (NaN or Infinity) was returned, which JSON cannot carry."
TOO_DEEP = "The returned value contains itself or is nested too deeply."

# The ``default`` of ``json.dumps``: a value JSON can say for one it cannot, or ``TypeError``.
JSONDefault = Callable[[Any], Any]


def to_jsonable(value: Any, default: JSONDefault) -> Any:
    """The value built from dicts with text keys, lists, texts, finite numbers, booleans and None.

    Raises ``InvalidOutput`` for what cannot be built from them.
    """
    try:
        return _convert(value, default)
    except RecursionError:
        raise InvalidOutput(TOO_DEEP) from None


def resolve_texts(value: Any) -> Any:
    """A copy in which whatever is no JSON, such as a lazily translated text, became its ``str()``."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict | Mapping):
        return {str(key): resolve_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_texts(item) for item in value]
    return str(value)


def is_lazy(value: Any) -> bool:
    """Whether something in it becomes a text only when it is asked, such as a lazily translated one."""
    if isinstance(value, Mapping):
        return any(is_lazy(key) or is_lazy(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return any(map(is_lazy, value))
    return not (value is None or isinstance(value, str | int | float))


def _convert(value: Any, default: JSONDefault) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return _finite(value)
    if kind is dict:
        return _object(value, default)
    if kind is list or kind is tuple:
        return [_convert(item, default) for item in value]
    if (write := SCALARS.get(kind)) is not None:
        return write(value)
    return _convert_other(value, default)


def _convert_other(value: Any, default: JSONDefault) -> Any:
    if isinstance(value, Enum):
        return _convert(value.value, default)
    if isinstance(value, pydantic.BaseModel):
        return _convert(dumped(value, default), default)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: _convert(getattr(value, field.name), default) for field in fields}
    for base, write in SUBCLASSES:
        if isinstance(value, base):
            return write(value)
    if isinstance(value, Mapping):
        return _object(value, default)
    if isinstance(value, COLLECTIONS) and not isinstance(value, bytes | bytearray | memoryview):
        return [_convert(item, default) for item in value]
    return _convert(_from_hook(value, default), default)


def _from_hook(value: Any, default: JSONDefault) -> Any:
    try:
        converted = default(value)
    except TypeError:
        raise _unsupported(value) from None
    if type(converted) is type(value):
        raise _unsupported(value)
    return converted


def _unsupported(value: Any) -> InvalidOutput:
    if inspect.iscoroutine(value):
        value.close()
        return InvalidOutput(
            "A coroutine was returned instead of its result. A decorator hides that the function is "
            "async: make the decorator's wrapper async and await the function in it."
        )
    kind = type(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return InvalidOutput(
            f"A value of type {kind.__name__} was returned. Bytes are sent with a media type: "
            '@tool(mime_type="image/png"), ImageContent, AudioContent or ResourceContents.'
        )
    return InvalidOutput(
        f"A value of type {kind.__module__}.{kind.__qualname__} was returned, which cannot be written as "
        "JSON. Return texts, numbers, lists, dicts, dataclasses or pydantic models, or declare the fields that "
        "clients may see, in a dataclass or the like, by the return annotation or output_schema."
    )


def dumped(value: pydantic.BaseModel, default: JSONDefault) -> Any:
    """The model as its serialization schema describes it."""
    return value.model_dump(mode="json", by_alias=True, fallback=lambda item: _from_hook(item, default), warnings=False)


def _object(value: Mapping[Any, Any], default: JSONDefault) -> dict[str, Any]:
    result = {key if type(key) is str else _key(key, default): _convert(item, default) for key, item in value.items()}
    if len(result) != len(value):
        raise InvalidOutput("Two keys of a returned dict are the same text once they are written as JSON.")
    return result


def _key(key: Any, default: JSONDefault) -> str:
    written = _convert(key, default)
    if isinstance(written, str):
        return written
    if written is None or isinstance(written, bool):
        return {None: "null", True: "true", False: "false"}[written]
    if isinstance(written, int | float):
        return str(written)
    raise InvalidOutput(f"A dict with a key of type {type(key).__name__} was returned. JSON keys are texts.")


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidOutput(NOT_FINITE)
    return float(value)


def _decimal(value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise InvalidOutput(NOT_FINITE)
    # Scientific notation would not fit the pattern of the published schema. Huge exponents keep it.
    return format(value, "f") if abs(value.adjusted()) < 100 else str(value)


SCALARS: dict[type, Callable[[Any], Any]] = {
    datetime.datetime: to_jsonable_python,
    datetime.date: to_jsonable_python,
    datetime.time: to_jsonable_python,
    datetime.timedelta: to_jsonable_python,
    uuid.UUID: str,
    decimal.Decimal: _decimal,
}

# What a subclass is written as. bool cannot be subclassed; the order matters for datetime and date.
SUBCLASSES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str),
    (int, int),
    (float, _finite),
    (decimal.Decimal, _decimal),
    (uuid.UUID, str),
    (pathlib.PurePath, str),
    (datetime.datetime, to_jsonable_python),
    (datetime.date, to_jsonable_python),
    (datetime.time, to_jsonable_python),
    (datetime.timedelta, to_jsonable_python),
)

# What is written as it is, without a look into it.
WRITABLE = (Enum, *(base for base, _write in SUBCLASSES))

COLLECTIONS = (Set, Sequence, Iterator, ValuesView)
