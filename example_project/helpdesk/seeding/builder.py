"""Fills an empty help desk with a few thousand rows, in a handful of statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import transaction

from example_project.helpdesk.choices import Priority, Status
from example_project.helpdesk.models import Agent, Attachment, Comment, Customer, Queue, Ticket

from .accounts import create_accounts
from .people import CITIES, COMPANIES, FIRST_NAMES, LAST_NAMES
from .problems import PARTS, PROBLEMS, PRODUCTS, QUEUES, Problem

SEED = 2026
BATCH = 500
DAYS = 120
CUSTOMERS = 400
TICKETS = 1_200
# The one customer who can log in should have something to look at.
OWN_TICKETS = 6
PRIORITIES = {Priority.LOW: 20, Priority.NORMAL: 55, Priority.HIGH: 18, Priority.URGENT: 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many rows a help desk has."""

    customers: int
    tickets: int
    comments: int
    attachments: int

    @classmethod
    def now(cls) -> Counts:
        return cls(
            customers=Customer.objects.count(),
            tickets=Ticket.objects.count(),
            comments=Comment.objects.count(),
            attachments=Attachment.objects.count(),
        )


@transaction.atomic
def fill(now: datetime, tickets: int = TICKETS) -> bool:
    """Create the accounts, and the rest unless there are tickets already. Whether it did.

    The same ``now`` gives the same rows.
    """
    Queue.objects.bulk_create(
        [Queue(slug=slug, name=name, description=text, response_hours=hours) for slug, name, text, hours in QUEUES],
        ignore_conflicts=True,
    )
    create_accounts()
    if Ticket.objects.exists():
        return False
    _Builder(now, tickets).build()
    return True


@dataclass(slots=True)
class _Story:
    """A ticket on its way to the database, and what it is about."""

    ticket: Ticket
    problem: Problem
    words: dict[str, Any]


class _Builder:
    def __init__(self, now: datetime, tickets: int) -> None:
        self.random = Random(SEED)  # noqa: S311  the same data everywhere, not secrets
        self.now = now
        self.tickets = tickets

    def build(self) -> None:
        self.queues = {queue.slug: queue for queue in Queue.objects.all()}
        self.agents = list(Agent.objects.select_related("user").order_by("user__username"))
        self.own = Customer.objects.get(user__username="customer")
        Customer.objects.bulk_create(self._customers(), batch_size=BATCH)
        self.customers = list(Customer.objects.order_by("email"))
        stories = sorted((self._story(number) for number in range(self.tickets)), key=lambda one: one.ticket.opened_at)
        # The database hands out the numbers, so the oldest ticket comes first.
        created = Ticket.objects.bulk_create([story.ticket for story in stories], batch_size=BATCH)
        for story, ticket in zip(stories, created, strict=True):
            story.ticket = ticket
        comments = [comment for story in stories for comment in self._comments(story)]
        Comment.objects.bulk_create(comments, batch_size=BATCH)
        attachments = [self._attachment(story) for story in stories if self._has_attachment(story)]
        Attachment.objects.bulk_create(attachments, batch_size=BATCH)

    def _customers(self) -> Iterator[Customer]:
        for number in range(CUSTOMERS):
            first = FIRST_NAMES[number % len(FIRST_NAMES)]
            last = LAST_NAMES[number % len(LAST_NAMES)]
            city, language = self.random.choice(CITIES)
            yield Customer(
                name=f"{first} {last}",
                email=f"{first}.{last}{number}@mail.example".lower(),
                company=self.random.choice(COMPANIES) if self.random.random() < 0.2 else "",
                city=city,
                language=language,
                created_at=self.now - timedelta(days=self.random.randint(DAYS, 1500)),
            )

    def _story(self, number: int) -> _Story:
        problem = self.random.choice(PROBLEMS)
        customer = self.own if number < OWN_TICKETS else self.random.choice(self.customers)
        words = self._words(customer)
        ticket = Ticket(
            queue=self.queues[problem.queue],
            customer=customer,
            subject=problem.subject.format(**words),
            description=problem.description.format(**words),
            priority=self.random.choices(list(PRIORITIES), list(PRIORITIES.values()))[0],
            opened_at=self.now - timedelta(days=DAYS * self.random.random() ** 1.2, minutes=1),
        )
        ticket.due_at = ticket.promised_at()
        self._let_time_pass(ticket)
        return _Story(ticket, problem, words)

    def _words(self, customer: Customer) -> dict[str, Any]:
        return {
            "product": self.random.choice(PRODUCTS),
            "part": self.random.choice(PARTS),
            "order": self.random.randint(48_000, 53_999),
            "amount": self.random.randrange(40, 400, 5),
            "days": self.random.randint(3, 21),
            "city": customer.city,
        }

    def _let_time_pass(self, ticket: Ticket) -> None:
        """Old tickets are mostly done, young ones are mostly new."""
        age = (self.now - ticket.opened_at).days
        ticket.updated_at = ticket.opened_at
        if self.random.random() < min(0.97, 0.15 + age / 12):
            ticket.status = Status.CLOSED if age > 21 else Status.RESOLVED
            ticket.resolved_at = self._between(ticket.opened_at, timedelta(days=6))
            ticket.updated_at = ticket.resolved_at
        elif age > 0:
            ticket.status = self.random.choice([Status.OPEN, Status.OPEN, Status.WAITING])
            ticket.updated_at = self._between(ticket.opened_at, timedelta(days=2))
        if ticket.status != Status.NEW or self.random.random() < 0.3:
            ticket.assignee = self.random.choice(self.agents)

    def _between(self, start: datetime, at_most: timedelta) -> datetime:
        return start + min(at_most, self.now - start) * self.random.random()

    def _comments(self, story: _Story) -> Iterator[Comment]:
        ticket = story.ticket
        if ticket.status == Status.NEW:
            return
        lines: list[tuple[bool, bool, str]] = [(True, False, story.problem.answers[0])]
        if self.random.random() < 0.5:
            lines.insert(0, (True, True, story.problem.note))
        if ticket.status != Status.WAITING:
            lines += [(False, False, self.random.choice(story.problem.replies))]
        if self.random.random() < 0.3:
            lines += [(True, False, story.problem.answers[-1])]
        step = (ticket.updated_at - ticket.opened_at) / len(lines)
        for place, (by_agent, is_internal, text) in enumerate(lines, 1):
            yield Comment(
                ticket=ticket,
                agent=ticket.assignee if by_agent else None,
                is_internal=is_internal,
                body=text.format(**story.words),
                created_at=ticket.opened_at + step * place,
            )

    def _has_attachment(self, story: _Story) -> bool:
        return bool(story.problem.attachment) and self.random.random() < 0.6

    def _attachment(self, story: _Story) -> Attachment:
        ticket, words = story.ticket, story.words
        text = (
            f"{story.problem.attachment.removesuffix('.txt').replace('-', ' ').capitalize()}\n"
            f"Customer: {ticket.customer.name}, {words['city']}\nOrder: {words['order']}\n"
            f"Product: {words['product']} ({words['part']})\nDate: {ticket.opened_at:%Y-%m-%d %H:%M}\n"
        )
        content = text.encode()
        return Attachment(
            ticket=ticket,
            name=story.problem.attachment,
            content=content,
            size=len(content),
            uploaded_at=ticket.opened_at,
        )
