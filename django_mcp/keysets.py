"""Pages of querysets without OFFSET: each goes on after the values that the last row is ordered by.

A page costs one query, whatever comes before it, and rows that are added meanwhile shift nothing.
NULLs come last, whatever the database does by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.exceptions import FieldError, ValidationError
from django.db.models import F, Field, Manager, Model, Q, QuerySet
from django.db.models.expressions import OrderBy
from django.utils.duration import duration_string

from django_mcp.exceptions import InvalidOutput
from django_mcp.protocol.pagination import invalid_cursor

PREFIX = "_mcp_key_"
PLAIN = (str, int, float)
TEXTS = (datetime, date, time, Decimal, UUID)


@dataclass(frozen=True, slots=True)
class _Key:
    """One thing the rows are ordered by."""

    name: str
    descending: bool
    nullable: bool

    def __str__(self) -> str:
        return f"-{self.name}" if self.descending else self.name

    @property
    def ordering(self) -> OrderBy:
        nulls_last = True if self.nullable else None
        reference = F(self.name)
        return reference.desc(nulls_last=nulls_last) if self.descending else reference.asc(nulls_last=nulls_last)

    def equal(self, value: Any) -> Q:
        return Q(**{f"{self.name}__isnull": True}) if value is None else Q(**{self.name: value})

    def after(self, value: Any) -> Q | None:
        if value is None:
            return None
        later = Q(**{f"{self.name}__{'lt' if self.descending else 'gt'}": value})
        return later | self.equal(None) if self.nullable else later


def read_rows(rows: Any, position: Any, count: int) -> list[tuple[Any, Any]] | None:
    """At most ``count`` rows of a queryset after the position, each with its own; ``None`` for other values.

    Raises ``InvalidOutput`` for a queryset that cannot be read so, and ``ProtocolError`` -32602 for a
    position of another order.
    """
    queryset = rows.all() if isinstance(rows, Manager) else rows
    if not isinstance(queryset, QuerySet):
        return None
    _check(queryset)
    keys = list(_keys(queryset))
    if not queryset.query.standard_ordering:
        queryset = queryset.reverse()  # which the keys know of
    names = [f"{PREFIX}{number}" for number in range(len(keys))]
    queryset = queryset.annotate(**{name: F(key.name) for name, key in zip(names, keys, strict=True)})
    order = ",".join(map(str, keys))
    if position is not None:
        fields = [queryset.query.annotations[name].output_field for name in names]
        queryset = queryset.filter(_after(keys, _values(position, order, fields)))
    ordered = queryset.order_by(*(key.ordering for key in keys))
    return [(row, [order, *(_written(_read(row, name)) for name in names)]) for row in ordered[:count]]


def _check(queryset: QuerySet[Any]) -> None:
    query = queryset.query
    if query.is_sliced or query.combinator or isinstance(query.group_by, tuple):
        raise InvalidOutput(
            "list_resources returned a QuerySet that is sliced, a union or grouped by values(). Pages are read with "
            "filters, which such a QuerySet does not take: return it without, or as a list."
        )


def _keys(queryset: QuerySet[Any]) -> Iterator[_Key]:
    """What the rows are ordered by, and the primary key so that no two rows are equal."""
    query = queryset.query
    default = query.get_meta().ordering if query.default_ordering else ()
    for item in query.order_by or default or ():
        key = _key(queryset, item)
        yield key
        if key.name == "pk":
            return
    yield _Key("pk", descending=False, nullable=False)


def _key(queryset: QuerySet[Any], item: Any) -> _Key:
    descending = not queryset.query.standard_ordering
    if isinstance(item, OrderBy):
        descending, item = descending != item.descending, item.expression
    if isinstance(item, F):
        item = item.name  # type: ignore[attr-defined]  # the stubs leave it out
    if not isinstance(item, str) or item == "?":
        raise _unusable(item, "an expression", "annotate() it and order by its name")
    if item.startswith("-"):
        descending, item = not descending, item[1:]
    opts = queryset.query.get_meta()
    if item in ("pk", opts.pk.name):
        return _Key("pk", descending=descending, nullable=False)
    return _Key(item, descending=descending, nullable=_is_nullable(queryset, item))


def _is_nullable(queryset: QuerySet[Any], name: str) -> bool:
    query = queryset.query
    if name in query.annotations:
        return True
    try:
        path, field, targets, _rest = query.names_to_path(name.split("__"), query.get_meta(), fail_on_missing=True)
    except FieldError:
        raise _unusable(name, "a transform or a field that is not there", "annotate() it") from None
    if any(step.m2m for step in path):
        raise _unusable(name, "a relation to many rows", "order by a field of the row itself")
    if field.is_relation and not name.endswith(f"{field.attname}"):
        raise _unusable(name, "a relation", f"write {name}_id, or a field of the other row")
    return any(getattr(step.join_field, "null", True) for step in path) or targets[0].null


def _unusable(item: Any, what: str, remedy: str) -> InvalidOutput:
    return InvalidOutput(
        f"list_resources returned a QuerySet ordered by {item!r}, which is {what}. Pages go on after the values of "
        f"fields: {remedy}."
    )


def _after(keys: list[_Key], values: list[Any]) -> Q:
    """The rows after these values: later in the first key, or equal in it and later in the second, and so on."""
    condition, equal = Q(pk__in=[]), Q()
    for key, value in zip(keys, values, strict=True):
        if (later := key.after(value)) is not None:
            condition |= equal & later
        equal &= key.equal(value)
    return condition


def _values(position: Any, order: str, fields: list[Field[Any, Any]]) -> list[Any]:
    written_order, *written = position
    if written_order != order or len(written) != len(fields):
        raise invalid_cursor()
    try:
        return [field.to_python(value) for field, value in zip(fields, written, strict=True)]
    except ValidationError:
        raise invalid_cursor() from None


def _read(row: Any, name: str) -> Any:
    if isinstance(row, Model):
        return getattr(row, name)
    if isinstance(row, Mapping):
        return row[name]
    raise InvalidOutput(
        f"list_resources returned a QuerySet of {type(row).__name__} rows. Rows are model instances or dicts: "
        "return it without values_list()."
    )


def _written(value: Any) -> Any:
    """As JSON that the field's ``to_python`` reads without loss."""
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, timedelta):
        return duration_string(value)
    if isinstance(value, TEXTS):
        return value.isoformat() if isinstance(value, date | time) else str(value)
    raise InvalidOutput(
        f"list_resources returned a QuerySet ordered by a value of type {type(value).__name__}. Order by texts, "
        "numbers, dates or UUIDs."
    )
