"""A tool that asks on a page of the site: what the page is told, neither the model nor its client sees."""

from __future__ import annotations

from typing import Annotated

from django.utils.translation import gettext_lazy as _
from pydantic import Field

from django_mcp import Context, ToolAnnotations, tool
from example_project.helpdesk.models import Comment

from .access import TicketNumber, acting_agent, afind_ticket
from .shapes import CommentLine

Amount = Annotated[float, Field(gt=0, le=500, description="In euros")]


@tool(title=_("Arrange a refund"), permission="helpdesk.handle_ticket", annotations=ToolAnnotations.adds())
async def arrange_refund(context: Context, number: TicketNumber, amount: Amount) -> CommentLine | None:
    """Refund a customer. The agent enters the bank account on a page of the help desk, and may say no there."""
    ticket = await afind_ticket(context.user, number)
    agent = await acting_agent(context.user)
    answer = await context.aelicit_url(
        "refund",
        _("Enter the bank account for the refund."),
        data={"ticket": ticket.reference, "subject": ticket.subject, "amount": f"{amount:.2f}"},
    )
    if not answer.accepted:
        return None
    text = f"Refund of {amount:.2f} € to the account that ends in {answer.content['account']}."
    return CommentLine.of(await Comment.objects.acreate(ticket=ticket, agent=agent, body=text, is_internal=True))
