"""Suggestions from the database, for the user who is typing. It searches, sorts and cuts."""

from __future__ import annotations

from django.db.models import QuerySet

from django_mcp import Context, QuerySetCompleter
from example_project.helpdesk.models import Attachment, Queue, Ticket


def visible_tickets(context: Context) -> QuerySet[Ticket]:
    return Ticket.objects.visible_to(context.user).active()


def visible_attachments(arguments: dict[str, str], context: Context) -> QuerySet[Attachment]:
    """Files of the ticket that was chosen before."""
    number = arguments.get("number", "")
    if not number.isdecimal():
        return Attachment.objects.none()
    return Attachment.objects.filter(ticket__in=Ticket.objects.visible_to(context.user).filter(pk=int(number)))


ticket_numbers = QuerySetCompleter(visible_tickets, "pk", search_fields=["pk", "subject"])
queue_names = QuerySetCompleter(Queue, "slug", search_fields=["slug", "name"])
attachment_names = QuerySetCompleter(visible_attachments, "name")
