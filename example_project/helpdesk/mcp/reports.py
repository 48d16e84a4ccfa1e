"""Numbers for those who lead the help desk, as data and as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Annotated

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel, Field

from django_mcp import ImageContent, TextContent, Toolset, register
from example_project.helpdesk.drawing import draw_bars
from example_project.helpdesk.models import Queue, Ticket

from .reading import READS


class QueueReport(BaseModel):
    queue: str
    opened: int
    resolved: int


class Report(BaseModel):
    """What happened in the last days."""

    days: int
    opened: int
    resolved: int
    overdue_now: int
    median_hours_to_resolve: float | None = Field(description="null if nothing was resolved")
    queues: list[QueueReport]


@register
class Reports(Toolset):
    annotations = READS
    tags = ("reports",)

    @Toolset.tool(title=_("Report"), permission="helpdesk.view_report")
    async def help_desk_report(
        self,
        days: Annotated[int, Field(ge=1, le=365, description="How far to look back")] = 28,
    ) -> Report:
        """Tell how many tickets were opened and resolved, in all and by queue, and how long that took."""
        now = timezone.now()
        since = now - timedelta(days=days)
        queues = await self._queues(since)
        resolved = Ticket.objects.filter(resolved_at__gte=since)
        hours = [
            (ticket.resolved_at - ticket.opened_at).total_seconds() / 3600
            async for ticket in resolved.only("resolved_at", "opened_at")
            if ticket.resolved_at is not None
        ]
        return Report(
            days=days,
            opened=sum(queue.opened for queue in queues),
            resolved=sum(queue.resolved for queue in queues),
            overdue_now=await Ticket.objects.overdue(now).acount(),
            median_hours_to_resolve=round(median(hours), 1) if hours else None,
            queues=queues,
        )

    @Toolset.tool(title=_("Chart of the last weeks"), permission="helpdesk.handle_ticket")
    def draw_ticket_chart(
        self,
        weeks: Annotated[int, Field(ge=2, le=26)] = 12,
    ) -> list[TextContent | ImageContent]:
        """Draw how many tickets were opened and resolved in each of the last weeks, the current one last."""
        now = timezone.now()
        starts = [now - timedelta(weeks=number) for number in range(weeks, 0, -1)]
        opened = _count_by_week(Ticket.objects.values_list("opened_at", flat=True), starts)
        resolved = _count_by_week(
            Ticket.objects.filter(resolved_at__gte=starts[0]).values_list("resolved_at", flat=True), starts
        )
        legend = f"Blue: opened, {', '.join(map(str, opened))}. Green: resolved, {', '.join(map(str, resolved))}."
        return [TextContent(legend), ImageContent(draw_bars([opened, resolved]), mime_type="image/png")]

    async def _queues(self, since: datetime) -> list[QueueReport]:
        counted = Queue.objects.annotate(
            opened=Count("tickets", filter=Q(tickets__opened_at__gte=since)),
            resolved=Count("tickets", filter=Q(tickets__resolved_at__gte=since)),
        )
        rows = counted.order_by("slug").values_list("slug", "opened", "resolved")
        return [QueueReport(queue=slug, opened=opened, resolved=resolved) async for slug, opened, resolved in rows]


def _count_by_week(moments: Iterable[datetime | None], starts: Sequence[datetime]) -> list[int]:
    """How many moments lie in the week after each start."""
    counts = [0] * len(starts)
    for moment in moments:
        if moment is not None and moment >= starts[0]:
            counts[min((moment - starts[0]).days // 7, len(starts) - 1)] += 1
    return counts
