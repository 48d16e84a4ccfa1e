"""Call one tool as a client would."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_mcp.management.asking import AskingCommand


class Command(AskingCommand):
    help = "Calls a tool and prints its result as JSON. The exit code is 1 if it failed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the name of the tool")
        parser.add_argument("arguments", nargs="?", default="{}", help="the arguments, a JSON object (default: {})")
        super().add_arguments(parser)

    def handle(self, *, name: str, arguments: str, **options: Any) -> None:
        result = self.ask(options, "tools/call", {"name": name, "arguments": _read_object(arguments)})
        if result is None:
            raise CommandError(f"The server {options['server']!r} has no tools.")
        if result.get("isError"):
            raise CommandError("\n".join(block["text"] for block in result["content"] if block["type"] == "text"))
        self.write_json(result)


def _read_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CommandError(f"The arguments are no JSON ({error}). Write an object: '{{\"limit\": 5}}'.") from None
    if not isinstance(value, dict):
        raise CommandError(f"The arguments are {text}. Write a JSON object: '{{\"limit\": 5}}'.")
    return value
