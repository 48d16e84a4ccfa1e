"""Tools, prompts and resources: what there is, who may use it, and the switch."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.models import Group
from django.db import router, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_mcp.admin.display import EMPTY, ChoiceFilter, StyledAdmin, as_code, as_json, as_state, still_there
from django_mcp.models import RegisteredPrimitive
from django_mcp.primitives.base import Primitive
from django_mcp.protocol.versions import LATEST
from django_mcp.registry import Kind
from django_mcp.servers import get_server

ALL_GROUPS = _("all groups")


class PrimitiveForm(forms.ModelForm):
    """The model's ``groups`` have a table of their own, which a form does not fill by itself."""

    only_for = forms.ModelMultipleChoiceField(
        Group.objects.all(),
        required=False,
        widget=FilteredSelectMultiple(_("groups"), is_stacked=False),
        label=_("Only for the groups"),
        help_text=_(
            "Without a group it is for everybody who may use it. With some, it does not exist for others; "
            "superusers need not be in a group."
        ),
    )

    class Meta:
        model = RegisteredPrimitive
        fields = ("enabled",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["only_for"].initial = self.instance.groups.all()
        for field in self.fields.values():
            field.show_hidden_initial = self._knows_what_was_shown

    @property
    def _knows_what_was_shown(self) -> bool:
        """A page does, and what it posts; a script that posts need not."""
        return not self.is_bound or "initial-enabled" in self.data

    def clean(self) -> dict[str, Any] | None:
        """What the person left alone stays as it is now, which may not be what the page had shown."""
        cleaned: dict[str, Any] | None = super().clean()
        if self._knows_what_was_shown:
            now = {"enabled": self.instance.enabled, "only_for": self.instance.groups.all()}
            self.cleaned_data.update({name: now[name] for name in now if name not in self.changed_data})
        return cleaned

    def _save_m2m(self) -> None:
        super()._save_m2m()  # type: ignore[misc]  # the stubs leave it out
        self.instance.groups.set(self.cleaned_data["only_for"])


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state"
    choices_of_rows = (
        ("on", _("on"), Q(enabled=True, vanished=None)),
        ("off", _("off"), Q(enabled=False, vanished=None)),
        ("vanished", _("vanished"), Q(vanished__isnull=False)),
    )


@admin.register(RegisteredPrimitive)
class PrimitiveAdmin(StyledAdmin):
    """Rows come from the registry: nobody adds one, and only those that vanished can be deleted."""

    form = PrimitiveForm
    list_display = ("key", "kind", "state", "audience", "app", "server")
    list_filter = (StateFilter, "kind", "app", "server", ("groups", admin.RelatedOnlyFieldListFilter))
    search_fields = ("key", "app")
    ordering = ("server", "kind", "key")
    actions = ("enable", "disable", "delete_selected")
    readonly_fields = (
        "key",
        "kind",
        "server",
        "app",
        "state",
        "title",
        "description",
        "origin",
        "permission",
        "input_schema",
        "output_schema",
        "annotations",
        "definition",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[RegisteredPrimitive]:
        rows: QuerySet[RegisteredPrimitive] = super().get_queryset(request)
        return rows.prefetch_related("groups")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        own = (None, {"fields": ("key", ("kind", "server", "app", "state"), "enabled", "only_for")})
        found = None if obj is None else live(obj)
        if found is None:
            return (own,)
        told: list[Any] = ["title", "description", ("origin", "permission")]
        told += [name for name in ("input_schema", "output_schema", "annotations") if hasattr(found, name)]
        seen = {
            "fields": ("definition",),
            "description": _("The definition for clients of the protocol revision %s.") % LATEST,
        }
        return (own, (_("As registered"), {"fields": told}), (_("What clients see"), seen))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (obj is None or _is_gone(obj)) and bool(super().has_delete_permission(request, obj))

    def save_model(self, request: HttpRequest, obj: RegisteredPrimitive, form: Any, change: bool) -> None:
        # The other columns follow the registry, and may have changed since the page was opened.
        if obj.enabled != form.initial["enabled"]:
            obj.save(update_fields=["enabled"])

    # Columns

    @admin.display(description=_("state"), ordering="enabled")
    def state(self, row: RegisteredPrimitive) -> str:
        if row.vanished is not None:
            return as_state(_("vanished"), "quiet")
        return as_state(_("on"), "good") if row.enabled else as_state(_("off"), "bad")

    @admin.display(description=_("for"))
    def audience(self, row: RegisteredPrimitive) -> str:
        return ", ".join(group.name for group in row.groups.all()) or str(ALL_GROUPS)

    # Where the page can only be looked at, the admin shows this in place of the form's field.
    @admin.display(description=_("Only for the groups"))
    def only_for(self, row: RegisteredPrimitive) -> str:
        return self.audience(row)

    # The page of one row, from what this process has registered

    @admin.display(description=_("title"))
    def title(self, row: RegisteredPrimitive) -> str:
        return str(self._shown(row, "title"))

    @admin.display(description=_("description"))
    def description(self, row: RegisteredPrimitive) -> str:
        return format_html('<div class="mcp-text">{}</div>', self._shown(row, "description"))

    @admin.display(description=_("registered by"))
    def origin(self, row: RegisteredPrimitive) -> str:
        found = live(row)
        return EMPTY if found is None else format_html("{}<br>{}", as_code(found.origin), as_code(found.place))

    @admin.display(description=_("permission"))
    def permission(self, row: RegisteredPrimitive) -> str:
        asked = self._shown(row, "permission")
        if callable(asked):
            return as_code(getattr(asked, "__qualname__", type(asked).__qualname__))
        return as_code(asked) if asked != EMPTY else gettext("none")

    @admin.display(description=_("input schema"))
    def input_schema(self, row: RegisteredPrimitive) -> str:
        return as_json(_part(row, "inputSchema"))

    @admin.display(description=_("output schema"))
    def output_schema(self, row: RegisteredPrimitive) -> str:
        return as_json(_part(row, "outputSchema"))

    @admin.display(description=_("annotations"))
    def annotations(self, row: RegisteredPrimitive) -> str:
        return as_json(_part(row, "annotations"))

    @admin.display(description=_("definition"))
    def definition(self, row: RegisteredPrimitive) -> str:
        found = live(row)
        return EMPTY if found is None else as_json(found.to_wire(LATEST))

    def _shown(self, row: RegisteredPrimitive, name: str) -> Any:
        value = getattr(live(row), name, None)
        return EMPTY if value is None else value

    # Actions

    @admin.action(description=_("Switch on the selected ones"), permissions=["change"])
    def enable(self, request: HttpRequest, rows: QuerySet[RegisteredPrimitive]) -> None:
        count = self._switch(request, rows, on=True)
        self.message_user(request, ngettext("%d was switched on.", "%d were switched on.", count) % count)

    @admin.action(description=_("Switch off the selected ones"), permissions=["change"])
    def disable(self, request: HttpRequest, rows: QuerySet[RegisteredPrimitive]) -> None:
        count = self._switch(request, rows, on=False)
        self.message_user(request, ngettext("%d was switched off.", "%d were switched off.", count) % count)

    def _switch(self, request: HttpRequest, rows: QuerySet[RegisteredPrimitive], *, on: bool) -> int:
        text = gettext("Switched on.") if on else gettext("Switched off.")
        count = 0
        with transaction.atomic(using=router.db_for_write(RegisteredPrimitive)):
            for row in rows.filter(enabled=not on):
                row.enabled = on
                if still_there(row, partial(row.save, update_fields=["enabled"])):
                    self.log_change(request, row, text)
                    count += 1
        return count

    @admin.action(description=_("Delete the selected ones that vanished"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, rows: QuerySet[RegisteredPrimitive]) -> HttpResponseBase | None:
        gone = rows.filter(pk__in=[row.pk for row in rows if _is_gone(row)])
        if not gone:
            text = _("Only what vanished can be deleted. Switch off what is registered.")
            self.message_user(request, text, messages.WARNING)
            return None
        return delete_selected(self, request, gone)


def live(row: RegisteredPrimitive) -> Primitive | None:
    """What this process has registered under the row's key."""
    try:
        return get_server(row.server).registry.snapshot().of(Kind(row.kind)).get(row.key)
    except (LookupError, ValueError):  # of a server or a kind that only another version of the site knows
        return None


def _is_gone(row: RegisteredPrimitive) -> bool:
    """A process of another version may have marked what is offered here, and without its row it would be on again."""
    return row.vanished is not None and live(row) is None


def _part(row: RegisteredPrimitive, name: str) -> Any:
    found = live(row)
    return None if found is None else found.to_wire(LATEST).get(name)
