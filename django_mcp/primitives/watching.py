"""``watch=`` and ``uri_for=`` of a resource, ``invalidates=`` of a tool: which URIs a change is about.

Models are known here by what they can do only; who listens to them is no matter of this row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import uritemplate

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.protocol.uri_templates import UriTemplate


@dataclass(frozen=True, slots=True)
class Watch:
    """``models`` are classes or names such as ``"helpdesk.Ticket"``; ``uris`` says what an object stands behind."""

    models: tuple[Any, ...]
    uris: Callable[[Any], Iterable[str]]


def read_watch(watch: Any, uri_for: Any, own: str | UriTemplate, origin: str) -> Watch | None:
    """What the options of a resource mean; raises ``InvalidPrimitive`` for what cannot be watched."""
    if watch is None:
        if uri_for is not None:
            raise InvalidPrimitive(
                f"{origin} was given uri_for={uri_for!r} without a model. It says which URI an object of a watched "
                "model stands behind: write watch=Ticket beside it."
            )
        return None
    models = tuple(watch) if isinstance(watch, list | tuple) else (watch,)
    if not models or not all(map(_is_model, models)):
        raise InvalidPrimitive(
            f"{origin} was given watch={watch!r}. It is a model, its name or a list of these: write watch=Ticket "
            'or watch="helpdesk.Ticket".'
        )
    if uri_for is not None:
        if not callable(uri_for):
            raise InvalidPrimitive(
                f"{origin} was given uri_for={uri_for!r}. It is a function of an object: write "
                'uri_for=lambda ticket: f"ticket://{ticket.pk}".'
            )
        return Watch(models, partial(_given, uri_for))
    if isinstance(own, str):
        return Watch(models, lambda _: (own,))
    _check_variables(models, own, origin)
    return Watch(models, partial(_expanded, own))


def _is_model(value: Any) -> bool:
    if isinstance(value, str):
        return value.count(".") == 1 and all(part.isidentifier() for part in value.split("."))
    return isinstance(value, type) and hasattr(value, "_meta")


def _check_variables(models: Sequence[Any], template: UriTemplate, origin: str) -> None:
    for model in models:
        lacking = [] if isinstance(model, str) else [name for name in template.variables if not hasattr(model, name)]
        if lacking:
            raise InvalidPrimitive(
                f"{origin} watches {model.__name__}, which has no attribute {', '.join(lacking)} for its template "
                f"{template.text!r}. Say which URI an object stands behind: write uri_for=lambda obj: ..."
            )


def _given(uri_for: Callable[[Any], Any], obj: Any) -> Iterable[str]:
    found = uri_for(obj)
    if found is None:
        return ()
    return (found,) if isinstance(found, str) else tuple(found)


def _expanded(template: UriTemplate, obj: Any) -> Iterable[str]:
    yield expand(template, {name: getattr(obj, name) for name in template.variables})


def expand(template: UriTemplate, values: Mapping[str, Any]) -> str:
    """The URI that the template stands for with these values."""
    return str(uritemplate.expand(template.text, {name: str(value) for name, value in values.items()}))


def read_invalidates(invalidates: Any, names: Iterable[str], origin: str) -> tuple[UriTemplate, ...]:
    """The templates of the resources that a tool changes, their variables being its parameters."""
    if isinstance(invalidates, str) or not isinstance(invalidates, Iterable):
        raise InvalidPrimitive(
            f"{origin} was given invalidates={invalidates!r}. It is a list of URIs, in which the tool's arguments "
            'may stand: write invalidates=["ticket://{number}"].'
        )
    templates = tuple(UriTemplate(uri) for uri in invalidates)
    for template in templates:
        unknown = set(template.variables).difference(names)
        if unknown:
            raise InvalidPrimitive(
                f"{origin} invalidates {template.text!r}, but has no parameter {', '.join(sorted(unknown))}. "
                "Each variable of such a URI is a parameter of the tool: add it, or publish from the function."
            )
    return templates
