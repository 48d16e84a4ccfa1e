"""Era and version of one message, and the ``_meta`` envelope of a request. Pure, decided once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django_mcp.protocol.errors import ProtocolError, header_mismatch, invalid_params, unsupported_version
from django_mcp.protocol.headers import METHOD, VERSION, Headers, check_routing, check_unrepeated
from django_mcp.protocol.jsonrpc import Message, Notification, Reply, Request
from django_mcp.protocol.versions import ALL, LEGACY, MODERN, Revision

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"

LOG_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)

# What -32022 offers, newest first. Both eras: a client that only knows a legacy revision learns that
# it can shake hands. An envelope that names a legacy revision must not be sent again (VER-15).
SUPPORTED: Final = tuple(revision.value for revision in reversed(ALL))
SUPPORTED_MODERN: Final = tuple(revision.value for revision in reversed(MODERN))

_LEGACY_NAMES: Final = frozenset(revision.value for revision in LEGACY)


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Envelope:
    """Under which rules a request is served, and what it says about its client."""

    revision: Revision
    meta: dict[str, Any]
    client_info: dict[str, Any] | None
    client_capabilities: dict[str, Any]
    log_level: str | None
    progress_token: str | int | None


def is_modern(message: Message, version_header: str | None) -> bool:
    """The era of a message, told by its header and envelope alone (VER-03 to VER-05)."""
    if version_header is not None and version_header not in _LEGACY_NAMES:
        return True
    # Replies have no envelope, and ``initialize`` is the handshake whatever else is in it.
    if isinstance(message, Reply) or message.method == "initialize":
        return False
    meta = message.params.get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION in meta


def read_modern(request: Request, headers: Headers | None) -> Envelope:
    """Check the envelope in the order that clients are promised, which is the order of the lines.

    Without headers (stdio) the header rules do not exist. Whether the method and its capability
    exist is for the dispatcher to say. Raises ``ProtocolError``: -32602, -32020 or -32022.
    """
    id = request.id
    if headers is not None:
        check_unrepeated(headers, id)
    meta = request.params.get("_meta")
    if not isinstance(meta, dict):
        raise _without_version(headers, "_meta is missing or not an object", id)
    version = meta.get(PROTOCOL_VERSION)
    if not isinstance(version, str):
        raise _without_version(headers, f"_meta {PROTOCOL_VERSION} is missing or not a string", id)
    if headers is not None:
        _check_version(headers, version, id)
        check_routing(headers, request)
    revision = Revision.find(version)
    if revision is None or not revision.is_modern:
        supported = SUPPORTED if revision is None else SUPPORTED_MODERN
        raise unsupported_version(version, supported, request_id=id)
    return _read_members(meta, revision, id)


def read_modern_notice(notice: Notification, headers: Headers | None) -> Envelope | None:
    """The envelope of a notification, or ``None`` under a version that nobody serves.

    It need not have one, and there are no header rules for it (MH-07): what is absent is not missed. A
    header that contradicts the body is refused all the same: whoever routes by it would be wrong.
    """
    meta = notice.params.get("_meta")
    if not isinstance(meta, dict):
        meta = {}
    if headers is not None and headers.get(METHOD) not in (None, notice.method):
        raise header_mismatch(f"{METHOD} header differs from the body")
    version = meta.get(PROTOCOL_VERSION) if headers is None else headers.get(VERSION)
    revision = Revision.find(version) if isinstance(version, str) else None
    if revision is None or not revision.is_modern:
        return None
    info, capabilities = meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES)
    return Envelope(
        revision=revision,
        meta=meta,
        client_info=info if isinstance(info, dict) else None,
        client_capabilities=capabilities if isinstance(capabilities, dict) else {},
        log_level=None,
        progress_token=None,
    )


def read_legacy(
    request: Request | Notification,
    *,
    revision: Revision,
    client_info: dict[str, Any] | None,
    client_capabilities: dict[str, Any],
    log_level: str | None,
) -> Envelope:
    """The same value from what the handshake agreed on; of ``_meta`` only the token is reserved."""
    meta = request.params.get("_meta")
    if not isinstance(meta, dict):
        meta = {}
    token = meta.get("progressToken")
    return Envelope(
        revision=revision,
        meta=meta,
        client_info=client_info,
        client_capabilities=client_capabilities,
        log_level=log_level,
        progress_token=token if _is_token(token) else None,
    )


def _without_version(headers: Headers | None, fault: str, id: str | int) -> ProtocolError:
    """What to tell about a body that names no version.

    A header that names an unknown one may be all that is wrong: a legacy client has no envelope.
    """
    announced = None if headers is None else headers.get(VERSION)
    if announced is not None and Revision.find(announced) is None:
        return unsupported_version(announced, SUPPORTED, request_id=id)
    return invalid_params(fault, request_id=id)


def _check_version(headers: Headers, version: str, id: str | int) -> None:
    announced = headers.get(VERSION)
    if announced is None:
        raise header_mismatch(f"{VERSION} header is missing", request_id=id)
    if announced != version:
        raise header_mismatch(f"{VERSION} header differs from the body", request_id=id)


def _read_members(meta: dict[str, Any], revision: Revision, id: str | int) -> Envelope:
    capabilities = meta.get(CLIENT_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise invalid_params(f"_meta {CLIENT_CAPABILITIES} is missing or not an object", request_id=id)
    info = meta.get(CLIENT_INFO)
    if info is not None and not isinstance(info, dict):
        raise invalid_params(f"_meta {CLIENT_INFO} is not an object", request_id=id)
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        raise invalid_params(f"_meta {LOG_LEVEL} is not one of {', '.join(LOG_LEVELS)}", request_id=id)
    token = meta.get("progressToken")
    if token is not None and not _is_token(token):
        raise invalid_params("_meta progressToken is neither a string nor an integer", request_id=id)
    return Envelope(
        revision=revision,
        meta=meta,
        client_info=info,
        client_capabilities=capabilities,
        log_level=level,
        progress_token=token,
    )


def _is_token(value: Any) -> bool:
    # Exact types: True is an int.
    return type(value) is str or type(value) is int
