"""The lines that connect well-known clients to a served help desk, ready to be pasted."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

NAME = "helpdesk"
MANAGE = Path(__file__).parents[1] / "manage.py"


def client_lines(url: str, token: str) -> Iterator[tuple[str, str]]:
    """What to do for each client, and the line that does it."""
    bearer = f"Authorization: Bearer {token}"
    entry = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    yield "Claude Code", f'claude mcp add --transport http {NAME} {url} --header "{bearer}"'
    yield "VS Code, in .vscode/mcp.json", json.dumps({"servers": {NAME: {"type": "http", **entry}}})
    yield "Cursor, in .cursor/mcp.json", json.dumps({"mcpServers": {NAME: entry}})
    # @latest, or else npx chooses a version of years ago that suits an old Node.
    inspector = f"npx @modelcontextprotocol/inspector@latest --cli {url} --transport http"
    yield "Inspector", f'{inspector} --header "{bearer}" --method tools/list'
    # Clients start it in a folder of their own, where nothing is activated.
    yield (
        "Any client that starts its server itself",
        shlex.join([sys.executable, str(MANAGE), "mcp_stdio", "--user", "agent"]),
    )
