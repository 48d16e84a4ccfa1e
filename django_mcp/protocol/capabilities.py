"""Capabilities: what the server offers, as a revision names it, and what a client lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django_mcp.protocol.versions import Revision


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is served; a capability is advertised if and only if its methods answer (DISC-05)."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    completions: bool = False
    logging: bool = False
    list_changed: bool = False
    subscribe: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)
    experimental: Mapping[str, Any] = field(default_factory=dict)


def to_wire(offer: Offer, revision: Revision) -> dict[str, Any]:
    """The ``capabilities`` of an InitializeResult or DiscoverResult."""
    changes = {"listChanged": True} if offer.list_changed else {}
    wire: dict[str, Any] = {}
    if offer.tools:
        wire["tools"] = {**changes}
    if offer.prompts:
        wire["prompts"] = {**changes}
    if offer.resources:
        wire["resources"] = {"subscribe": True, **changes} if offer.subscribe else {**changes}
    if offer.completions and revision.has_completions_capability:
        wire["completions"] = {}
    if offer.logging:
        wire["logging"] = {}
    if offer.experimental:
        wire["experimental"] = dict(offer.experimental)
    if offer.extensions and revision.is_modern:
        wire["extensions"] = dict(offer.extensions)
    return wire


def missing(capabilities: Mapping[str, Any], required: Mapping[str, Any]) -> dict[str, Any]:
    """The part of ``required`` that the client did not declare, in the shape -32021 reports it."""
    return _missing(_explicit(capabilities), _explicit(required))


def client_supports(capabilities: Mapping[str, Any], *path: str) -> bool:
    """Whether the client declared a capability, such as ``"sampling", "tools"``."""
    required: dict[str, Any] = {}
    for name in reversed(path):
        required = {name: required}
    return not missing(capabilities, required)


def _missing(declared: Any, required: Mapping[str, Any]) -> dict[str, Any]:
    lacking: dict[str, Any] = {}
    for name, wanted in required.items():
        found = declared.get(name)
        if not isinstance(wanted, Mapping):
            if found != wanted:
                lacking[name] = wanted
        elif not isinstance(found, Mapping):
            lacking[name] = dict(wanted)
        elif deeper := _missing(found, wanted):
            lacking[name] = deeper
    return lacking


def _explicit(capabilities: Mapping[str, Any]) -> Mapping[str, Any]:
    """Elicitation without a mode means form (ELI-02)."""
    modes = capabilities.get("elicitation")
    if not isinstance(modes, Mapping) or "form" in modes or "url" in modes:
        return capabilities
    return {**capabilities, "elicitation": {**modes, "form": {}}}
