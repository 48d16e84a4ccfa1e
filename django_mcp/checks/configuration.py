"""``DJANGO_MCP`` and the settings of each server: faults, and servers that are open to everybody."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.module_loading import import_string

from django_mcp.checks.mounts import is_mounted
from django_mcp.checks.offers import is_empty
from django_mcp.conf import MCPSettings, known_keys, with_overrides
from django_mcp.environment import is_test_run
from django_mcp.servers import MCPServer, all_servers


def check_settings(**_kwargs: Any) -> list[CheckMessage]:
    """E002: unknown keys, values that do not fit, and dotted paths that lead nowhere."""
    faults = list(_faults(getattr(settings, "DJANGO_MCP", {}), "DJANGO_MCP"))
    for server in all_servers():
        faults += _faults(server._overrides, f"MCPServer({server.name!r}, settings=...)")
    return faults or list(_unloadable())


def _faults(given: Any, origin: str) -> Iterator[CheckMessage]:
    """Key by key, so that all of them are told at once."""
    for part in [{key: value} for key, value in given.items()] if isinstance(given, Mapping) else [given]:
        try:
            with_overrides(MCPSettings(), part, origin)
        except Exception as error:  # noqa: BLE001 - a check reports what it meets
            yield _fault(str(error), _line_for(part))


def _line_for(part: Any) -> str:
    if not isinstance(part, Mapping):
        return 'Write DJANGO_MCP = {"PAGE_SIZE": 50}, or leave it out.'
    (key,) = part
    known = known_keys()
    if key in known:
        default = getattr(MCPSettings(), key.lower())
        return f'Write "{key}": {_spelled(default)} for the default, or leave the key out.'
    close = difflib.get_close_matches(str(key).upper(), known, n=1)
    return f'Write "{close[0]}" in place of {str(key)!r}.' if close else f"Take {str(key)!r} out."


def _spelled(default: Any) -> str:
    return repr(list(default) if isinstance(default, tuple) else default)


def _unloadable() -> Iterator[CheckMessage]:
    """What fits its key and cannot be imported. Servers share most of it, so each fault is told once."""
    told = set()
    for server in all_servers():
        for message in _load_faults(server):
            if message not in told:
                told.add(message)
                yield _fault(message, "Write the dotted path of something that can be imported.")


def _load_faults(server: MCPServer) -> Iterator[str]:
    try:
        conf = server.settings
        _ = server.authentications
    except Exception as error:  # noqa: BLE001 - importing runs code of the site
        yield str(error)
        return
    # Not CONSUMER_MIDDLEWARE: it may live in asgi.py, and a check does not build the site's application.
    reporters = [] if conf.exception_reporter is None else [conf.exception_reporter]
    for key, paths in (
        ("CONTEXT_PROCESSORS", conf.context_processors),
        ("MIDDLEWARE", conf.middleware),
        ("EXCEPTION_REPORTER", reporters),
    ):
        for path in paths:
            try:
                import_string(path)
            except Exception as error:  # noqa: BLE001 - importing runs code of the site
                yield f"DJANGO_MCP['{key}'] names {path!r}, which cannot be imported: {error}."


def _fault(message: str, hint: str) -> CheckMessage:
    return Error(message, hint=hint, id="django_mcp.E002")


def check_open_servers(**_kwargs: Any) -> list[CheckMessage]:
    """E003. The test runner turns DEBUG off, so a test run proves nothing."""
    if settings.DEBUG or is_test_run():
        return []
    return [
        Error(
            f"The server {server.name!r} is open: whoever reaches it may use it without credentials.",
            hint=(
                'Write "AUTHENTICATION": "django_mcp.auth.BearerToken" in its settings. If it is to be open, '
                'say so: SILENCED_SYSTEM_CHECKS = ["django_mcp.E003"].'
            ),
            obj=server,
            id="django_mcp.E003",
        )
        for server in all_servers()
        if _is_open(server) and (is_mounted(server) or not is_empty(server))
    ]


def _is_open(server: MCPServer) -> bool:
    try:
        return any(not one.needs_credentials for one in server.authentications)
    except Exception:  # noqa: BLE001 - E002 tells why
        return False
