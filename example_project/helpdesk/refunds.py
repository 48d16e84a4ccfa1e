"""The page on which an agent enters where a refund goes."""

from __future__ import annotations

from django import forms
from django.core.validators import RegexValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.generic import TemplateView

from django_mcp.elicitation import complete, decline, elicitation_required

IBAN = RegexValidator(r"^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$", _("This is no IBAN."))


class RefundForm(forms.Form):
    iban = forms.CharField(label=_("IBAN"), max_length=34, strip=True, validators=[IBAN])


@elicitation_required
def refund(request: HttpRequest) -> HttpResponse:
    """A real help desk hands the account to its bank here. The tool, and with it the model, learns four digits."""
    if "no" in request.POST:
        decline(request)
        return redirect("refund-done")
    form = RefundForm(request.POST or None)
    if form.is_valid():
        complete(request, {"account": form.cleaned_data["iban"][-4:]})
        return redirect("refund-done")
    question = request.elicitation  # type: ignore[attr-defined]  # set by the decorator
    return render(request, "helpdesk/refunds/form.html", {"form": form, "question": question})


done = TemplateView.as_view(template_name="helpdesk/refunds/done.html")
