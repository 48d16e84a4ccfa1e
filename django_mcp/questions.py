"""What questions to the client need from the site's database and forms. Sync; runs where the caller runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.conf import settings
from django.db import IntegrityError, router, transaction
from django.utils import timezone

from django_mcp.exceptions import InvalidAnswer, InvalidPrimitive
from django_mcp.managers import delete_in_batches
from django_mcp.pending import holding
from django_mcp.primitives.forms import Form, checked_schema, choice, choices, no_secrets, read_form
from django_mcp.server.rounds import bad_state


def spend(nonce: str | None, expires: float) -> Callable[[], bool]:
    """Note in the transaction of the call that its conversation has had its effect (MRTR-08).

    The function it returns tells whether that stands. Raises ``ProtocolError`` -32602 if it had it before.
    """
    from django_mcp.models import SpentState  # Models cannot be imported before the apps are ready.

    alias = router.db_for_write(SpentState)
    ends = datetime.fromtimestamp(expires, UTC if settings.USE_TZ else None)
    try:
        with transaction.atomic(using=alias):
            SpentState.objects.using(alias).create(nonce=nonce or "", expires=ends)
    except IntegrityError:
        raise bad_state() from None
    return holding(alias)


def clear_spent(batch_size: int = 500) -> int:
    """Remove what is refused as expired anyway."""
    from django_mcp.models import SpentState

    rows = SpentState.objects.using(router.db_for_write(SpentState)).filter(expires__lte=timezone.now())
    return delete_in_batches(rows, batch_size)


def read_any_form(source: Any) -> Form:
    """Like ``read_form``, for Django's form classes too. Raises ``InvalidPrimitive`` for what cannot be asked."""
    if inspect.isclass(source) and issubclass(source, forms.BaseForm):
        return _from_django(source)
    return read_form(source)


def _from_django(form: type[forms.BaseForm]) -> Form:
    fields: dict[str, forms.Field] = form.base_fields  # type: ignore[attr-defined]  # set by its metaclass
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _describe(name, field) for name, field in fields.items()},
    }
    if required := [name for name, field in fields.items() if field.required]:
        schema["required"] = required
    checked_schema(schema)

    def read(content: dict[str, Any]) -> Any:
        bound = form(data=content)
        if not bound.is_valid():
            raise InvalidAnswer(*(f"{name}: {' '.join(map(str, texts))}" for name, texts in bound.errors.items()))
        return bound.cleaned_data

    return Form(schema, read)


def _describe(name: str, field: forms.Field) -> dict[str, Any]:
    more: dict[str, Any] = {"title": field.label or name.replace("_", " ").capitalize()}
    if field.help_text:
        more["description"] = field.help_text
    if field.initial is not None and not callable(field.initial):
        more["default"] = field.initial
    return {**_kind(name, field), **more}


def _kind(name: str, field: forms.Field) -> dict[str, Any]:
    if isinstance(field.widget, forms.PasswordInput):
        raise no_secrets(name)
    match field:
        case forms.MultipleChoiceField():
            return choices(_titles(field))
        case forms.ChoiceField():
            return choice(_titles(field))
        case forms.NullBooleanField() | forms.BooleanField():
            return {"type": "boolean"}
        case forms.FloatField() | forms.DecimalField():
            return {"type": "number", **_limits(field, minimum="min_value", maximum="max_value")}
        case forms.IntegerField():
            return {"type": "integer", **_limits(field, minimum="min_value", maximum="max_value")}
        case forms.DateField():
            return {"type": "string", "format": "date"}
        case forms.DateTimeField():
            return {"type": "string", "format": "date-time"}
        case forms.EmailField() | forms.URLField():
            kind = "email" if isinstance(field, forms.EmailField) else "uri"
            return {"type": "string", "format": kind, **_limits(field, maxLength="max_length")}
        case forms.CharField():
            return {"type": "string", **_limits(field, minLength="min_length", maxLength="max_length")}
    raise InvalidPrimitive(
        f"The form's field {name} is a {type(field).__name__}, which a client has no field for. Texts, numbers, "
        "booleans, dates and choices can be asked."
    )


def _titles(field: Any) -> dict[str, Any]:
    return {str(value): label for value, label in field.choices if value not in ("", None)}


def _limits(field: Any, **names: str) -> dict[str, Any]:
    limits = {keyword: getattr(field, name) for keyword, name in names.items()}
    return {keyword: limit for keyword, limit in limits.items() if limit is not None}
