"""Fill an empty help desk with believable data. Runs again without harm."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from example_project.helpdesk.seeding import Counts, fill


class Command(BaseCommand):
    help = "Creates the roles, the accounts and, in an empty help desk, a few thousand rows."

    def handle(self, **options: Any) -> None:
        is_new = fill(timezone.localtime().replace(minute=0, second=0, microsecond=0))
        counts = Counts.now()
        self.stdout.write(
            f"{'Seeded' if is_new else 'Left alone'}: {counts.tickets} tickets of {counts.customers} customers "
            f"with {counts.comments} comments and {counts.attachments} attachments."
        )
