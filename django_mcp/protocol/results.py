"""Results: the server's identity, caching hints, and what a revision may see of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from django_mcp.protocol.content import WireIcon
from django_mcp.protocol.versions import Revision

SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"

# Their complete results carry ttlMs and cacheScope, those of other methods never (CACHE-01, CACHE-02).
CACHEABLE: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """Who the server is."""

    name: str
    version: str
    title: Any = None
    description: Any = None
    website_url: str | None = None
    icons: tuple[WireIcon, ...] = ()

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The fields this revision has (INIT-05)."""
        wire: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.title is not None and revision.has_titles:
            wire["title"] = str(self.title)
        if not revision.has_server_details:
            return wire
        if self.description is not None:
            wire["description"] = str(self.description)
        if self.website_url is not None:
            wire["websiteUrl"] = self.website_url
        if self.icons:
            wire["icons"] = [icon.to_wire(revision) for icon in self.icons]
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHint:
    """How long clients may keep a result, in milliseconds, and whether users may share it (CACHE-04)."""

    ttl_ms: int = 0
    scope: Literal["private", "public"] = "private"

    def __post_init__(self) -> None:
        if type(self.ttl_ms) is not int or self.ttl_ms < 0:
            raise ValueError(
                f"CacheHint got ttl_ms={self.ttl_ms!r}. It is a whole number of milliseconds, 0 or more: "
                "write CacheHint(ttl_ms=60_000)."
            )
        if self.scope not in ("private", "public"):
            raise ValueError(
                f'CacheHint got scope={self.scope!r}. It is "private", or "public" if every user gets the same '
                'answer: write CacheHint(scope="public") or leave it out.'
            )

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The members of a result; legacy revisions have none (RPC-16)."""
        return {"ttlMs": self.ttl_ms, "cacheScope": self.scope} if revision.is_modern else {}


DEFAULT_CACHE: Final = CacheHint()


def shape(
    method: str,
    result: dict[str, Any],
    revision: Revision,
    server_info: Mapping[str, Any] | None,
    cache: CacheHint | None,
) -> dict[str, Any]:
    """Add what the modern revision wants on a result; legacy ones get it untouched (RPC-16).

    ``cache`` is the server's hint; one that the result carries already wins.
    """
    if not revision.is_modern:
        return result
    shaped = {"resultType": "complete", **result}
    if method in CACHEABLE and shaped["resultType"] == "complete":
        for member, value in (cache or DEFAULT_CACHE).to_wire(revision).items():
            shaped.setdefault(member, value)
    if server_info is not None:
        shaped["_meta"] = {SERVER_INFO: server_info, **result.get("_meta", {})}
    return shaped
