"""Remove rows nobody can use any more. For cron; two at once do not disturb each other."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from django_mcp.events.call_streams import clear_streams
from django_mcp.events.log import prune
from django_mcp.events.numbering import log_alias, number_waiting
from django_mcp.managers import MAX_BATCH
from django_mcp.models import AccessToken
from django_mcp.pending import clear_pending
from django_mcp.questions import clear_spent
from django_mcp.sessions import clear_expired

# Long enough to see in the admin which token a client still tries to use.
_KEEP_TOKENS = timedelta(days=30)


class Command(BaseCommand):
    help = "Removes sessions that are over, tokens that expired more than 30 days ago, and old events."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--batch-size",
            type=int,
            default=500,
            help=f"rows a transaction, between 1 and {MAX_BATCH} (default: 500)",
        )

    def handle(self, *, batch_size: int, **options: Any) -> None:
        if not 1 <= batch_size <= MAX_BATCH:
            raise CommandError(f"--batch-size is {batch_size}, but must be between 1 and {MAX_BATCH}.")
        sessions = clear_expired(batch_size)
        tokens = AccessToken.objects.clear(expired_before=timezone.now() - _KEEP_TOKENS, batch_size=batch_size)
        clear_spent(batch_size)
        clear_pending(batch_size)
        clear_streams(batch_size)
        number_waiting(log_alias())
        events = prune(batch_size)
        self.stdout.write(
            f"Removed {sessions} expired sessions, {tokens} expired access tokens and {events} old events."
        )
