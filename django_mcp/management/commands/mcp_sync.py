"""Bring the rows of tools, prompts and resources in step with what the site registers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from django_mcp import inventory
from django_mcp.discovery import load_urlconf
from django_mcp.servers import all_servers


class Command(BaseCommand):
    help = (
        "Makes a row for each tool, prompt, resource and resource template, and marks the rows of those "
        "that are gone. Switches stay as they are."
    )

    def handle(self, **options: Any) -> None:
        load_urlconf()
        servers = all_servers()
        for server in servers:
            changes = inventory.sync(server, inventory.rows())
            self.stdout.write(
                f"{server.name}: {changes.added} added, {changes.returned} back again, "
                f"{changes.vanished} vanished, {changes.stayed} as before."
            )
        names = {server.name for server in servers}
        orphans = [row for row in inventory.rows() if row.server not in names]
        if marked := inventory.mark_vanished(inventory.rows(), orphans):
            self.stdout.write(f"{marked} vanished with their server.")
