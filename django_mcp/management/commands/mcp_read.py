"""Read one resource as a client would."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_mcp.management.asking import AskingCommand


class Command(AskingCommand):
    help = "Reads a resource and prints the result as JSON. The exit code is 1 if there is none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("uri", help="the URI of the resource")
        super().add_arguments(parser)

    def handle(self, *, uri: str, **options: Any) -> None:
        result = self.ask(options, "resources/read", {"uri": uri})
        if result is None:
            raise CommandError(f"The server {options['server']!r} has no resources.")
        self.write_json(result)
