"""Tools that change something. A call that ends with an error leaves nothing behind."""

from __future__ import annotations

from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from django_mcp import Context, ToolAnnotations, ToolError, tool
from example_project.helpdesk.choices import Status
from example_project.helpdesk.models import MAX_ATTACHMENT, Attachment, Comment, Customer, Ticket
from example_project.helpdesk.querysets import HANDLE

from .access import (
    QueueName,
    TicketNumber,
    acting_agent,
    afind_ticket,
    find_agent,
    find_customer,
    find_queue,
    find_ticket,
)
from .shapes import CommentLine, PriorityName, TicketLine, priority_of

ADDS = ToolAnnotations.adds()
SETS = ToolAnnotations.sets()
DELETES = ToolAnnotations.deletes()

Number = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1, max_length=5000)]


@tool(title=_("Open a ticket"), permission="helpdesk.add_ticket", annotations=ADDS)
def open_ticket(
    context: Context,
    queue: QueueName,
    subject: Annotated[str, Field(min_length=5, max_length=150)],
    description: Text,
    priority: PriorityName = "normal",
    customer: Annotated[str | None, Field(description="Email address; agents say for whom it is")] = None,
) -> TicketLine:
    """Open a ticket. Customers open it for themselves, agents for a customer."""
    ticket = Ticket.objects.create(
        queue=find_queue(queue),
        customer=_customer_of(context, customer),
        subject=subject,
        description=description,
        priority=priority_of(priority),
    )
    return TicketLine.of(ticket)


def _customer_of(context: Context, email: str | None) -> Customer:
    if context.user.has_perm(HANDLE):
        if email is None:
            raise ToolError("Say for whom: give the customer's email address, which find_customers tells.")
        return find_customer(email)
    own: Customer | None = Customer.objects.filter(user=context.user).first()
    if own is None:
        raise ToolError("Your user belongs to no customer yet. Ask an agent to open the ticket for you.")
    return own


@tool(title=_("Comment on a ticket"), permission="helpdesk.add_comment", annotations=ADDS)
async def add_comment(context: Context, number: TicketNumber, text: Text, internal: bool = False) -> CommentLine:
    """Write to the customer, or as a customer to the agents. Internal notes are for agents alone."""
    ticket = await afind_ticket(context.user, number)
    agent = await acting_agent(context.user)
    if internal and agent is None:
        raise ToolError("Only agents write internal notes. Leave out internal.")
    comment = await Comment.objects.acreate(ticket=ticket, agent=agent, body=text, is_internal=internal)
    await ticket.asave(update_fields=["updated_at"])
    return CommentLine.of(comment)


@tool(title=_("Change the status"), permission="helpdesk.change_ticket", annotations=SETS)
def set_status(context: Context, number: TicketNumber, status: Status) -> TicketLine:
    """Move a ticket to another status. get_ticket tells which ones are possible."""
    ticket = find_ticket(context.user, number)
    if ticket.status != status:
        ticket.move_to(status)  # its ValidationError tells the model what is possible
    return TicketLine.of(ticket)


@tool(title=_("Assign a ticket"), permission="helpdesk.handle_ticket", annotations=SETS)
def assign_ticket(
    context: Context,
    number: TicketNumber,
    agent: Annotated[str | None, Field(description="User name of an agent, or null to give it back")],
) -> TicketLine:
    """Give a ticket to an agent, or back to its queue."""
    ticket = find_ticket(context.user, number)
    ticket.assignee = None if agent is None else find_agent(agent)
    ticket.save(update_fields=["assignee"])
    return TicketLine.of(ticket)


@tool(title=_("Attach a text"), permission="helpdesk.add_attachment", annotations=ADDS)
def attach_text(
    context: Context,
    number: TicketNumber,
    name: Annotated[str, Field(pattern=r"^[\w-][\w.-]{0,95}\.(txt|md|csv|log)$", description="Such as notes.txt")],
    text: Annotated[str, Field(min_length=1)],
) -> str:
    """Add a text file to a ticket."""
    ticket = find_ticket(context.user, number)
    content = text.encode()
    if len(content) > MAX_ATTACHMENT:
        raise ToolError(
            f"The text has {len(content)} bytes; at most {MAX_ATTACHMENT} fit. Attach the part that matters."
        )
    if ticket.attachments.filter(name=name).exists():
        raise ToolError(f"{ticket.reference} has a file {name} already. Choose another name.")
    Attachment.objects.create(ticket=ticket, name=name, content=content)
    return f"{name} ({len(content)} bytes) is attached to {ticket.reference}."


@tool(title=_("Merge two tickets"), permission="helpdesk.change_ticket", annotations=DELETES, atomic=True)
def merge_tickets(context: Context, keep: Number, duplicate: Number) -> TicketLine:
    """Move the comments of a duplicate to the ticket that is kept, and close the duplicate.

    Both must be of the same customer.

    Args:
        keep: The number of the ticket that stays, as in 12 for HD-12.
        duplicate: The number of the ticket that is closed.
    """
    tickets = {number: find_ticket(context.user, number) for number in (keep, duplicate)}
    if keep == duplicate:
        raise ToolError("A ticket cannot be merged with itself. Give two numbers, as find_duplicates does.")
    kept, merged = tickets[keep], tickets[duplicate]
    if kept.customer_id != merged.customer_id:
        raise ToolError(f"{kept.reference} and {merged.reference} are of different customers and stay apart.")
    merged.comments.update(ticket=kept)
    if not Status(merged.status).is_done:
        merged.move_to(Status.CLOSED)
    kept.save(update_fields=["updated_at"])
    return TicketLine.of(kept)


@tool(title=_("Delete a ticket"), permission="helpdesk.delete_ticket", annotations=DELETES)
def delete_ticket(
    context: Context,
    number: TicketNumber,
    subject: Annotated[str, Field(description="The subject of the ticket, word for word, as a safeguard")],
) -> str:
    """Delete a ticket with all that belongs to it, for good. Meant for spam; otherwise close it."""
    ticket = find_ticket(context.user, number)
    reference = ticket.reference
    if subject != ticket.subject:
        raise ToolError(f"{reference} is called {ticket.subject!r}. Repeat that as subject if it is the right one.")
    ticket.delete()
    return f"{reference} is deleted."
