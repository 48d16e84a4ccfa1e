"""One structured record for each call, on the logger ``django_mcp.calls``."""

from __future__ import annotations

import logging
from typing import Any

from django_mcp.protocol.headers import NAMED_BY
from django_mcp.server.context import Context
from django_mcp.server.observation import Outcome

CALLS = logging.getLogger("django_mcp.calls")

_LONGEST = 200  # of a text that the client made up


def log_call(context: Context, outcome: Outcome) -> None:
    """The fields begin with ``mcp_``, since a log record has a ``name`` and a ``args`` of its own."""
    if not CALLS.isEnabledFor(logging.INFO):
        return
    name = _name_of(context)
    CALLS.info(
        "%s%s by %s: %s in %.1f ms",
        _shown(context.method),
        "" if name is None else f" {_shown(name)}",
        context.principal,
        outcome.name if outcome.code is None else f"{outcome.name} {outcome.code}",
        outcome.duration * 1000,
        extra=_fields(context, outcome, name),
    )


def _fields(context: Context, outcome: Outcome, name: str | None) -> dict[str, Any]:
    client, trace = context.client_info or {}, context.trace
    fields = {
        "mcp_server": context.server.name,
        "mcp_method": _shown(context.method),
        "mcp_name": None if name is None else _shown(name),
        "mcp_user": getattr(context.user, "pk", None),
        "mcp_principal": context.principal,
        "mcp_revision": str(context.protocol_version),
        "mcp_era": context.protocol_version.era.value,
        "mcp_outcome": outcome.name,
        "mcp_code": outcome.code,
        "mcp_duration": outcome.duration,
        "mcp_client": _shown(client.get("name")),
        "mcp_client_version": _shown(client.get("version")),
        "mcp_traceparent": trace.traceparent,
        "mcp_tracestate": trace.tracestate,
        "mcp_baggage": trace.baggage,
    }
    if context.server.settings.log_arguments:
        fields["mcp_arguments"] = {key: value for key, value in context.params.items() if key != "_meta"}
    return fields


def _name_of(context: Context) -> str | None:
    """The tool or prompt that was asked for, or what is registered behind a URI: its variables are arguments."""
    member = NAMED_BY.get(context.method)
    given = None if member is None else context.params.get(member)
    if not isinstance(given, str) or member != "uri":
        return given if isinstance(given, str) else None
    found = context.server.registry.find_resource(given)
    return None if found is None else str(found[0].key)


def _shown(text: Any) -> str | None:
    """What a client made up, without line breaks and the like, and not too long."""
    if not isinstance(text, str):
        return None
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text[:_LONGEST])
