"""The requests that are measured, and one of each made by hand to see that the answer is right."""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .apps.catalogue import NAMES

MODERN, LEGACY = "2026-07-28", "2025-11-25"
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ARGUMENTS = {"a": 2, "b": 3}
# The number itself where the revision allows it, and wrapped.
EXPECTED = (5, {"result": 5})

# Where the load generator counts up, as a server may refuse an id that is still being answered.
FIRST_ID = 100_000_000


def is_sum(result: Any) -> bool:
    return result.get("structuredContent") in EXPECTED and not result.get("isError")


def is_catalogue(result: Any) -> bool:
    return sorted(tool["name"] for tool in result.get("tools", ())) == NAMES and "nextCursor" not in result


@dataclass(frozen=True, slots=True)
class Call:
    """One POST, the same each time but for the id."""

    headers: dict[str, str]
    body: bytes
    path: str = "/mcp"
    is_right: Callable[[Any], bool] = is_sum

    @property
    def around_id(self) -> tuple[str, str]:
        """The body before and after the id."""
        before, _, after = self.body.decode().partition(str(FIRST_ID))
        return before, after

    def check(self, port: int) -> None:
        """Raises where the answer is not the right one: a fast error is no result."""
        status, _, message = _post(port, self.path, self.headers, self.body)
        if status != 200 or not self.is_right_answer(message):
            raise RuntimeError(f"Port {port} answered {status} {str(message)[:300]} to {self.body!r}.")

    def is_right_answer(self, message: Any, number: int = FIRST_ID) -> bool:
        return (
            isinstance(message, dict)
            and message.get("id") == number
            and isinstance(message.get("result"), dict)
            and self.is_right(message["result"])
        )


def modern_call(tool: str, path: str = "/mcp", token: str | None = None) -> Call:
    headers = {**_modern_headers("tools/call"), "Mcp-Name": tool}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return Call(headers, _request("tools/call", {"name": tool, "arguments": ARGUMENTS, "_meta": META}), path)


def modern_stream() -> Call:
    """A call that reports its progress on the stream of its answer."""
    params = {"name": "add_reporting", "arguments": ARGUMENTS, "_meta": {**META, "progressToken": "p"}}
    headers = {**_modern_headers("tools/call"), "Mcp-Name": "add_reporting"}
    return Call(headers, _request("tools/call", params))


def modern_list(path: str = "/catalogue") -> Call:
    return Call(_modern_headers("tools/list"), _request("tools/list", {"_meta": META}), path, is_catalogue)


def legacy_call(tool: str, port: int) -> Call:
    """A call in a session that is opened here."""
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
    status, headers, message = _post(port, "/mcp", JSON_HEADERS, _request("initialize", params))
    if status != 200:
        raise RuntimeError(f"initialize on port {port} was answered {status} {message!r}.")
    in_session = {**JSON_HEADERS, "MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": headers["mcp-session-id"]}
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    _post(port, "/mcp", in_session, note)
    return Call(in_session, _request("tools/call", {"name": tool, "arguments": ARGUMENTS}))


def legacy_stream(port: int) -> Call:
    """The same as ``modern_stream`` in a session, where the client could come back to the stream."""
    params = {"name": "add_reporting", "arguments": ARGUMENTS, "_meta": {"progressToken": "p"}}
    return replace(legacy_call("add_reporting", port), body=_request("tools/call", params))


def _modern_headers(method: str) -> dict[str, str]:
    return {**JSON_HEADERS, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}


def _request(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": FIRST_ID, "method": method, "params": params}).encode()


def _post(port: int, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        text = response.read()
        return response.status, response.headers, read_message(response.getheader("content-type") or "", text)
    finally:
        connection.close()


def read_message(media_type: str, text: bytes) -> Any:
    """What was answered: of a stream its last message, if there was another one before it."""
    if text and media_type.startswith("application/json"):
        return json.loads(text)
    if media_type.startswith("text/event-stream"):
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith(b"data: {")]
        if [event.get("method") for event in events] == ["notifications/progress", None]:
            return events[-1]
    return text.decode()
