"""Rows that an argument names, for the user of the call. What is not found is an error the model can act on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from django_mcp import Context, ToolError
from example_project.helpdesk.models import Agent, Customer, Queue, Ticket

TicketNumber = Annotated[int, Field(ge=1, description="The number of a ticket: 12 for HD-12")]
QueueName = Annotated[str, Field(description="The short name of a queue, as list_queues tells it")]


def is_somebody(context: Context) -> bool:
    """Whether the user has tickets of his own: as an agent or as a customer."""
    is_agent = Agent.objects.filter(user_id=context.user.pk).exists()
    return is_agent or Customer.objects.filter(user_id=context.user.pk).exists()


def find_ticket(user: Any, number: int) -> Ticket:
    ticket = Ticket.objects.visible_to(user).with_people().filter(pk=number).first()
    if ticket is None:
        raise no_ticket(number)
    return ticket


async def afind_ticket(user: Any, number: int) -> Ticket:
    ticket = await Ticket.objects.visible_to(user).with_people().filter(pk=number).afirst()
    if ticket is None:
        raise no_ticket(number)
    return ticket


def no_ticket(number: int) -> ToolError:
    """The same for a foreign ticket as for none, so that nobody learns which numbers exist."""
    return ToolError(f"There is no ticket {number} that you may see. Find its number with search_tickets.")


def find_queue(slug: str) -> Queue:
    queue = Queue.objects.filter(slug=slug).first()
    if queue is None:
        known = ", ".join(Queue.objects.values_list("slug", flat=True))
        raise ToolError(f"There is no queue {slug!r}. The queues are: {known}.")
    return queue


def find_agent(username: str) -> Agent:
    """Somebody who takes new tickets."""
    agent = Agent.objects.available().filter(user__username=username).first()
    if agent is None:
        known = ", ".join(agent.user.username for agent in Agent.objects.available())
        raise ToolError(f"No agent {username!r} is available. Available are: {known}.")
    return agent


def find_customer(email: str) -> Customer:
    customer = Customer.objects.filter(email__iexact=email).first()
    if customer is None:
        raise ToolError(f"No customer has the address {email!r}. Look it up with find_customers.")
    return customer


async def acting_agent(user: Any) -> Agent | None:
    """The agent that the user is, or ``None`` for a customer who writes to his own ticket."""
    agent = await Agent.objects.filter(user_id=user.pk).select_related("user").afirst()
    if agent is None and not await Customer.objects.filter(user_id=user.pk).aexists():
        raise ToolError("Your user is neither an agent nor a customer, so nobody could be named as the author.")
    return agent
