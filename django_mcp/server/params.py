"""Reading the parameters of a request: each refusal names the field (``-32602``)."""

from __future__ import annotations

from typing import Any

from django_mcp.protocol.errors import invalid_params
from django_mcp.server.call import Call


def read_string(call: Call, field: str) -> str:
    value = call.params.get(field)
    if not isinstance(value, str):
        raise invalid_params(f"{field} is required and must be a string")
    return value


def read_object(call: Call, field: str) -> dict[str, Any]:
    value = call.params.get(field)
    if not isinstance(value, dict):
        raise invalid_params(f"{field} is required and must be an object")
    return value


def read_arguments(call: Call) -> dict[str, Any]:
    """``arguments``, where absent and null mean none (TOOL-32)."""
    arguments = call.params.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise invalid_params("arguments must be an object")
    return arguments
