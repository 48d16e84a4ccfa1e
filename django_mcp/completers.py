"""Suggestions from the database: what rows have in one of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.exceptions import FieldError
from django.db.models import Case, Field, Manager, Min, Model, Q, QuerySet, Value, When
from django.db.models.query_utils import DeferredAttribute

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.completion import MAX_VALUES, CompletionResult
from django_mcp.primitives.functions import read_origin
from django_mcp.primitives.signature import Signature, read_signature
from django_mcp.server.context import Context

# More than anybody types; databases refuse patterns that are longer by far.
LONGEST = 200
# Beyond it nobody reads the number, and finding it out would take a look at every row.
MOST_COUNTED = 1000
NOTHING = CompletionResult(values=(), total=0)


class QuerySetCompleter:
    """Suggests the values of ``field`` among rows in which one of ``search_fields`` contains what was typed.

    ``rows`` is a model, a manager, a ``QuerySet``, or a function that returns one of these and may take the
    context and ``arguments``, the values chosen before. Without ``search_fields`` the field itself is
    searched. Upper and lower case are the same, and what begins with the text comes first (CMP-05).
    """

    def __init__(self, rows: Any, field: str, *, search_fields: Iterable[str] = ()) -> None:
        self.field = field
        self.search_fields = _checked_names(search_fields) or (field,)
        self._rows = rows
        self._signature = None if _queryset(rows) is not None else _read_function(rows)
        if (queryset := _queryset(rows)) is not None:
            self._check(queryset)

    def __call__(self, value: str, arguments: dict[str, str], context: Context) -> CompletionResult:
        """At most a hundred values, cut by the database, and how many there are unless there are too many to count."""
        if not _is_searchable(value):
            return NOTHING
        values = list(self._matching(self._open(arguments, context), value)[: MOST_COUNTED + 1])
        total = len(values) if len(values) <= MOST_COUNTED else None
        return CompletionResult(values=values[:MAX_VALUES], total=total, has_more=len(values) > MAX_VALUES)

    def _open(self, arguments: dict[str, str], context: Context) -> QuerySet[Any]:
        rows = self._rows
        if self._signature is not None:
            kwargs: dict[str, Any] = {"arguments": arguments} if self._signature.names else {}
            rows = rows(**self._signature.with_context(kwargs, context))
        queryset = _queryset(rows)
        if queryset is None:
            raise TypeError(f"The rows of a QuerySetCompleter are {rows!r}, which is no QuerySet")
        return queryset

    def _matching(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        """The values of the field, each once, the best first."""
        known = queryset.filter(**{f"{self.field}__isnull": False}).order_by()
        if not value:
            # Nothing is better than anything else, so an index of the field gives the first ones at once.
            first: QuerySet[Any] = known.order_by(self.field).values_list(self.field, flat=True).distinct()
            return first
        begins = Q(*((f"{name}__istartswith", value) for name in self.search_fields), _connector=Q.OR)
        contains = Q(*((f"{name}__icontains", value) for name in self.search_fields), _connector=Q.OR)
        rank = Case(When(begins, then=Value(0)), default=Value(1))
        grouped = known.filter(contains).values(self.field)
        ranked = grouped.annotate(_mcp_rank=Min(rank)).order_by("_mcp_rank", self.field)
        values: QuerySet[Any] = ranked.values_list(self.field, flat=True)
        return values

    def _check(self, queryset: QuerySet[Any]) -> None:
        """Whether the fields are there, as far as that can be said without the database."""
        try:
            self._matching(queryset, "x")
        except (FieldError, TypeError) as error:
            raise InvalidPrimitive(
                f"A QuerySetCompleter of {queryset.model.__name__} was given the field {self.field!r} and the "
                f"search_fields {list(self.search_fields)!r}, by which its rows cannot be searched ({error}). Name "
                "fields of the model, or of rows it points to, and give a QuerySet that is not sliced."
            ) from None


def adapt(source: Any) -> Any:
    """A source of completions that Django knows, as one that a ``Completer`` knows; others as they are."""
    if isinstance(source, DeferredAttribute):
        source = source.field
    if isinstance(source, Field):
        if source.flatchoices:
            return [value for value, _label in source.flatchoices if value not in (None, "")]
        return QuerySetCompleter(source.model, source.name)
    queryset = _queryset(source)
    if queryset is None:
        return source
    names: tuple[Any, ...] = getattr(queryset, "_fields", None) or ()  # what values_list() was given
    if len(names) != 1 or not isinstance(names[0], str):
        raise InvalidPrimitive(
            f"A completer was given as rows of {queryset.model.__name__} without one field to suggest. Write "
            f'QuerySetCompleter({queryset.model.__name__}, "field"), or .values_list("field").'
        )
    return QuerySetCompleter(queryset, names[0])


def _queryset(rows: Any) -> QuerySet[Any] | None:
    if isinstance(rows, type) and issubclass(rows, Model):
        rows = rows._default_manager
    if isinstance(rows, Manager):
        rows = rows.all()
    return rows if isinstance(rows, QuerySet) else None


def _read_function(function: Any) -> Signature:
    if not callable(function) or isinstance(function, type):
        raise InvalidPrimitive(
            f"A QuerySetCompleter was given {function!r} as its rows. They are a model, a manager, a QuerySet or a "
            'function of the context that returns one: write QuerySetCompleter(Queue, "slug").'
        )
    origin, _ = read_origin(function)
    signature = read_signature(function, origin)
    if signature.names not in ((), ("arguments",)):
        raise InvalidPrimitive(
            f"{origin} gives the rows of a QuerySetCompleter and takes {', '.join(signature.names)}. It is called "
            "with the context and the values chosen before, if it takes them: write def function(context, arguments)."
        )
    return signature


def _checked_names(search_fields: Any) -> tuple[str, ...]:
    names = search_fields if isinstance(search_fields, list | tuple) else (search_fields,)
    if not isinstance(search_fields, str | Mapping) and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise InvalidPrimitive(
        f"A QuerySetCompleter was given search_fields={search_fields!r}. They are a list of names: write "
        'search_fields=["subject", "customer__name"].'
    )


def _is_searchable(value: str) -> bool:
    """Not every text that JSON can carry is one for databases."""
    return len(value) <= LONGEST and "\0" not in value and not any("\ud800" <= one <= "\udfff" for one in value)
