"""The URIs and URI templates that resources are registered under, checked then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import UUID

import uritemplate

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.signature import Signature
from django_mcp.protocol.uri_templates import UriTemplate, has_bad_escape

# A scheme and what RFC 3986 lets follow it.
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
RESERVED = re.compile(r"\{(?:\+|#)([^{}]*)\}")
EXPRESSION = re.compile(r"\{[^{}]*\}")


def checked_uri(uri: Any, origin: str, *, written: str | None = None) -> str:
    """The URI, if it is absolute. Errors show it as the author has ``written`` it."""
    if not isinstance(uri, str) or not URI.fullmatch(uri) or has_bad_escape(uri):
        raise _no_uri(uri if written is None else written, origin)
    return uri


def read_template(uri_template: Any, signature: Signature, origin: str) -> UriTemplate:
    """The template, whose variables are the parameters of the function."""
    if not isinstance(uri_template, str):
        raise _no_uri(uri_template, origin)
    template = UriTemplate(uri_template)
    checked_uri(EXPRESSION.sub("x", uri_template), origin, written=uri_template)
    if EXPRESSION.search(uri_template.partition(":")[0]):
        raise _no_uri(uri_template, origin)
    if not template.variables:
        raise InvalidPrimitive(
            f"{origin} has the template {uri_template!r}, which has no variables. A template stands for "
            f'many URIs: write @resource("{uri_template}") for one.'
        )
    if set(template.variables) != set(signature.names):
        raise InvalidPrimitive(
            f"{origin} takes {', '.join(signature.names) or 'nothing'} and its template {uri_template!r} has "
            f"the variables {', '.join(template.variables)}. Each variable is a parameter and each parameter "
            f"a variable: write def {origin.rpartition('.')[2]}({', '.join(template.variables)})."
        )
    return template


def typed_by_converters(signature: Signature, template: UriTemplate) -> Signature:
    """The signature, with parameters that have no annotation annotated as their converters say."""
    return replace(
        signature,
        parameters=tuple(
            replace(parameter, annotation=_TYPES.get(template.converters.get(parameter.name, ""), Any))
            if parameter.annotation is Any
            else parameter
            for parameter in signature.parameters
        ),
    )


_TYPES: dict[str, Any] = {"int": int, "path": str, "slug": str, "str": str, "uuid": UUID}


def expand(template: UriTemplate, values: Mapping[str, Any]) -> str:
    """The URI that ``template.match`` reads these values from. ``None`` leaves a variable of a query out."""
    reserved = {name for names in RESERVED.findall(template.text) for name in names.split(",")}
    return uritemplate.expand(template.text, {name: _value(name, values[name], reserved) for name in values})


def _value(name: str, value: Any, reserved: set[str]) -> str | None:
    if value is None:
        return None
    text = str(value)
    # {+name} leaves escapes as they are, so a text that looks like one would be read as another text.
    return quote(text, safe="/:@!$&'()*,;=~") if name in reserved else text


def _no_uri(uri: Any, origin: str) -> InvalidPrimitive:
    return InvalidPrimitive(
        f"{origin} was given the URI {uri!r}. It is an absolute URI: a scheme, a colon and characters of "
        'RFC 3986, others percent-encoded. Write "help://opening-hours" or "ticket://{pk}".'
    )
