"""Routing of HTTP connections: the endpoints go to the consumer, everything else to Django.

Channels' ``URLRouter`` raises for paths outside the server's root path, and matching every pattern
costs more than a call does, so the endpoints' own paths are looked up in a dictionary first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from django_mcp.conf import mcp_settings
from django_mcp.consumers import MCPConsumer, Scope
from django_mcp.servers import MCPServer
from django_mcp.transports.shutdown import shut_down
from django_mcp.transports.streams import Receive, Send
from django_mcp.urlconf import Found, endpoint_table

# Django, Channels and the servers each have their own types for the three.
Application = Callable[[Any, Any, Any], Awaitable[None]]


class MCPRouter:
    """An ASGI application: ``MCPRouter(django_application)``, also below ``ProtocolTypeRouter({"http": ...})``."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._consumers: dict[MCPServer, Application] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = find_endpoint(scope)
            if found is not None:
                server, kwargs = found
                if kwargs:
                    scope = {**scope, "url_route": {"args": (), "kwargs": kwargs}}
                await self._consumer(server)(scope, receive, send)
                return
        elif scope["type"] == "lifespan":
            await lifespan(receive, send)
            return
        await self.application(scope, receive, send)

    def _consumer(self, server: MCPServer) -> Application:
        consumer = self._consumers.get(server)
        if consumer is None:
            consumer = self._consumers[server] = wrapped(MCPConsumer(server=server))
        return consumer


def wrapped(application: Application) -> Application:
    """The consumer inside the site's ``CONSUMER_MIDDLEWARE``, the first named outermost."""
    for path in reversed(mcp_settings().consumer_middleware):
        application = import_string(path)(application)
    return application


def find_endpoint(scope: Scope) -> Found | None:
    """The server behind the path, with the root path of the mount taken off or left on."""
    table = endpoint_table(settings.ROOT_URLCONF)
    path = scope["path"]
    stripped = without_prefix(path, settings.FORCE_SCRIPT_NAME or scope.get("root_path", ""))
    found = table.find(stripped)
    return found if found is not None or stripped is path else table.find(path)


def without_prefix(path: str, prefix: str) -> str:
    """``path`` below ``prefix``, cut on the border of a segment only, as ``ASGIRequest`` does."""
    prefix = prefix.rstrip("/")
    if prefix and path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in ("", "/"):
        return path[len(prefix) :] or "/"
    return path


async def lifespan(receive: Receive, send: Send) -> None:
    """Used where a server offers it; nothing here depends on it."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await shut_down(mcp_settings().shutdown_grace)
    await send({"type": "lifespan.shutdown.complete"})
