"""Where the URLconf mounts the endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error, Warning
from django.urls import get_resolver
from django.urls.resolvers import LocalePrefixPattern, RegexPattern

from django_mcp.servers import MCPServer, default_server

if TYPE_CHECKING:
    from django_mcp.urlconf import Mount

ENDPOINT = "^(?:/)?$"  # what endpoint_urls() mounts


def site_mounts() -> list[Mount]:
    """Every mount; none where the URLconf cannot be read, which Django reports."""
    # A command that runs no checks does not load the doors.
    from django_mcp.urlconf import find_mounts

    try:
        return list(find_mounts(get_resolver()))
    except Exception:  # noqa: BLE001 - reading a URLconf runs code of the site
        return []


def is_mounted(server: MCPServer) -> bool:
    return any(mount.server is server for mount in site_mounts())


def check_language_mounts(**_kwargs: Any) -> list[CheckMessage]:
    """E004: one endpoint has one path, and a client has no language in its URL."""
    return [
        Error(
            f"The server {mount.server.name!r} is mounted inside i18n_patterns(): "
            f"its path /{_route(mount)} changes with the language.",
            hint=f"Move it out of i18n_patterns(): urlpatterns = [{_line(mount)}, *i18n_patterns(...)].",
            obj=mount.server,
            id="django_mcp.E004",
        )
        for mount in site_mounts()
        if _is_translated(mount)
    ]


def check_slash_mounts(**_kwargs: Any) -> list[CheckMessage]:
    """W002 (BL-050). The consumer serves both spellings all the same; Django's resolver cannot."""
    return [
        Warning(
            f"The server {mount.server.name!r} is mounted at /{_route(mount)}: through Django's handlers "
            f"/{_route(mount).rstrip('/')} is not found, and a redirect would lose the body of a POST.",
            hint=f"Leave the slash out, then both spellings are served: {_line(mount)}.",
            obj=mount.server,
            id="django_mcp.W002",
        )
        for mount in site_mounts()
        if _route(mount).endswith("/") and not _is_translated(mount)
    ]


def _is_translated(mount: Mount) -> bool:
    return any(isinstance(pattern, LocalePrefixPattern) for pattern in mount.patterns)


def _routes(mount: Mount) -> list[Any]:
    """The patterns that stand for a part of the path."""
    return [
        pattern
        for pattern in mount.patterns
        if str(pattern) not in ("", ENDPOINT) and not isinstance(pattern, LocalePrefixPattern)
    ]


def _route(mount: Mount) -> str:
    return "".join(str(pattern).removeprefix("^").removesuffix("$") for pattern in _routes(mount))


def _line(mount: Mount) -> str:
    """The mount as it should be written, in the URLconf that holds it now."""
    pattern = _routes(mount)[-1] if _routes(mount) else ""
    function = "re_path(r" if isinstance(pattern, RegexPattern) else "path("
    route = str(pattern).removesuffix("$").rstrip("/")
    is_default = mount.server is default_server
    view = 'include("django_mcp.urls")' if is_default else f'get_server("{mount.server.name}").urls'
    return f'{function}"{route}", {view})'
