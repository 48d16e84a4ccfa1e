"""A server whose tools ask the client before they are done, and the URLs it is mounted at."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.db import transaction
from django.urls import path
from pydantic import BaseModel

from django_mcp import (
    Context,
    Elicitation,
    InputRequiredResult,
    MCPServer,
    RootsListing,
    Sampling,
    ToolAnnotations,
    ToolError,
)

site = MCPServer("asking")
other_site = MCPServer("asking-elsewhere")
count = itertools.count(1)
runs: list[str] = []


class Booking(BaseModel):
    guests: int
    name: str = "nobody"


@dataclass
class Colour:
    colour: str


@site.tool
def book(context: Context, day: str = "monday") -> str:
    """Ask who comes, and write it down."""
    runs.append("book")
    Group.objects.create(name=f"asked {day}")
    answer = context.elicit(f"Who comes on {day}?", Booking)
    if not answer.accepted:
        return f"{answer.action} {answer.declined} {answer.cancelled}"
    Group.objects.create(name=f"booked {day}")
    return f"{answer.content.guests + 1} guests of {answer.content.name}"


@site.tool
async def abook(context: Context) -> str:
    """The same from async code."""
    await Group.objects.acreate(name="asked")
    answer = await context.aelicit("Who comes?", Booking)
    await Group.objects.acreate(name="booked")
    return f"{answer.content.guests + 1} guests"


other_site.tool(name="book")(book)


@site.tool
def two_rounds(context: Context) -> str:
    """Ask one thing after the other."""
    booking = context.elicit("Who comes?", Booking)
    colour = context.elicit("Which colour?", Colour)
    return f"{booking.content.guests} {colour.content.colour}"


@site.tool
async def at_once(context: Context) -> str:
    """Ask three things at once."""
    booking, sampled, roots = await context.agather(
        Elicitation("Who comes?", Booking, key="who"), Sampling("Greet them", 50, key="greeting"), RootsListing()
    )
    return f"{booking.content.guests} {sampled.text} {sampled.model} {sampled.stop_reason} {roots[0].name}"


@site.tool
async def in_tasks(context: Context) -> str:
    """Ask two things in tasks of their own."""
    async with asyncio.TaskGroup() as group:
        who = group.create_task(context.aelicit("Who comes?", Booking, key="who"))
        colour = group.create_task(context.aelicit("Which colour?", Colour, key="colour"))
    return f"{who.result().content.guests} {colour.result().content.colour}"


@site.tool
async def fails_in_tasks(context: Context) -> None:
    """Ask in one task and fail in another."""

    async def fail() -> None:
        raise ToolError("other")

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(context.aelicit("Who comes?", Booking))
    except* ToolError:
        raise ToolError("failed in a group") from None


@site.tool
def swallow(context: Context) -> str:
    """Catch everything that is an Exception."""
    guests = "swallowed"
    with suppress(Exception):
        guests = str(context.elicit("Who comes?", Booking).content.guests)
    return guests


@site.tool
def restless(context: Context) -> str:
    """Ask another question each time."""
    return context.elicit(f"Question {next(count)}", Booking, key="restless").action


@site.tool
def endless(context: Context) -> str:
    """Ask without an end."""
    number = 0
    while True:
        number += 1
        context.elicit(f"Question {number}", Booking)


@site.tool
def ask_model(context: Context, with_tools: bool = False) -> str:
    """Ask the client's model."""
    tools = [{"name": "dice", "inputSchema": {"type": "object"}}] if with_tools else None
    messages = [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
    return context.sample(messages, 10, system_prompt="Be brief", temperature=0.5, tools=tools).text


@site.tool
async def aask_model(context: Context) -> str:
    """Ask the client's model from async code, and for its roots."""
    answer = await context.asample("Hi", 10, include_context="none")
    roots = await context.alist_roots()
    return f"{answer.text} {len(roots)}"


@site.tool
def ask_roots(context: Context) -> str:
    """Ask for the roots."""
    return " ".join(root.uri for root in context.list_roots())


@site.tool
def pay(context: Context) -> str:
    """Ask for a consent that is good for one payment."""
    context.elicit("Pay?", Colour, once=True)
    context.elicit("Really?", Colour, key="really", once=True)
    if Group.objects.filter(name="broke").exists():
        raise ToolError("no money")
    Group.objects.create(name=f"paid {Group.objects.count()}")
    return "paid"


@site.tool
async def apay(context: Context) -> str:
    """The same from async code."""
    await context.aelicit("Pay?", Colour, once=True)
    await Group.objects.acreate(name=f"paid {await Group.objects.acount()}")
    return "paid"


@site.tool(confirm=True)
def delete_all(context: Context, kind: str) -> str:
    """Delete all of a kind."""
    Group.objects.create(name=f"deleted {kind}")
    return "deleted"


@site.tool(confirm="Forget everything?")
async def forget_all() -> str:
    """Forget everything."""
    await Group.objects.acreate(name="forgotten")
    return "forgotten"


@site.tool(annotations=ToolAnnotations(destructive_hint=True))
def drop(context: Context) -> str:
    """Ask, and do what can be done once."""
    context.elicit("Which?", Colour)
    Group.objects.create(name="dropped")
    return "dropped"


@site.tool
def remembering(context: Context) -> str:
    """Do something once, whatever is asked after it."""

    def note() -> int:
        runs.append("once")
        return len(runs)

    number = context.remember("number", note)
    context.elicit("Who comes?", Booking)
    return f"{number} of {len(runs)}"


@site.tool
async def aremembering(context: Context) -> str:
    """The same from async code, which reads the database."""

    async def load() -> dict[str, int]:
        runs.append("once")
        return {"groups": await Group.objects.acount()}

    groups = await context.aremember("groups", load)
    plain = await context.aremember("plain", lambda: 1)
    await context.aelicit("Who comes?", Booking)
    return f"{groups['groups']} {plain}"


@site.tool
def remembering_a_write(context: Context) -> str:
    """Write where only reading is allowed."""
    return str(context.remember("row", lambda: Group.objects.create(name="lost").pk))


@site.tool
def by_hand(context: Context) -> str | InputRequiredResult:
    """Build the requests by hand, in two rounds with a state."""
    step = context.request_state or {"step": 0}
    if step["step"] == 2:
        return f"{context.input_responses['raw']['content']['x']} {len(context.input_responses['roots']['roots'])}"
    if step["step"] == 1:
        return InputRequiredResult({"roots": {"method": "roots/list"}}, state={"step": 2})
    params = {"mode": "form", "message": "x?", "requestedSchema": {"type": "object", "properties": {}}}
    return InputRequiredResult({"raw": {"method": "elicitation/create", "params": params}}, state={"step": 1})


@site.tool
def come_back(context: Context) -> InputRequiredResult | str:
    """Ask nothing, and want to be called again."""
    return "back" if context.request_state else InputRequiredResult(state=1)


@site.tool
def raw_model(context: Context) -> InputRequiredResult:
    """Ask a model with tools, by hand."""
    return InputRequiredResult({"m": {"method": "sampling/createMessage", "params": {"tools": []}}})


@site.tool
def bad_by_hand(context: Context) -> InputRequiredResult:
    """Ask for something that does not exist."""
    return InputRequiredResult({"m": {"method": "ping"}})


@site.tool
def progress_and_ask(context: Context) -> str:
    """Talk, ask, and talk on."""
    context.report_progress(1)
    context.log("info", "begun")
    context.log("info", "begun")
    context.elicit("Who comes?", Booking)
    context.report_progress(2)
    context.log("info", "asked")
    return "done"


class GroupForm(forms.Form):
    group = forms.ModelChoiceField(Group.objects.order_by("pk"))


@site.tool
def choose_a_row(context: Context) -> str:
    """Ask with a form whose choices are rows."""
    return str(context.elicit("Which group?", GroupForm).content["group"])


@site.tool
def slow_after_write(context: Context) -> str:
    """Write inside an atomic block that is left by asking."""
    with transaction.atomic():
        Group.objects.create(name="inner")
        context.elicit("Who comes?", Booking)
    return "done"


@site.prompt(complete={"topic": lambda value, context: context.elicit("?", Booking)})
def about(context: Context, topic: str) -> str:
    """A prompt that asks."""
    return f"{topic} for {context.elicit('Who?', Booking).content.name}"


@site.resource("ask://name")
def name_resource(context: Context) -> str:
    """A resource that asks."""
    return str(context.elicit("Who?", Booking).content.name)


urlpatterns: list[Any] = [path("mcp", site.urls), path("of/<str:tenant>", site.urls), path("other", other_site.urls)]
