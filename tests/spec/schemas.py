"""The official schemas of the protocol's revisions, as published in the specification's repository (``schema/``)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

HERE = Path(__file__).parent
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

RESULTS = {
    "completion/complete": "CompleteResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
}


@cache
def _definitions(revision: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((HERE / f"schema-{revision}.json").read_text())
    return schema


@cache
def _validator(revision: str, name: str) -> Validator:
    whole = _definitions(revision)
    key = "$defs" if "$defs" in whole else "definitions"
    assert name in whole[key], f"{revision} has no {name}"
    kind = validator_for(whole)
    # Without FORMAT_CHECKER: "byte" and "uri" are no formats that it knows the same way everywhere.
    return kind({"$schema": whole["$schema"], "$ref": f"#/{key}/{name}", key: whole[key]})


def check(revision: str, name: str, value: Any) -> None:
    """Raises ``jsonschema.ValidationError`` for what this revision does not call by this name."""
    _validator(revision, name).validate(value)


def check_answer(revision: str, method: str, message: Any) -> None:
    """A JSON-RPC message that answers this method in this revision."""
    is_old = revision < "2025-11-25"
    if "error" in message:
        check(revision, "JSONRPCError" if is_old else "JSONRPCErrorResponse", message)
        assert "result" not in message
    else:
        check(revision, "JSONRPCResponse" if is_old else "JSONRPCResultResponse", message)
        check(revision, RESULTS[method], message["result"])
