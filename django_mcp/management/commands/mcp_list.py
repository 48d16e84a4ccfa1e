"""Show what a user sees of a server, and how large it is for a model."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from django_mcp.management.asking import AskingCommand

LISTS = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
TITLES = {"tools": "Tools", "prompts": "Prompts", "resources": "Resources", "resourceTemplates": "Resource templates"}
KEYS = {"resources": "uri", "resourceTemplates": "uriTemplate"}
CHARACTERS_A_TOKEN = 4  # of English text and JSON, roughly; each model counts differently


class Command(AskingCommand):
    help = "Lists the tools, prompts and resources that a user sees, with their size as clients get them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print everything as JSON")
        super().add_arguments(parser)

    def handle(self, *, as_json: bool, **options: Any) -> None:
        catalogue = {member: self._all(options, method, member) for member, method in LISTS.items()}
        characters = sum(map(_size, catalogue.values()))
        total = {"characters": characters, "tokens": characters // CHARACTERS_A_TOKEN}
        if as_json:
            self.write_json({"server": options["server"], "user": options["user"], **catalogue, **total})
            return
        for member, items in catalogue.items():
            self._write_list(member, items)
        self.stdout.write(f"{total['characters']} characters, about {total['tokens']} tokens.")

    def _all(self, options: dict[str, Any], method: str, member: str) -> list[dict[str, Any]]:
        """Every page, as a client reads them."""
        items: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = self.ask(options, method, params)
            if page is None:
                return items
            items += page[member]
            if "nextCursor" not in page:
                return items
            params = {"cursor": page["nextCursor"]}

    def _write_list(self, member: str, items: list[dict[str, Any]]) -> None:
        if not items:
            return
        self.stdout.write(f"{TITLES[member]} ({len(items)}):")
        names = [str(item[KEYS.get(member, "name")]) for item in items]
        width = max(map(len, names))
        for name, item in zip(names, items, strict=True):
            about = (item.get("description") or item.get("title") or "").partition("\n")[0]
            self.stdout.write(f"  {name:<{width}}  {_size(item):>6}  {about}".rstrip())


def _size(value: Any) -> int:
    """Characters of the JSON as it is sent."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) if value else 0
