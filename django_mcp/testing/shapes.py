"""What the result of each method has to look like, as far as a client relies on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from django_mcp.protocol.results import CACHEABLE
from django_mcp.testing.replies import Reply

_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}


def _object(*optional: str, **required: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": required | dict.fromkeys(optional, _TEXT)}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _block(kind: str, *optional: str, **required: Any) -> dict[str, Any]:
    return _object(*optional, type={"const": kind}, **required)


_CONTENTS = {
    "oneOf": [_object("mimeType", uri=_TEXT, text=_TEXT), _object("mimeType", uri=_TEXT, blob=_TEXT)],
}
_BLOCK = {
    "oneOf": [
        _block("text", text=_TEXT),
        _block("image", data=_TEXT, mimeType=_TEXT),
        _block("audio", data=_TEXT, mimeType=_TEXT),
        _block("resource", resource=_CONTENTS),
        _block("resource_link", "mimeType", "description", uri=_TEXT, name=_TEXT),
    ],
}
_NAMED = _object("title", "description", name=_TEXT)
_RESULTS: dict[str, dict[str, Any]] = {
    "tools/list": _object("nextCursor", tools=_list({**_NAMED, "required": ["name", "inputSchema"]})),
    "tools/call": {**_object(content=_list(_BLOCK)), "properties": {"content": _list(_BLOCK), "isError": _FLAG}},
    "prompts/list": _object("nextCursor", prompts=_list(_NAMED)),
    "prompts/get": _object(
        "description", messages=_list(_object(role={"enum": ["user", "assistant"]}, content=_BLOCK))
    ),
    "resources/list": _object("nextCursor", resources=_list(_object("mimeType", uri=_TEXT, name=_TEXT))),
    "resources/templates/list": _object("nextCursor", resourceTemplates=_list(_object(uriTemplate=_TEXT, name=_TEXT))),
    "resources/read": _object(contents=_list(_CONTENTS)),
    "completion/complete": _object(completion=_object(values={**_list(_TEXT), "maxItems": 100})),
}
_MODERN_ONLY = {"resultType": _TEXT, "ttlMs": _COUNT, "cacheScope": {"enum": ["private", "public"]}}


def result_faults(reply: Reply) -> Iterator[str]:
    """One line for each place where a result has not the shape of its method and revision."""
    yield from faults(reply, _RESULTS.get(reply.request_method, {"type": "object"}))
    if reply.revision.is_modern:
        yield from faults(reply, {"required": _required(reply), "properties": _MODERN_ONLY})
        return
    for member in _MODERN_ONLY:
        if member in reply:
            yield f"$.{member}: {reply.revision} has no such member"


def _required(reply: Reply) -> list[str]:
    is_kept = reply.request_method in CACHEABLE and reply.get("resultType") == "complete"
    return ["resultType", "ttlMs", "cacheScope"] if is_kept else ["resultType"]


def faults(value: Any, schema: Any) -> Iterator[str]:
    """One line for each place that does not fit."""
    for error in Draft202012Validator(schema).iter_errors(value):
        yield f"{error.json_path}: {error.message}"
