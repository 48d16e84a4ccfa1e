"""Errors on the wire: the codes, the one exception that carries them, the one status table."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from django_mcp.protocol.versions import Era

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# Legacy only: the modern revision forbids them (RPC-18) and has no sessions.
SESSION_NOT_FOUND: Final = -32001
RESOURCE_NOT_FOUND: Final = -32002
REQUEST_CANCELLED: Final = -32800
URL_ELICITATION_REQUIRED: Final = -32042

HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class Absent(Enum):
    """The type of ``ABSENT``, which says "no value" where None is a value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class ProtocolError(Exception):
    """A JSON-RPC error reply. ``request_id`` None means that the reply has no id."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: Any = ABSENT,
        request_id: str | int | None = None,
        status: int | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.request_id = request_id
        self.status = status
        self.headers = headers

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    def http_status(self, era: Era) -> int:
        """The status of the HTTP answer: its own where one was set, else the table's."""
        return http_status(self.code, era) if self.status is None else self.status

    def to_wire(self) -> dict[str, Any]:
        """The ``error`` member of the reply."""
        error = {"code": self.code, "message": self.message}
        return error if self.data is ABSENT else {**error, "data": self.data}


def invalid_params(message: str, data: Any = ABSENT, *, request_id: str | int | None = None) -> ProtocolError:
    """The params do not fit the method."""
    return ProtocolError(INVALID_PARAMS, message, data=data, request_id=request_id)


def method_not_found(method: str, *, request_id: str | int | None = None) -> ProtocolError:
    """The method is unknown in this era, or its capability is not offered (RPC-09)."""
    return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}", request_id=request_id)


def header_mismatch(message: str, *, request_id: str | int | None = None) -> ProtocolError:
    """A routing header is missing, malformed, repeated or differs from the body."""
    return ProtocolError(HEADER_MISMATCH, message, request_id=request_id)


def missing_capability(required: dict[str, Any], *, request_id: str | int | None = None) -> ProtocolError:
    """The client did not declare what the method needs; ``required`` holds what is missing."""
    return ProtocolError(
        MISSING_CLIENT_CAPABILITY,
        f"Missing client capability: {', '.join(required)}",
        data={"requiredCapabilities": required},
        request_id=request_id,
    )


def url_elicitation_required(elicitations: Sequence[dict[str, Any]]) -> ProtocolError:
    """Pages that a person has to be done with before the request is sent again (ELI-08)."""
    return ProtocolError(
        URL_ELICITATION_REQUIRED,
        "This request needs a page to be opened first",
        data={"elicitations": list(elicitations)},
    )


def unsupported_version(
    requested: str, supported: Sequence[str], *, request_id: str | int | None = None
) -> ProtocolError:
    """The protocol version is unknown, or not one that can be used in this way."""
    return ProtocolError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "Unsupported protocol version",
        data={"supported": list(supported), "requested": requested},
        request_id=request_id,
    )


def session_not_found() -> ProtocolError:
    """An unknown, expired or foreign session are one and the same (LH-31, SEC-03)."""
    return ProtocolError(SESSION_NOT_FOUND, "Session not found", status=404)


def resource_not_found(uri: str, era: Era) -> ProtocolError:
    """The same answer for what is missing and for what is hidden (RES-06, RES-07)."""
    return ProtocolError(_MISSING_RESOURCE[era], "Resource not found", data={"uri": uri})


def http_status(code: int, era: Era) -> int:
    """The HTTP status of an error reply that is sent before any event of a stream."""
    return _STATUS[era].get(code, 200)


_MISSING_RESOURCE = {Era.LEGACY: RESOURCE_NOT_FOUND, Era.MODERN: INVALID_PARAMS}

# Faults of the transport or of the message's shape; they mean the same in both eras.
_SHARED_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
}

_STATUS: dict[Era, dict[int, int]] = {
    # Handler errors ride on 200 (LH-37).
    Era.LEGACY: {**_SHARED_STATUS, SESSION_NOT_FOUND: 404},
    Era.MODERN: {**_SHARED_STATUS, METHOD_NOT_FOUND: 404, INVALID_PARAMS: 400},
}
