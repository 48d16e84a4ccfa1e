"""The methods that only legacy clients have: the handshake, ``ping`` and ``logging/setLevel``.

Deleting this file, its entries in the dispatch table and ``transports.handshake_http`` ends the legacy era.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django_mcp.protocol.capabilities import to_wire
from django_mcp.protocol.envelope import LOG_LEVELS
from django_mcp.protocol.errors import invalid_params
from django_mcp.protocol.jsonrpc import Request
from django_mcp.protocol.versions import Revision, negotiate
from django_mcp.server.call import Call
from django_mcp.server.params import read_string


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What ``initialize`` says about the client (INIT-01)."""

    requested: str
    revision: Revision
    client_info: dict[str, Any]
    client_capabilities: dict[str, Any]


def read_greeting(request: Request) -> Greeting:
    """Read the params of ``initialize``. Raises ``ProtocolError`` -32602 that names the field."""
    params = request.params
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise invalid_params("protocolVersion is required and must be a string", request_id=request.id)
    capabilities = params.get("capabilities")
    if not isinstance(capabilities, dict):
        raise invalid_params("capabilities is required and must be an object", request_id=request.id)
    client = params.get("clientInfo")
    if not isinstance(client, dict) or not isinstance(client.get("name"), str):
        raise invalid_params(
            "clientInfo is required and must be an object with a name and a version", request_id=request.id
        )
    if not isinstance(client.get("version"), str):
        raise invalid_params("clientInfo.version is required and must be a string", request_id=request.id)
    return Greeting(
        requested=requested, revision=negotiate(requested), client_info=client, client_capabilities=capabilities
    )


async def initialize(call: Call) -> dict[str, Any]:
    """INIT-02..06. The envelope already carries the negotiated revision."""
    server, revision = call.server, call.revision
    result: dict[str, Any] = {
        "protocolVersion": str(revision),
        "capabilities": to_wire(server.offer(revision, can_stream=call.source.can_stream), revision),
        "serverInfo": server.identity(revision, call.locale, call.source),
    }
    with server.services.activate(call.locale):
        instructions = server.instructions_text()
    if instructions is not None:
        result["instructions"] = instructions
    return result


async def ping(call: Call) -> dict[str, Any]:
    return {}


async def logging_set_level(call: Call) -> dict[str, Any]:
    """LOG-02: the level belongs to the session."""
    level = read_string(call, "level")
    if level not in LOG_LEVELS:
        raise invalid_params(f"level {level!r} is unknown: it is one of {', '.join(LOG_LEVELS)}")
    session = call.session
    assert session is not None  # noqa: S101 - every legacy door refuses a request that has none
    await call.sessions.set_log_level(session, level)
    return {}
