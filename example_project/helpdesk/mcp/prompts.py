"""Messages that people choose from a menu of their client."""

from __future__ import annotations

from typing import Any, Literal

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_mcp import Context, EmbeddedResource, PromptMessage, ResourceContents, TextContent, prompt
from example_project.helpdesk.models import Ticket

from .access import find_queue, find_ticket
from .completions import queue_names, ticket_numbers
from .resources import MARKDOWN, describe

Tone = Literal["friendly", "brief", "formal"]


@prompt(
    title=_("Draft a reply"),
    description=_("Write an answer to the customer of a ticket."),
    permission="helpdesk.handle_ticket",
    complete={"number": ticket_numbers},
)
def draft_reply(number: int, context: Context, tone: Tone = "friendly") -> list[PromptMessage]:
    ticket = find_ticket(context.user, number)
    page = ResourceContents(uri=f"helpdesk://tickets/{number}", mime_type=MARKDOWN, text=describe(ticket, context.user))
    request = gettext(
        "Draft the next answer to %(customer)s in %(language)s. The tone is %(tone)s. Follow helpdesk://guide, keep "
        "internal notes to yourself and show me the draft before you send it."
    )
    words = {
        "customer": ticket.customer.name,
        "language": ticket.customer.get_language_display(),
        "tone": {"friendly": gettext("friendly"), "brief": gettext("brief"), "formal": gettext("formal")}[tone],
    }
    return [PromptMessage("user", EmbeddedResource(page)), PromptMessage("user", TextContent(request % words))]


@prompt(
    title=_("Sort a queue"),
    description=_("Go through the new tickets of a queue: priority, duplicates, who takes them."),
    permission="helpdesk.handle_ticket",
    complete={"queue": queue_names},
    template_name="helpdesk/prompts/triage.md",
)
def triage_queue(queue: str) -> dict[str, Any]:
    found = find_queue(queue)
    waiting = Ticket.objects.filter(queue=found, assignee=None).active().most_urgent_first()
    return {"queue": found, "tickets": waiting[:30]}


@prompt(
    title=_("Weekly review"),
    description=_("Summarize the last weeks for the team."),
    permission="helpdesk.view_report",
)
async def weekly_review(weeks: int = 1) -> str:
    request = gettext(
        "Call help_desk_report for the last %(days)d days and draw_ticket_chart. Write at most ten lines for "
        "the team: what went well, which queue needs help, and one thing to try next."
    )
    return request % {"days": 7 * weeks}


@prompt(
    title=_("Report a problem"),
    description=_("Describe a problem so that the workshop can help at the first attempt."),
    permission="helpdesk.add_ticket",
)
def report_problem(product: str) -> str:
    request = gettext(
        "Something is wrong with my %(product)s. Ask me for what the workshop needs to know: what happens, since when, "
        "what I tried, and whether it is safe to ride. Then open a ticket with open_ticket."
    )
    return request % {"product": product}
