"""A server's catalogue as a file next to the test, so that a change of it is a change to review."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

from django_mcp.testing.clients import AsyncMCPClient
from django_mcp.transports.in_process import MCPError

UPDATE = "MCP_UPDATE_SNAPSHOTS"


async def read_catalogue(client: AsyncMCPClient) -> dict[str, Any]:
    """All that the client sees in lists, each list sorted by name or URI."""
    lists = {
        "tools": client.list_tools,
        "prompts": client.list_prompts,
        "resources": client.list_resources,
        "resourceTemplates": client.list_resource_templates,
    }
    catalogue = {}
    for member, read in lists.items():
        try:
            catalogue[member] = sorted(await read(), key=_key)
        except MCPError:  # a server without any of them does not know the method
            catalogue[member] = []
    return catalogue


def _key(item: dict[str, Any]) -> str:
    return str(item.get("uri") or item.get("uriTemplate") or item["name"])


def compare(path: Path, value: Any) -> str | None:
    """What is different from the file, or ``None``. With MCP_UPDATE_SNAPSHOTS=1 the file is written instead."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
        return None
    advice = f"Run the test with {UPDATE}=1 to write it, and commit the file."
    if not path.exists():
        return f"There is no snapshot {path.name} next to the test. {advice}"
    stored = path.read_text(encoding="utf-8")
    if stored == text:
        return None
    lines = difflib.unified_diff(
        stored.splitlines(), text.splitlines(), f"{path.name} (stored)", "what clients get now", lineterm=""
    )
    return "\n".join([f"The catalogue is not that of {path.name}.", *lines, advice])
