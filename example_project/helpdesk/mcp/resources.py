"""What clients may read by URI, to show it or to put it in front of a model."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_mcp import (
    Annotations,
    CacheHint,
    Context,
    Resource,
    ResourceNotFound,
    ResourceRows,
    register,
    resource,
    resource_template,
)
from example_project.helpdesk.choices import Priority, Status
from example_project.helpdesk.models import Attachment, Comment, Queue, Ticket
from example_project.helpdesk.querysets import TicketQuerySet

from .access import is_somebody
from .completions import attachment_names, ticket_numbers

MARKDOWN = "text/markdown"


@resource(
    "helpdesk://guide",
    name="guide",
    title=_("How we answer"),
    description=_("The rules for answers to customers."),
    mime_type=MARKDOWN,
    permission="helpdesk.view_ticket",
    annotations=Annotations(audience=["assistant"], priority=0.9),
    cache=CacheHint(ttl_ms=3_600_000),
)
async def guide() -> str:
    return gettext(
        "# How we answer\n\n"
        "- Greet customers by name and answer in their language.\n"
        "- Say what happens next, and when.\n"
        "- Promise no refund and no delivery date that nobody has confirmed.\n"
        "- Brakes, frames and batteries are a matter of safety: such tickets are urgent.\n"
    )


@resource(
    "helpdesk://queues",
    name="queues",
    title=_("Queues"),
    description=_("The queues, what belongs there and how fast they answer."),
    mime_type="application/json",
    permission="helpdesk.view_queue",
    watch=Queue,
)
def queues() -> list[Any]:
    return list(Queue.objects.values("slug", "name", "description", "response_hours"))


@register
class MyTickets(Resource):
    uri = "helpdesk://my-tickets"
    name = "my-tickets"
    title = _("My tickets")
    description = _("What is assigned to an agent, or was opened by a customer, and is not done.")
    mime_type = MARKDOWN
    permission = "helpdesk.view_ticket"
    visible = is_somebody
    watch = Ticket

    def read(self) -> str:
        lines = [f"- {ticket}: {ticket.get_status_display()}" for ticket in self._own().most_urgent_first()]
        return "\n".join(lines) or gettext("Nothing to do.")

    def _own(self) -> TicketQuerySet:
        user = self.context.user
        return Ticket.objects.active().filter(Q(assignee__user=user) | Q(customer__user=user))


def urgent_tickets(context: Context) -> ResourceRows:
    """The tickets that should not wait, as resources of their own."""
    urgent = Ticket.objects.visible_to(context.user).active().filter(priority=Priority.URGENT)
    return ResourceRows(
        urgent.order_by("due_at"), lambda ticket: {"number": ticket.pk, "name": ticket.reference, "title": str(ticket)}
    )


@resource_template(
    "helpdesk://tickets/{number:int}",
    name="ticket",
    title=_("Ticket"),
    description=_("A ticket with all that was said."),
    mime_type=MARKDOWN,
    permission="helpdesk.view_ticket",
    complete={"number": ticket_numbers},
    list_resources=urgent_tickets,
    watch=[Ticket, Comment],
    uri_for=lambda changed: f"helpdesk://tickets/{getattr(changed, 'ticket_id', changed.pk)}",
)
def ticket(number: int, context: Context) -> str:
    found = Ticket.objects.visible_to(context.user).with_people().filter(pk=number).first()
    if found is None:
        raise ResourceNotFound
    return describe(found, context.user)


@resource_template(
    "helpdesk://tickets/{number:int}/attachments/{name}",
    name="attachment",
    title=_("Attachment"),
    description=_("A file that belongs to a ticket."),
    permission="helpdesk.view_attachment",
    complete={"number": ticket_numbers, "name": attachment_names},
    watch=Attachment,
    uri_for=lambda file: f"helpdesk://tickets/{file.ticket_id}/attachments/{file.name}",
)
async def attachment(number: int, name: str, context: Context) -> HttpResponse:
    visible = Ticket.objects.visible_to(context.user).filter(pk=number)
    # Whoever sees the ticket sees its files. A DoesNotExist is answered as "not found".
    found = await Attachment.objects.aget(ticket__in=visible, name=name)
    return HttpResponse(bytes(found.content), content_type=found.media_type)


def describe(ticket: Ticket, user: Any) -> str:
    """The ticket as a page that people and models read, in the language of the call."""
    comments = Comment.objects.filter(ticket=ticket).visible_to(user).select_related("agent__user", "ticket__customer")
    facts = {
        gettext("customer"): ticket.customer,
        gettext("queue"): ticket.queue,
        gettext("status"): Status(ticket.status).label,
        gettext("priority"): ticket.get_priority_display(),
        gettext("assigned to"): ticket.assignee or "-",
    }
    lines = [f"# {ticket}", "", *(f"- {name}: {value}" for name, value in facts.items()), "", ticket.description]
    for comment in comments:
        note = f" ({gettext('internal note')})" if comment.is_internal else ""
        lines += ["", f"**{comment.author}**, {comment.created_at:%Y-%m-%d}{note}:", "", comment.body]
    return "\n".join(lines)
