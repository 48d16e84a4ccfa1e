"""A server whose tools ask on pages of the site, the pages, and the URLs of both."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views import View
from django.views.generic import FormView

from django_mcp import (
    Context,
    Elicitation,
    InputRequiredResult,
    MCPServer,
    ToolError,
    URLElicitation,
)
from django_mcp.elicitation import (
    ElicitationRequiredMixin,
    acomplete,
    adecline,
    aget_elicitation,
    complete,
    decline,
    elicitation_required,
)

from .asking_site import Booking

site = MCPServer("pages")
SECRET = "s3cret"


@site.tool
def connect(context: Context, box: str = "inbox") -> str:
    """Write, ask on a page, and write again."""
    Group.objects.get_or_create(name=f"asked {box}")
    answer = context.elicit_url(
        "connect", f"Connect {box}", kwargs={"box": box}, data={"secret": SECRET, "amount": Decimal("12.50")}
    )
    if not answer.accepted:
        return answer.action
    if Group.objects.filter(name="broke").exists():
        raise ToolError("no luck")
    Group.objects.create(name=f"connected {box} as {answer.content}")
    return f"connected as {answer.content}"


@site.tool
async def aconnect(context: Context) -> str:
    """The same from async code."""
    await Group.objects.aget_or_create(name="asked")
    answer = await context.aelicit_url("aconnect", "Connect")
    again = await context.aelicit_url("aconnect", "Connect", key="q1")
    assert again == answer
    return f"{answer.action} {answer.content}"


@site.tool
def connect_later(context: Context) -> str:
    """Send a client away until the page is done."""
    return f"connected as {context.elicit_url('connect', 'Connect', kwargs={'box': 'later'}, wait=False).content}"


@site.tool
def connect_and_book(context: Context) -> str:
    """Ask on a page and then with a form."""
    page = context.elicit_url("form", "Connect")
    booking = context.elicit("Who comes?", Booking)
    Group.objects.create(name="booked")
    return f"{page.content} {booking.content.name}"


@site.tool
async def at_once(context: Context) -> str:
    """Ask on a page and with a form at the same time."""
    page, booking = await context.agather(
        URLElicitation("form", "Connect", key="page"), Elicitation("Who comes?", Booking, key="who")
    )
    return f"{page.content} {booking.content.name}"


# Of each run
numbers = itertools.count(1)


@site.tool
def connect_to_another(context: Context) -> str:
    """Ask something else in every run."""
    return context.elicit_url("form", f"Connect {next(numbers)}").action


@site.tool(permission="auth.add_group")
def connect_if_allowed(context: Context) -> str:
    """Ask only those who may."""
    return str(context.elicit_url("connect", "Connect", kwargs={"box": "inbox"}).content)


@site.tool
def lost(context: Context) -> str:
    """Ask on a page that does not exist."""
    return context.elicit_url("no-such-view", "Connect").action


@site.tool
def pages_are_possible(context: Context) -> bool:
    """Tell whether a page could be asked on."""
    return context.can_ask({"elicitation": {"url": {}}})


@site.tool
async def by_hand(context: Context) -> str | InputRequiredResult:
    """Build the request by hand."""
    if context.input_responses:
        context.notify_elicitation_complete("mine")
        await context.anotify_elicitation_complete("mine")
        return str(context.input_responses["page"]["action"])
    params = {"mode": "url", "message": "Open it", "url": "https://other.example/", "elicitationId": "mine"}
    return InputRequiredResult({"page": {"method": "elicitation/create", "params": params}})


@site.tool
def by_hand_without_id(context: Context) -> str | InputRequiredResult:
    """The same, and leave the id to the server."""
    if context.input_responses:
        return "done"
    params = {"mode": "url", "message": "Open it", "url": "https://other.example/"}
    return InputRequiredResult({"page": {"method": "elicitation/create", "params": params}})


@site.prompt
def connected_prompt(context: Context) -> str:
    """A prompt that asks on a page."""
    return str(context.elicit_url("form", "Connect").content)


@site.resource("page://answer")
def connected_resource(context: Context) -> str:
    """A resource that asks on a page."""
    return str(context.elicit_url("form", "Connect").content)


@elicitation_required
def connect_page(request: HttpRequest, box: str) -> HttpResponse:
    question = request.elicitation  # type: ignore[attr-defined]
    if request.method == "GET":
        return JsonResponse({"message": question.message, "data": question.data, "client": question.client, "box": box})
    if request.POST.get("no"):
        decline(request)
    else:
        Group.objects.get_or_create(name=f"page of {request.user}")
        complete(request, request.POST["answer"])
    return HttpResponse("thanks")


@elicitation_required
async def aconnect_page(request: HttpRequest) -> HttpResponse:
    if request.POST.get("no"):
        await adecline(request)
    else:
        await acomplete(request, {"answer": request.POST["answer"]})
    return HttpResponse("thanks")


class NameForm(forms.Form):
    answer = forms.CharField()


class FormPage(ElicitationRequiredMixin, FormView):
    form_class = NameForm
    success_url = "/"

    def form_valid(self, form: NameForm) -> HttpResponse:
        complete(self.request, form.cleaned_data["answer"])
        return super().form_valid(form)

    def form_invalid(self, form: NameForm) -> HttpResponse:
        return HttpResponse("once more")


class AsyncPage(ElicitationRequiredMixin, View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse((await aget_elicitation(request)).message)


def bare_page(request: HttpRequest) -> HttpResponse:
    complete(request)
    return HttpResponse("thanks")


urlpatterns: list[Any] = [
    path("mcp", site.urls),
    path("connect/<str:box>", connect_page, name="connect"),
    path("aconnect", aconnect_page, name="aconnect"),
    path("form", FormPage.as_view(), name="form"),
    path("async", AsyncPage.as_view(), name="async"),
    path("bare", bare_page, name="bare"),
]
