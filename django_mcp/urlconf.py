"""Where the site's URLconf mounts our endpoints, worked out once and looked up by path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.core.signals import setting_changed
from django.dispatch import receiver
from django.urls import URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from django_mcp.servers import MCPServer
from django_mcp.views import Endpoint

# A server, and what the patterns captured.
Found = tuple[MCPServer, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Mount:
    """One endpoint and the patterns that lead to it, outermost first."""

    patterns: tuple[Any, ...]
    server: MCPServer

    @property
    def static_path(self) -> str | None:
        """The path without its trailing slash, if no pattern before the last captures anything.

        ``None`` where the last pattern is more than the optional slash of ``django_mcp.urls``, as in
        ``path("mcp", Endpoint(server))``: then only matching tells.
        """
        *mounts, last = self.patterns
        is_fixed = all(isinstance(pattern, RoutePattern) and not pattern.converters for pattern in mounts)
        if not is_fixed or not last.match(""):
            return None
        return ("/" + "".join(str(pattern) for pattern in mounts)).rstrip("/") or "/"

    def match(self, path: str) -> dict[str, Any] | None:
        """What the patterns capture of ``path``, or ``None``."""
        rest, kwargs = path.removeprefix("/"), {}
        for pattern in self.patterns:
            match = pattern.match(rest)
            if not match:
                return None
            rest, _args, captured = match
            kwargs.update(captured)
        return kwargs


@dataclass(slots=True)
class EndpointTable:
    """Servers by path: a dictionary for fixed paths, a short list for those with parameters."""

    static: dict[str, MCPServer] = field(default_factory=dict)
    dynamic: list[Mount] = field(default_factory=list)

    def find(self, path: str) -> Found | None:
        """The server behind a path, with its leading slash and with or without a trailing one."""
        server = self.static.get(path)
        if server is not None:
            return server, {}
        for mount in self.dynamic:
            kwargs = mount.match(path)
            if kwargs is None and not path.endswith("/"):
                kwargs = mount.match(f"{path}/")
            if kwargs is not None:
                return mount.server, kwargs
        return None

    def add(self, mount: Mount) -> None:
        path = mount.static_path
        if path is None:
            self.dynamic.append(mount)
            return
        # Both spellings reach the endpoint: a redirect would lose the body of a POST (BL-050).
        self.static.setdefault(path, mount.server)
        self.static.setdefault(path if path == "/" else f"{path}/", mount.server)


@cache
def endpoint_table(urlconf: str) -> EndpointTable:
    """The endpoints of a URLconf, given by its dotted path; found once a process."""
    table = EndpointTable()
    for mount in find_mounts(get_resolver(urlconf)):
        table.add(mount)
    return table


def find_mounts(resolver: URLResolver, above: tuple[Any, ...] = ()) -> Iterator[Mount]:
    """Every mount below ``resolver``. The root resolver's own pattern is the leading slash."""
    for entry in resolver.url_patterns:
        patterns = (*above, entry.pattern)
        if isinstance(entry, URLResolver):
            yield from find_mounts(entry, patterns)
        elif isinstance(entry.callback, Endpoint):
            yield Mount(patterns, entry.callback.server)


@receiver(setting_changed)
def _forget_endpoints(*, setting: str, **_kwargs: Any) -> None:
    if setting == "ROOT_URLCONF":
        endpoint_table.cache_clear()
