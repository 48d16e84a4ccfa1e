"""``server/discover``, the first question of a modern client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django_mcp.primitives.jsonable import is_lazy
from django_mcp.protocol.capabilities import to_wire
from django_mcp.protocol.envelope import SUPPORTED
from django_mcp.server.call import Call
from django_mcp.server.listing import varies


async def server_discover(call: Call) -> dict[str, Any]:
    """DISC-01..11. Both eras are listed, so that a client which only knows a legacy one can shake hands (VER-15)."""
    server = call.server
    offer = server.offer(call.revision, can_stream=call.source.can_stream)
    result: dict[str, Any] = {
        "supportedVersions": list(SUPPORTED),
        "capabilities": to_wire(offer, call.revision),
    }
    with server.services.activate(call.locale):
        instructions = server.instructions_text()
    if instructions is not None:
        result["instructions"] = instructions
    if varies(call, is_translated=is_lazy(server.texts)):
        result.update(replace(server.cache, scope="private").to_wire(call.revision))
    return result
