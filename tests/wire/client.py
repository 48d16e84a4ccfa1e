"""A client that writes its messages by hand, for what no well-behaved SDK would send."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.wire.doors import Answer, Pairs

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
DEFAULT_HEADERS = {
    "Host": "testserver",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


class WireClient:
    """Speaks both eras through one door. Headers given as ``None`` are left out."""

    def __init__(self, door: Any, path: str = "/mcp", headers: dict[str, str | None] | None = None) -> None:
        self.door = door
        self.path = path
        self.headers = headers or {}
        self.session: str | None = None
        self.version: str | None = None
        self._ids = itertools.count(1)

    def send(self, method: str, body: bytes = b"", headers: dict[str, str | None] | None = None) -> Answer:
        merged = {**DEFAULT_HEADERS, **self.headers, **(headers or {})}
        pairs: Pairs = [(name, value) for name, value in merged.items() if value is not None]
        return self.door.send(method, self.path, pairs, body)  # type: ignore[no-any-return]

    def post(self, message: Any, headers: dict[str, str | None] | None = None) -> Answer:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send("POST", body, headers)

    def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = None,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> Answer:
        params = dict(params or {})
        own: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        name = params.get(NAMED_BY.get(method, ""))
        if isinstance(name, str):
            own["Mcp-Name"] = name
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}, **(meta or {})}
        return self.post(self.message(method, params, id), {**own, **(headers or {})})

    def legacy(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = None,
        headers: dict[str, str | None] | None = None,
    ) -> Answer:
        return self.post(self.message(method, params, id), {**self.session_headers, **(headers or {})})

    def notify(self, method: str, headers: dict[str, str | None] | None = None) -> Answer:
        return self.post({"jsonrpc": "2.0", "method": method}, {**self.session_headers, **(headers or {})})

    @property
    def session_headers(self) -> dict[str, str | None]:
        return {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version}

    def message(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": next(self._ids) if id is None else id, "method": method}
        return message if params is None else {**message, "params": params}

    def initialize(
        self,
        version: str = "2025-11-25",
        headers: dict[str, str | None] | None = None,
        capabilities: dict[str, Any] | None = None,
    ) -> Answer:
        """Open a session and keep it for ``legacy()``."""
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "wire-client", "version": "1"},
        }
        answer = self.post(self.message("initialize", params), headers)
        self.session = answer.header("Mcp-Session-Id")
        if answer.status == 200 and "result" in answer.json:
            self.version = answer.result["protocolVersion"]
        return answer

    def call(self, era: str, method: str, params: dict[str, Any] | None = None) -> Answer:
        """The same request in the era named: ``modern`` or a legacy version."""
        if era == "modern":
            return self.modern(method, params)
        if self.version != era:
            self.initialize(era)
        return self.legacy(method, params)

    def call_tool(self, era: str, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        return self.call(era, "tools/call", params).result
