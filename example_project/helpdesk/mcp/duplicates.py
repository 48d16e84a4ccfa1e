"""A tool that takes its time: it compares every ticket of a queue with every other one."""

from __future__ import annotations

from datetime import timedelta
from difflib import SequenceMatcher
from itertools import combinations
from typing import Annotated

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from typing_extensions import TypedDict

from django_mcp import tool
from example_project.helpdesk.models import Ticket

from .access import QueueName, find_queue
from .reading import READS

MOST = 25


class Duplicate(TypedDict):
    """Two tickets that say nearly the same."""

    keep: int
    duplicate: int
    same_customer: bool
    similarity: float


# Without a timeout a question about a whole year would hold one of the threads for minutes.
@tool(title=_("Find duplicates"), permission="helpdesk.handle_ticket", annotations=READS, timeout=60)
def find_duplicates(
    queue: QueueName,
    days: Annotated[int, Field(ge=1, le=365, description="How far to look back")] = 14,
    similarity: Annotated[float, Field(ge=0.5, le=1, description="1 finds the same texts only")] = 0.9,
) -> list[Duplicate]:
    """Find tickets of a queue that say nearly the same, the most similar first. Takes seconds for a month."""
    since = timezone.now() - timedelta(days=days)
    tickets = Ticket.objects.filter(queue=find_queue(queue), opened_at__gte=since).order_by("opened_at", "pk")
    found = [
        Duplicate(
            keep=earlier.pk,
            duplicate=later.pk,
            same_customer=earlier.customer_id == later.customer_id,
            similarity=round(ratio, 3),
        )
        for earlier, later in combinations(tickets, 2)
        if (ratio := _similarity(earlier.description, later.description, similarity)) >= similarity
    ]
    return sorted(found, key=lambda pair: (-pair["similarity"], pair["keep"], pair["duplicate"]))[:MOST]


def _similarity(one: str, other: str, least: float) -> float:
    """Exact where it can reach ``least``: the upper bound is much cheaper."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    bound = matcher.quick_ratio()
    return matcher.ratio() if bound >= least else bound
