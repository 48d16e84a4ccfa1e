"""Tools that look and change nothing."""

from __future__ import annotations

from typing import Annotated

from django.db.models import Prefetch
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pydantic import Field

from django_mcp import Context, ToolAnnotations, tool
from example_project.helpdesk.choices import Status
from example_project.helpdesk.models import Comment, Customer, Queue, Ticket
from example_project.helpdesk.querysets import QueueQuerySet

from .access import QueueName, TicketNumber, afind_ticket, find_queue
from .shapes import (
    CommentLine,
    CustomerCard,
    PriorityName,
    QueueLoad,
    TicketDetail,
    TicketLine,
    TicketPage,
    priority_of,
)

READS = ToolAnnotations.reads()
Limit = Annotated[int, Field(ge=1, le=50)]


@tool(title=_("Search tickets"), permission="helpdesk.view_ticket", annotations=READS)
def search_tickets(
    context: Context,
    text: Annotated[str, Field(description="Words of the subject, the description or the customer's name")] = "",
    status: Status | None = None,
    priority: PriorityName | None = None,
    queue: QueueName | None = None,
    assigned_to_me: bool = False,
    overdue: bool = False,
    limit: Limit = 20,
) -> TicketPage:
    """Find tickets, the most urgent first. Without a status, those that are not done yet.

    Customers find their own tickets, agents find all of them.
    """
    found = Ticket.objects.visible_to(context.user).matching(text)
    found = found.active() if status is None else found.filter(status=status)
    if priority is not None:
        found = found.filter(priority=priority_of(priority))
    if queue is not None:
        found = found.filter(queue=find_queue(queue))
    if assigned_to_me:
        found = found.filter(assignee__user=context.user)
    if overdue:
        found = found.overdue(timezone.now())
    lines = [TicketLine.of(ticket) for ticket in found.with_people().most_urgent_first()[:limit]]
    return TicketPage(total=found.count(), tickets=lines)


@tool(title=_("Read a ticket"), permission="helpdesk.view_ticket", annotations=READS, max_size=200_000)
async def get_ticket(context: Context, number: TicketNumber) -> TicketDetail:
    """Read a ticket with its comments, oldest first, and the statuses that may follow."""
    ticket = await afind_ticket(context.user, number)
    comments = Comment.objects.filter(ticket=ticket).visible_to(context.user)
    comments = comments.select_related("agent__user", "ticket__customer")
    return TicketDetail(
        ticket=TicketLine.of(ticket),
        description=ticket.description,
        comments=[CommentLine.of(comment) async for comment in comments],
        attachments=[name async for name in ticket.attachments.values_list("name", flat=True)],
        possible_next_statuses=list(Status(ticket.status).following),
    )


@tool(
    title=_("Queues and their load"),
    permission="helpdesk.view_queue",
    annotations=READS,
    output_schema=list[QueueLoad],  # says which fields of each queue are read
)
async def list_queues() -> QueueQuerySet:
    """List the queues with how many tickets are active, unassigned and overdue."""
    return Queue.objects.with_load()


@tool(title=_("Find customers"), permission="helpdesk.view_customer", annotations=READS)
def find_customers(
    text: Annotated[str, Field(min_length=2, description="A part of the name, company or email address")],
    limit: Limit = 10,
) -> list[CustomerCard]:
    """Find customers, with the numbers of their active tickets."""
    active = Prefetch("tickets", Ticket.objects.active().order_by("pk"))
    customers = Customer.objects.matching(text).prefetch_related(active)[:limit]
    return [CustomerCard.of(customer) for customer in customers]
