"""Access tokens: issue one, see which are used, revoke them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import router, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from django_mcp.admin.display import ChoiceFilter, StyledAdmin, as_state, still_there
from django_mcp.models import AccessToken

ISSUED = "admin/django_mcp/accesstoken/issued.html"
VALUE = "_mcp_token_value"  # where a request keeps it from one method of the admin to the next


class TokenForm(forms.ModelForm):
    issuer: Any

    def clean_user(self) -> Any:
        user = self.cleaned_data["user"]
        if not user.is_active:
            raise forms.ValidationError(_("This user is inactive, so a token would not work."), code="inactive")
        # With it the issuer could do what nobody has allowed them.
        if getattr(user, "is_superuser", False) and not getattr(self.issuer, "is_superuser", False):
            raise forms.ValidationError(_("Only superusers issue tokens of superusers."), code="superuser")
        return user

    def clean_expires(self) -> datetime | None:
        expires: datetime | None = self.cleaned_data["expires"]
        if "expires" in self.changed_data and expires is not None and expires <= timezone.now():
            raise forms.ValidationError(_("This time has passed."), code="past")
        return expires


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state"
    choices_of_rows = (
        ("good", _("good"), Q(revoked=None) & (Q(expires=None) | Q(expires__gt=Now()))),
        ("expired", _("expired"), Q(revoked=None, expires__lte=Now())),
        ("revoked", _("revoked"), Q(revoked__isnull=False)),
    )


@admin.register(AccessToken)
class AccessTokenAdmin(StyledAdmin):
    """The value of a token is in the answer to the request that issues it, and nowhere else."""

    form = TokenForm
    change_form_template = "admin/django_mcp/accesstoken/change_form.html"
    list_display = ("label", "prefix", "user", "state", "expires", "last_used")
    list_filter = (StateFilter, "created", "last_used")
    list_select_related = ("user",)
    ordering = ("-created",)
    raw_id_fields = ("user",)
    actions = ("revoke",)

    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> type[forms.ModelForm]:
        form = super().get_form(request, *args, **kwargs)
        return type(form.__name__, (form,), {"issuer": request.user})

    def get_search_fields(self, request: HttpRequest) -> tuple[str, ...]:
        return ("name", "prefix", f"user__{get_user_model().USERNAME_FIELD}")

    def get_autocomplete_fields(self, request: HttpRequest) -> tuple[str, ...]:
        """A site need not have its users in the admin, nor let whoever issues tokens see them."""
        users = self.admin_site._registry.get(get_user_model())
        searchable = users is not None and users.get_search_fields(request) and users.has_view_permission(request)
        return ("user",) if searchable else ()

    def get_fields(self, request: HttpRequest, obj: AccessToken | None = None) -> tuple[Any, ...]:
        if obj is None:
            return ("user", "name", "expires")
        return (("user", "prefix", "state"), "name", "expires", ("created", "last_used", "revoked"))

    def get_readonly_fields(self, request: HttpRequest, obj: AccessToken | None = None) -> tuple[str, ...]:
        return () if obj is None else ("user", "prefix", "state", "created", "last_used", "revoked")

    @sensitive_variables("value")
    def save_model(self, request: HttpRequest, obj: AccessToken, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=["name", "expires"])
            return
        value = obj.set_new_value()
        super().save_model(request, obj, form, change)
        request.__dict__[VALUE] = value

    @sensitive_variables("context")
    def response_add(self, request: HttpRequest, obj: AccessToken, post_url_continue: Any = None) -> HttpResponse:
        """The page after it, as the answer itself: a message would keep the value in a cookie or session."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Access token issued"),
            "opts": self.opts,
            "media": self.media,
            "token": obj,
            "value": request.__dict__.pop(VALUE),
        }
        return TemplateResponse(request, ISSUED, context)

    def response_change(self, request: HttpRequest, obj: AccessToken) -> HttpResponse:
        if "_revoke" not in request.POST:
            return super().response_change(request, obj)
        self._revoke(request, [obj])
        return self.response_post_save_change(request, obj)

    @admin.display(description=_("name"), ordering="name")
    def label(self, token: AccessToken) -> str:
        return token.name or gettext("(no name)")

    @admin.display(description=_("state"))
    def state(self, token: AccessToken) -> str:
        if token.revoked is not None:
            return as_state(_("revoked"), "quiet")
        if not token.is_usable(timezone.now()):
            return as_state(_("expired"), "quiet")
        return as_state(_("good"), "good") if token.user.is_active else as_state(_("user is inactive"), "bad")

    @admin.action(description=_("Revoke the selected tokens"), permissions=["change"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[AccessToken]) -> None:
        self._revoke(request, tokens)

    def _revoke(self, request: HttpRequest, tokens: QuerySet[AccessToken] | list[AccessToken]) -> None:
        count = 0
        with transaction.atomic(using=router.db_for_write(AccessToken)):
            for token in tokens:
                if token.revoked is None and still_there(token, token.revoke):
                    self.log_change(request, token, gettext("Revoked."))
                    count += 1
        self.message_user(request, ngettext("%d token was revoked.", "%d tokens were revoked.", count) % count)
