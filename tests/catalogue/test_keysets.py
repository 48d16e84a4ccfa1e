"""Pages of querysets: one query each, no OFFSET, and every row once whatever the order."""

import itertools
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, DecimalField, DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Cast, Length, Lower
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_mcp.exceptions import InvalidOutput
from django_mcp.keysets import read_rows
from django_mcp.protocol.errors import ProtocolError
from example_project.helpdesk.models import Agent, Attachment, Comment, Customer, Queue, Ticket

NOW = timezone.now().replace(microsecond=123456)


@pytest.fixture(autouse=True)
def tickets(db):
    """Twelve, in two queues, some taken and some resolved, in an order that no key has."""
    queues = [Queue.objects.create(slug=slug, name=slug.title()) for slug in ("sales", "repair")]
    customer = Customer.objects.create(name="Ann", email="ann@example.com")
    agents = [Agent.objects.create(user=User.objects.create(username=name)) for name in ("zoe", "bob")]
    for number, (queue, agent) in enumerate(itertools.product(queues, [*agents, None])):
        for subject in ("same", f"{7 * number % 5}"):
            Ticket.objects.create(
                queue=queue,
                customer=customer,
                assignee=agent,
                subject=subject,
                description="",
                opened_at=NOW + timedelta(microseconds=number % 3),
                due_at=NOW + timedelta(days=1),
                status="resolved" if number % 2 else "new",
                priority=1 + number % 2,
            )


def page(queryset, position, size) -> Any:
    return read_rows(queryset, position, size)


def all_pages(queryset, size=5):
    """The rows of every page, read as clients do: each with the position of the last row before."""
    found, position = [], None
    while True:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            pairs = page(queryset, position, size)
        assert len(captured) == 1
        assert "OFFSET" not in captured[0]["sql"]
        found += [row for row, _position in pairs]
        if len(pairs) < size:
            return found
        position = pairs[-1][1]


tickets_by = Ticket.objects.order_by


@pytest.mark.parametrize(
    "queryset",
    [
        lambda: Ticket.objects.all(),
        lambda: Ticket.objects,
        lambda: tickets_by(),
        lambda: tickets_by("pk"),
        lambda: tickets_by("-id"),
        lambda: tickets_by("subject"),
        lambda: tickets_by("-priority", "subject"),
        lambda: tickets_by("queue__name", "-opened_at"),
        lambda: tickets_by("queue_id", F("subject").desc()),
        lambda: tickets_by("-resolved_at"),
        lambda: tickets_by("resolved_at", "priority"),
        lambda: tickets_by("assignee__user__username"),
        lambda: tickets_by(F("resolved_at").desc(nulls_first=True), "-assignee_id"),
        lambda: Ticket.objects.annotate(length=Length("subject"), low=Lower("subject")).order_by("-length", "low"),
        lambda: Ticket.objects.annotate(said=Count("comments")).order_by("said", "subject"),
        lambda: Ticket.objects.annotate(
            paid=Cast(F("priority"), DecimalField(max_digits=5, decimal_places=2)) * Value(Decimal("1.10"))
        ).order_by("paid"),
        lambda: Ticket.objects.only("subject").order_by("description", "-subject"),
        lambda: Ticket.objects.filter(priority=1).reverse(),
    ],
    ids=itertools.count(),
)
def test_every_row_comes_once(queryset):
    """W16, PAG-05, BL-075, X22."""
    rows = all_pages(queryset())
    assert len({row.pk for row in rows}) == len(rows) == queryset().count()


def test_the_order_is_that_of_the_queryset():
    """Rows that are equal in it come by their key."""
    queryset = tickets_by("-priority", "subject")
    assert all_pages(queryset) == list(queryset.order_by("-priority", "subject", "pk"))
    assert all_pages(Ticket.objects.all()) == list(tickets_by("-opened_at", "pk"))


@pytest.mark.parametrize("name", ["resolved_at", "-resolved_at"])
def test_what_has_no_value_comes_last(name):
    rows = all_pages(tickets_by(name), size=1)
    assert [row.resolved_at is None for row in rows] == [False] * 6 + [True] * 6


def test_rows_that_are_added_or_removed_shift_nothing():
    """PAG-03, BL-075."""
    queryset = tickets_by("subject")
    before = list(queryset.order_by("subject", "pk"))
    pairs = page(queryset, None, 4)
    first = before[0]
    Ticket.objects.create(queue=first.queue, customer=first.customer, subject="!", description="")
    first.delete()
    assert [row for row, _position in page(queryset, pairs[-1][1], 20)] == before[4:]


def test_dicts_are_rows_too():
    rows = all_pages(Ticket.objects.values("subject", number=F("pk")).order_by("-opened_at"))
    assert {row["number"] for row in rows} == set(Ticket.objects.values_list("pk", flat=True))


def test_where_there_are_no_rows_nothing_is_asked():
    assert read_rows(Ticket.objects.none(), None, 5) == []


def test_durations_are_an_order_too():
    lasts = ExpressionWrapper(F("due_at") - F("opened_at"), output_field=DurationField())
    assert len(all_pages(Ticket.objects.annotate(lasts=lasts).order_by("-lasts"))) == 12


@pytest.mark.parametrize("rows", [[1], "text", None, {"a": 1}])
def test_other_values_are_not_for_it(rows):
    assert read_rows(rows, None, 5) is None


@pytest.mark.parametrize(
    ("queryset", "fault"),
    [
        (lambda: tickets_by("subject")[:3], "is sliced, a union or grouped"),
        (lambda: Ticket.objects.union(Ticket.objects.all()), "is sliced, a union or grouped"),
        (lambda: Ticket.objects.values("queue").annotate(Count("pk")), "is sliced, a union or grouped"),
        (lambda: tickets_by("?"), "ordered by '.', which is an expression"),
        (lambda: tickets_by(Lower("subject")), r"ordered by Lower\(F\(subject\)\), which is an expression"),
        (lambda: tickets_by("queue"), "ordered by 'queue', which is a relation"),
        (lambda: tickets_by("comments__body"), "ordered by 'comments__body', which is a relation to many rows"),
        (lambda: tickets_by("opened_at__year"), "ordered by 'opened_at__year', which is a transform"),
        (lambda: Ticket.objects.values_list("pk"), "a QuerySet of tuple rows"),
        (lambda: Attachment.objects.order_by("content"), "ordered by a value of type bytes|type memoryview"),
    ],
    ids=itertools.count(),
)
def test_a_queryset_that_cannot_be_paged_is_told_why(queryset, fault):
    ticket = Ticket.objects.get(pk=Ticket.objects.values_list("pk")[:1])
    Attachment.objects.create(ticket=ticket, name="a", content=b"a")
    Comment.objects.create(ticket=ticket, body="")
    with pytest.raises(InvalidOutput, match=fault):
        read_rows(queryset(), None, 5)


@pytest.mark.parametrize(
    "position",
    [["subject,pk", "a", 1], ["-opened_at,pk", "a"], ["-opened_at,pk", "no date", 1]],
    ids=["another order", "too short", "another type"],
)
def test_a_position_of_another_order_is_no_position(position):
    """PAG-03: such as one from before the site was changed."""
    with pytest.raises(ProtocolError, match="cursor is invalid or expired"):
        read_rows(Ticket.objects.all(), position, 5)
