"""A server whose tools ask again after an answer that counts once, and the URLs of it and its pages."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import path

from django_mcp import Context, MCPServer, ToolAnnotations
from django_mcp.elicitation import complete, elicitation_required

from .asking_site import Booking, Colour

site = MCPServer("once")


@site.tool
def consent_then_page(context: Context) -> str:
    """Ask for consent, then on a page."""
    context.elicit("Really?", Colour, once=True)
    context.elicit_url("page", "Open it")
    Group.objects.create(name="done")
    return "done"


@site.tool(atomic=False)
def loose(context: Context) -> str:
    """Keep what is written before the second question."""
    context.elicit("Really?", Colour, once=True)
    Group.objects.create(name="consented")
    return f"for {context.elicit('Who comes?', Booking).content.name}"


@site.tool(atomic=False, annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False))
async def loose_and_destructive(context: Context) -> str:
    """The same, where all answers count once."""
    await context.aelicit("Really?", Colour)
    await Group.objects.acreate(name="consented")
    return f"for {(await context.aelicit('Who comes?', Booking)).content.name}"


@site.tool(atomic=False)
def page_then_form(context: Context) -> str:
    """Ask on a page first."""
    page = context.elicit_url("page", "Open it")
    return f"{page.content} for {context.elicit('Who comes?', Booking).content.name}"


@site.tool(atomic=False)
def form_then_page(context: Context) -> str:
    """Ask on a page at last."""
    booking = context.elicit("Who comes?", Booking)
    return f"{context.elicit_url('page', 'Open it').content} for {booking.content.name}"


@site.tool(wait_inline=True)
async def wait_here(context: Context) -> str:
    """Ask on two pages and with a form, and wait for each."""
    first = await context.aelicit_url("page", "Open it")
    again = await context.aelicit_url("page", "Open it", key="q1")
    second = await context.aelicit_url("page", "And this")
    booking = await context.aelicit("Who comes?", Booking)
    await Group.objects.acreate(name="done")
    return f"{first.content} {again.content} {second.content} for {booking.content.name}"


@site.tool(wait_inline=True)
async def wait_and_stop(context: Context) -> str:
    """Wait for a page, then ask from code that cannot wait."""
    page = await context.aelicit_url("page", "Open it")
    booking = await sync_to_async(context.elicit)("Who comes?", Booking)
    return f"{page.content} for {booking.content.name}"


@site.tool(wait_inline=True)
async def wait_and_stop_twice(context: Context) -> str:
    """Wait for a page, then ask on another one, and with a form, from code that cannot wait."""
    first = await context.aelicit_url("page", "Open it")
    second = await sync_to_async(context.elicit_url)("page", "And this")
    booking = await sync_to_async(context.elicit)("Who comes?", Booking)
    return f"{first.content} {second.content} for {booking.content.name}"


@site.tool
def try_again(context: Context, on_page: bool = False) -> str:
    """Ask within a block that fails the first time."""
    for is_last in (False, True):
        with suppress(ValueError), transaction.atomic():
            if on_page:
                context.elicit_url("page", "Open it", key="consent")
            else:
                context.elicit("Really?", Colour, key="consent", once=True)
            Group.objects.create(name=f"done {Group.objects.count()}")
            if not is_last:
                raise ValueError
    return "done"


@site.tool
@site.prompt
def go_on(context: Context, on_page: bool = False) -> str:
    """Ask within a block that fails, and write after it."""
    with suppress(ValueError), transaction.atomic():
        if on_page:
            context.elicit_url("page", "Open it", key="consent")
        else:
            context.elicit("Really?", Colour, key="consent", once=True)
        raise ValueError
    Group.objects.create(name=f"done {Group.objects.count()}")
    return "done"


@site.resource("once://go-on")
def go_on_resource(context: Context) -> str:
    """The same."""
    return go_on(context)


@elicitation_required
def page(request: HttpRequest) -> HttpResponse:
    complete(request, request.POST["answer"])
    return HttpResponse("thanks")


urlpatterns: list[Any] = [path("mcp", site.urls), path("page", page, name="page")]
