"""Legacy sessions: which clients are connected, and an end to some of them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.actions import delete_selected
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from django_mcp.admin.display import StyledAdmin, as_json
from django_mcp.models import Session
from django_mcp.sessions import clear_session_cache

LONGEST = 60


@admin.register(Session)
class SessionAdmin(StyledAdmin):
    """Clients open sessions, and nobody edits one. A session that is deleted has ended."""

    list_display = ("client", "user", "revision", "created", "last_seen", "server")
    list_filter = ("last_seen", "revision", "server")
    list_select_related = ("user",)
    show_full_result_count = False
    ordering = ("-last_seen",)
    actions = ("delete_selected",)
    readonly_fields = (
        "client",
        "user",
        "principal",
        "server",
        "revision",
        "initialized",
        "log_level",
        "created",
        "last_seen",
        "expires",
        "info",
        "capabilities",
    )
    fields = (
        ("client", "user", "principal"),
        ("server", "revision", "initialized", "log_level"),
        ("created", "last_seen", "expires"),
        "info",
        "capabilities",
    )

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return ("client_info__name", f"user__{get_user_model().USERNAME_FIELD}")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        super().delete_model(request, obj)
        clear_session_cache()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        super().delete_queryset(request, queryset)
        clear_session_cache()

    @admin.display(description=_("client"), ordering="client_info__name")
    def client(self, row: Session) -> str:
        """What the client says it is, which may be of any length."""
        said = (str(row.client_info.get(member, "")) for member in ("name", "version"))
        return " ".join(Truncator(text).chars(LONGEST) for text in said).strip() or "?"

    @admin.display(description=_("what the client says it is"))
    def info(self, row: Session) -> str:
        return as_json(row.client_info)

    @admin.display(description=_("capabilities of the client"))
    def capabilities(self, row: Session) -> str:
        return as_json(row.client_capabilities)

    @admin.action(description=_("End the selected sessions"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, rows: QuerySet[Session]) -> HttpResponseBase | None:
        return delete_selected(self, request, rows)
