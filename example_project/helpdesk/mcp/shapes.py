"""What the tools return. The annotations become the output schemas that clients are told about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from example_project.helpdesk.choices import Priority, Status
from example_project.helpdesk.models import Comment, Customer, Ticket

PriorityName = Literal["low", "normal", "high", "urgent"]


def priority_of(name: PriorityName) -> Priority:
    return Priority[name.upper()]


def priority_name(ticket: Ticket) -> PriorityName:
    names: dict[int, PriorityName] = {1: "low", 2: "normal", 3: "high", 4: "urgent"}
    return names[ticket.priority]


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketLine:
    """A ticket in a list."""

    number: int
    subject: str
    queue: str
    status: Status
    priority: PriorityName
    customer: str
    assignee: str | None
    opened_at: datetime
    due_at: datetime

    @classmethod
    def of(cls, ticket: Ticket) -> TicketLine:
        return cls(
            number=ticket.pk,
            subject=ticket.subject,
            queue=ticket.queue.slug,
            status=Status(ticket.status),
            priority=priority_name(ticket),
            customer=ticket.customer.name,
            assignee=None if ticket.assignee is None else ticket.assignee.user.username,
            opened_at=ticket.opened_at,
            due_at=ticket.due_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketPage:
    """The first tickets found, and how many there are in all."""

    total: int
    tickets: list[TicketLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentLine:
    author: str
    is_internal: bool
    written_at: datetime
    text: str

    @classmethod
    def of(cls, comment: Comment) -> CommentLine:
        return cls(
            author=comment.author,
            is_internal=comment.is_internal,
            written_at=comment.created_at,
            text=comment.body,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketDetail:
    """A ticket with all that was said."""

    ticket: TicketLine
    description: str
    comments: list[CommentLine]
    attachments: list[str]
    possible_next_statuses: list[Status]


class QueueLoad(TypedDict):
    """How much work waits in a queue."""

    slug: str
    name: str
    response_hours: int
    active: int
    unassigned: int
    overdue: int


class CustomerCard(BaseModel):
    """Who a customer is."""

    name: str
    email: str
    company: str = Field(description="Empty for private customers")
    city: str
    language: str = Field(description="The language to answer in")
    active_tickets: list[int] = Field(description="The numbers of tickets that are not done")

    @classmethod
    def of(cls, customer: Customer) -> CustomerCard:
        return cls(
            name=customer.name,
            email=customer.email,
            company=customer.company,
            city=customer.city,
            language=customer.get_language_display(),
            active_tickets=[ticket.pk for ticket in customer.tickets.all()],
        )
