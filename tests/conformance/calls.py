"""Calls of both eras to the second server of a served site, each a stream that a test reads as it likes."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.wire.client import META, MODERN

from . import wire
from .streams import SSE

ERAS = ("modern", "2025-11-25")
CAPABILITIES: dict[str, Any] = {"elicitation": {}}
_ids = itertools.count(1)


class Caller:
    """One client. A legacy one opens its session at once."""

    def __init__(self, port: int, era: str, path: str = "/bugs") -> None:
        self.port = port
        self.era = era
        self.path = path
        self.client = wire.client_of(port)
        self.client.path = path
        if era != "modern":
            self.client.initialize(era, capabilities=CAPABILITIES)

    def request(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        """The headers and the body of a call that wants its progress."""
        meta: dict[str, Any] = {"progressToken": "t"}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.era == "modern":
            meta |= {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": CAPABILITIES}
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}
        else:
            headers |= {key: value for key, value in self.client.session_headers.items() if value}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": next(_ids), "method": "tools/call", "params": params}
        return headers, json.dumps(message).encode()

    async def call(self, tool: str, /, *, port: int | None = None, room: int | None = None, **arguments: Any) -> SSE:
        """Through another *port*, which a proxy has, or with little *room* on the way."""
        headers, body = self.request(tool, arguments)
        headers["Accept-Encoding"] = "gzip"
        return await SSE.open(port or self.port, "POST", headers, body, path=self.path, room=room)

    def text(self, tool: str, /, **arguments: Any) -> str:
        """What a tool answers that sends nothing on the way. Blocks."""
        text: str = self.client.call_tool(self.era, tool, arguments)["content"][0]["text"]
        return text

    def process(self) -> dict[str, Any]:
        """The measures of the process that answers."""
        measures: dict[str, Any] = self.client.call_tool(self.era, "process")["structuredContent"]
        return measures
