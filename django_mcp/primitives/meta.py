"""``_meta`` of a definition: its keys are named by the specification's rules (META-01, META-02)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django_mcp.exceptions import InvalidPrimitive

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:({_LABEL}(?:\.{_LABEL})*)/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
RESERVED = frozenset({"modelcontextprotocol", "mcp"})


def checked_meta(meta: Any, origin: str) -> Mapping[str, Any]:
    """A read-only copy, or ``InvalidPrimitive`` that names the key."""
    if meta is None:
        return MappingProxyType({})
    if not isinstance(meta, Mapping) or not all(isinstance(key, str) for key in meta):
        raise InvalidPrimitive(
            f"{origin} was given meta={meta!r}. It is a mapping with text keys: "
            'write meta={"example.com/key": "value"}.'
        )
    for key in meta:
        _check_key(key, origin)
    return MappingProxyType(dict(meta))


def _check_key(key: str, origin: str) -> None:
    match = _KEY.fullmatch(key)
    if match is None:
        raise InvalidPrimitive(
            f"{origin} was given the meta key {key!r}. A key is a name of letters, digits, dots, hyphens and "
            'underscores, after a domain and a slash if it has one: write "com.example/key".'
        )
    labels = (match[1] or "").split(".")
    if len(labels) > 1 and labels[1].lower() in RESERVED:
        raise InvalidPrimitive(
            f"{origin} was given the meta key {key!r}. Its prefix is reserved for the protocol: "
            'use a domain of your own, as in "com.example/key".'
        )
