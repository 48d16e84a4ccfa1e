"""How values look in the admin."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError, router, transaction
from django.db.models import Model, Q, QuerySet
from django.forms import Media
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

EMPTY = admin.site.empty_value_display


def still_there(row: Model, write: Callable[[], object]) -> bool:
    """Run ``write``, which saves columns of the row; ``False`` if somebody has deleted the row meanwhile."""
    try:
        with transaction.atomic(using=router.db_for_write(type(row))):
            write()
    except DatabaseError:
        if type(row)._base_manager.using(router.db_for_write(type(row))).filter(pk=row.pk).exists():
            raise
        return False
    return True


class StyledAdmin(admin.ModelAdmin):
    """With the few rules that the admin's own styles lack."""

    @property
    def media(self) -> Media:
        return super().media + Media(css={"all": ["django_mcp/admin.css"]})


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose choices are conditions: their names, labels and conditions in ``choices_of_rows``."""

    choices_of_rows: ClassVar[Sequence[tuple[str, Any, Q]]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, label) for name, label, _condition in self.choices_of_rows]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions = {name: condition for name, _label, condition in self.choices_of_rows}
        return queryset.filter(conditions.get(self.value() or "", Q()))


def as_json(value: Any) -> SafeString | str:
    """A value as JSON that people can read; whatever is in it, it is text to the browser."""
    if value is None:
        return EMPTY
    text = json.dumps(value, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
    return format_html('<pre class="mcp-json">{}</pre>', text)


def as_code(value: Any) -> SafeString | str:
    return format_html('<code class="mcp-code">{}</code>', value) if value else EMPTY


def as_state(label: Any, kind: str) -> SafeString:
    """A word with a mark in front; ``kind`` is ``good``, ``bad`` or ``quiet``."""
    return format_html('<span class="mcp-state mcp-{}">{}</span>', kind, label)
