"""What is asked of the tables again and again, each question with a name."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Count, Q
from django.utils import timezone

from .choices import Status

if TYPE_CHECKING:
    from .models import Agent, Comment, Customer, Queue, Ticket  # noqa: F401  named in strings only


HANDLE = "helpdesk.handle_ticket"


class QueueQuerySet(models.QuerySet["Queue"]):
    def with_load(self) -> QueueQuerySet:
        """Adds ``active``, ``unassigned`` and ``overdue``: how many tickets are."""
        active = Q(tickets__status__in=Status.active())
        counts = {
            "active": Count("tickets", filter=active),
            "unassigned": Count("tickets", filter=active & Q(tickets__assignee=None)),
            "overdue": Count("tickets", filter=active & Q(tickets__due_at__lt=timezone.now())),
        }
        # A query that counts does without the order of Meta.
        return self.annotate(**counts).order_by("name")


class CustomerQuerySet(models.QuerySet["Customer"]):
    def matching(self, text: str) -> CustomerQuerySet:
        """Customers whose name, company or address contains the text."""
        return self.filter(Q(name__icontains=text) | Q(company__icontains=text) | Q(email__icontains=text))


class AgentQuerySet(models.QuerySet["Agent"]):
    def available(self) -> AgentQuerySet:
        """Agents that new work may be given to, with their users."""
        return self.filter(is_available=True, user__is_active=True).select_related("user")


class TicketQuerySet(models.QuerySet["Ticket"]):
    def visible_to(self, user: Any) -> TicketQuerySet:
        """All tickets for those who handle them, and their own for customers."""
        if user.has_perm(HANDLE):
            return self
        return self.filter(customer__user_id=user.pk) if user.is_authenticated else self.none()

    def active(self) -> TicketQuerySet:
        """Tickets that somebody still has to do something about."""
        return self.filter(status__in=Status.active())

    def overdue(self, now: datetime) -> TicketQuerySet:
        return self.active().filter(due_at__lt=now)

    def matching(self, text: str) -> TicketQuerySet:
        """Tickets that have every word of the text in their subject, description or customer's name."""
        found = self
        for word in text.split():
            found = found.filter(
                Q(subject__icontains=word) | Q(description__icontains=word) | Q(customer__name__icontains=word)
            )
        return found

    def with_people(self) -> TicketQuerySet:
        """With all that is needed to show a ticket in one line."""
        return self.select_related("queue", "customer", "assignee__user")

    def most_urgent_first(self) -> TicketQuerySet:
        return self.order_by("-priority", "due_at", "pk")


class CommentQuerySet(models.QuerySet["Comment"]):
    def visible_to(self, user: Any) -> CommentQuerySet:
        """Without the internal notes, for those who do not handle tickets."""
        return self if user.has_perm(HANDLE) else self.filter(is_internal=False)
