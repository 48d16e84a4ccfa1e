"""``x-mcp-header``: arguments that clients repeat in an HTTP header (MH-15, MH-16).

A client drops the whole tool over one broken rule, so every rule is checked at registration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.walk import walk
from django_mcp.protocol.headers import HeaderParam

KEYWORD = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
KINDS = ("string", "integer", "boolean")
MAX_INTEGER = 2**53 - 1
EXAMPLE = 'write region: Annotated[str, Header("Region")]'


class Header:
    """Marks a parameter that clients also send as a header: ``Annotated[str, Header("Region")]``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not _is_token(name):
            raise InvalidPrimitive(
                f"Header was given {name!r}. A header's name is made of letters, digits and - _ . "
                f"without spaces: {EXAMPLE}."
            )
        self.name = name

    def __repr__(self) -> str:
        return f"Header({self.name!r})"

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**_without_null(handler(core_schema)), KEYWORD: self.name}


def _is_token(name: Any) -> bool:
    return isinstance(name, str) and TOKEN.fullmatch(name) is not None


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An optional parameter's own schema: the keyword belongs on one plain type."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def read_header_params(schema: Mapping[str, Any], origin: str) -> tuple[HeaderParam, ...]:
    """The marked parameters of an input schema, or ``InvalidPrimitive`` for the first broken rule."""
    found: dict[str, HeaderParam] = {}
    for path, subschema in walk(schema):
        if KEYWORD not in subschema:
            continue
        param = _read_header_param(path, subschema, origin)
        if (other := found.get(param.header.lower())) is not None:
            raise InvalidPrimitive(
                f"{origin} marks {'.'.join(other.path)} and {'.'.join(param.path)} with the same "
                f"{KEYWORD} {param.header!r}. Every header belongs to one parameter: give them two names."
            )
        found[param.header.lower()] = param
    return tuple(found.values())


def _read_header_param(path: tuple[str, ...] | None, schema: Mapping[str, Any], origin: str) -> HeaderParam:
    name, kind = schema[KEYWORD], schema.get("type")
    if not path:
        raise InvalidPrimitive(
            f"{origin} has {KEYWORD} {name!r} where clients do not look for it. It belongs on a property "
            "that is reached through properties alone, not through items, anyOf, if or $ref: "
            f"{EXAMPLE} as a parameter of the function itself."
        )
    where = ".".join(path)
    if not _is_token(name):
        raise InvalidPrimitive(
            f"{origin} marks {where} with {KEYWORD} {name!r}. A header's name is made of letters, digits "
            f"and - _ . without spaces: {EXAMPLE}."
        )
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidPrimitive(
            f"{origin} marks {where}, which is of type {kind!r}, with {KEYWORD}. Allowed are string, "
            f"integer and boolean: {EXAMPLE}."
        )
    if schema.get("writeOnly") is True or schema.get("format") == "password":  # MH-37
        raise InvalidPrimitive(
            f"{origin} marks {where}, which is a secret, with {KEYWORD}. Proxies read and log headers: "
            "leave the mark out."
        )
    _check_range(where, schema, origin)
    return HeaderParam(header=name, path=path, kind=cast(Any, kind))


def _check_range(where: str, schema: Mapping[str, Any], origin: str) -> None:
    values = [schema.get(key) for key in ("default", "const", "minimum", "maximum")]
    for value in [*values, *schema.get("enum", ())]:
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise InvalidPrimitive(
                f"{origin} marks {where} with {KEYWORD} and allows {value}. A number in a header stays "
                "within 2**53 - 1 on both sides: narrow the limits or leave the mark out."
            )
