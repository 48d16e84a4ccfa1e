"""Pages of a list. A cursor is sealed and names the last item shown, so any worker can go on.

It holds what that item is ordered by, which need not be among the fields that clients see.
"""

from __future__ import annotations

import json

from django_mcp.protocol.errors import ProtocolError, invalid_params
from django_mcp.protocol.sealed import Sealer


def encode_cursor(sealer: Sealer, method: str, principal: str, key: str) -> str:
    """A cursor that only this principal can use, and only for this list (PAG-05)."""
    return sealer.seal(key.encode(), _bound(method, principal))


def decode_cursor(sealer: Sealer, method: str, principal: str, cursor: str) -> str:
    """The key behind a cursor of ours; ``ProtocolError`` -32602 for any other text (PAG-05)."""
    try:
        return sealer.open(cursor, _bound(method, principal)).decode()
    except ValueError:
        raise invalid_cursor() from None


def invalid_cursor() -> ProtocolError:
    """Not a cursor of this list, or what it names is gone (PAG-03)."""
    return invalid_params("cursor is invalid or expired")


def _bound(method: str, principal: str) -> bytes:
    """No other sealed text of ours is taken for a cursor."""
    return b"cursor" + json.dumps([method, principal]).encode()
