"""Lists that a template makes for each caller: rows of the site, as resources."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol, Self

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.functions import is_async, read_origin
from django_mcp.primitives.signature import Signature, read_signature
from django_mcp.primitives.uris import expand
from django_mcp.protocol.content import ResourceLink
from django_mcp.protocol.pagination import invalid_cursor
from django_mcp.protocol.uri_templates import UriTemplate


@dataclass(frozen=True, slots=True)
class ResourceRows:
    """What ``list_resources`` returns where rows need help to become resources.

    ``link`` gets a row and returns a ``ResourceLink``, or a dict with the variables of the template and
    fields of a ``ResourceLink``.
    """

    rows: Any
    link: Callable[[Any], Any]


class RowReader(Protocol):
    """Reads rows of the database a page at a time."""

    def __call__(self, rows: Any, position: Any, count: int, /) -> list[tuple[Any, Any]] | None:
        """At most ``count`` rows after the position, each with its own; ``None`` if these are no such rows.

        Raises ``ProtocolError`` -32602 for a position of another order.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RowList:
    """A function of the context that returns rows, and the template that gives them URIs."""

    function: Callable[..., Any]
    is_async: bool
    signature: Signature
    template: UriTemplate
    defaults: Mapping[str, Any]

    @classmethod
    def from_function(cls, function: Any, *, template: UriTemplate, defaults: Mapping[str, Any], origin: str) -> Self:
        """``defaults`` are fields of the template that its resources have, too."""
        if isinstance(function, type) or not callable(function) or inspect.isasyncgenfunction(function):
            raise InvalidPrimitive(
                f"{origin} was given list_resources={function!r}. It is a function of the context that returns a "
                "QuerySet or a list: write list_resources=lambda context: Ticket.objects.filter(owner=context.user)."
            )
        own_origin, _ = read_origin(function)
        signature = read_signature(function, own_origin)
        if signature.names:
            raise InvalidPrimitive(
                f"{origin} was given list_resources={own_origin}, which takes {', '.join(signature.names)}. It is "
                "called with the context, if it takes one, and nothing else: write def function(context)."
            )
        return cls(
            function=function, is_async=is_async(function), signature=signature, template=template, defaults=defaults
        )

    def prepare(self, context: Any, position: Any, count: int, read_rows: RowReader) -> Invocation:
        """The call for at most ``count`` resources after the position: pairs of a position and a link."""
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context({}, context),
            is_async=self.is_async,
            finish=partial(self._finish, position=position, count=count, read_rows=read_rows),
        )

    def _finish(
        self, returned: Any, *, position: Any, count: int, read_rows: RowReader
    ) -> list[tuple[Any, ResourceLink]]:
        if not isinstance(returned, ResourceRows):
            returned = ResourceRows(returned, _itself)
        rows, link = returned.rows, returned.link
        pairs = read_rows(rows, position, count)
        if pairs is not None:
            return [(place, self._link(link(row))) for row, place in pairs]
        return self._listed(rows, link, position)[:count]

    def _listed(self, rows: Any, link: Callable[[Any], Any], position: Any) -> list[tuple[Any, ResourceLink]]:
        """All that come after the URI that ``position`` is, of what is no row of the database."""
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
            raise InvalidOutput(
                f"list_resources of {self.template.text} returned a value of type {type(rows).__name__}. It returns "
                "a QuerySet, a list or ResourceRows(rows, link)."
            )
        links = [self._link(link(row)) for row in rows]
        uris = [one.uri for one in links]
        start = 0
        if position is not None:
            if position not in uris:
                raise invalid_cursor()
            start = uris.index(position) + 1
        return list(zip(uris[start:], links[start:], strict=True))

    def _link(self, row: Any) -> ResourceLink:
        if isinstance(row, ResourceLink):
            return row
        values = {name: self._read(row, name) for name in self.template.variables}
        uri = expand(self.template, values)
        if self.template.match(uri) is None:
            raise InvalidOutput(
                f"list_resources of {self.template.text} returned a row of type {type(row).__name__} whose URI would "
                "be another resource's or none. Leave out rows without a value, or with one that the template "
                "does not take."
            )
        described = {"name": str(row)}
        if isinstance(row, Mapping):
            described = {"name": uri} | {key: value for key, value in row.items() if key in LINK_FIELDS}
        return ResourceLink(**{**self.defaults, **described, "uri": uri})

    def _read(self, row: Any, name: str) -> Any:
        try:
            return row[name] if isinstance(row, Mapping) else getattr(row, name)
        except (AttributeError, KeyError):
            if name in self.template.query:
                return None  # it is optional
            raise InvalidOutput(
                f"list_resources of {self.template.text} returned a row of type {type(row).__name__} without "
                f"{name}. Return ResourceRows(rows, link=lambda row: {{{name!r}: ...}})."
            ) from None


LINK_FIELDS = frozenset(field.name for field in fields(ResourceLink)) - {"uri"}


def _itself(row: Any) -> Any:
    return row
