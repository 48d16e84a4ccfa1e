"""MCP Apps: pages that a client shows next to the result of a tool (extension ``io.modelcontextprotocol/ui``).

from django_mcp import default_server, tool, ui

default_server.extensions.update(ui.capability())

@ui.resource("ui://orders")
def orders_page() -> str:
    return render_to_string("shop/orders_app.html")

@tool(meta=ui.tool_meta("ui://orders"))
def list_orders() -> list[str]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.server.server import Server
from django_mcp.servers import default_server

F = TypeVar("F", bound=Callable[..., Any])

EXTENSION: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"
AUDIENCES: Final = ("model", "app")


def capability(mime_types: Sequence[str] = (MIME_TYPE,)) -> dict[str, Any]:
    """What a server with pages puts into its ``extensions`` (EXT-01, EXT-02)."""
    return {EXTENSION: {"mimeTypes": list(mime_types)}}


def resource(uri: str, *, server: Server | None = None, **resource_options: Any) -> Callable[[F], F]:
    """Register a function that returns HTML as the page of this URI, which begins with ``ui://`` (APP-02).

    Without ``server`` it is one of the default server. ``resource_options`` are those of ``@resource``.
    """
    return (server or default_server).resource(_checked(uri), **{"mime_type": MIME_TYPE, **resource_options})


def tool_meta(uri: str, *, visibility: Sequence[str] | None = None) -> dict[str, Any]:
    """The ``meta`` of a tool whose result this page shows (APP-03).

    ``visibility`` says who may call the tool: ``model``, ``app`` or, if it is left out, both.
    """
    link: dict[str, Any] = {"resourceUri": _checked(uri)}
    if visibility is not None:
        if isinstance(visibility, str) or not visibility or not set(AUDIENCES).issuperset(visibility):
            raise InvalidPrimitive(
                f"The tool of {uri!r} was given visibility={visibility!r}. It lists model, app or both: write "
                'visibility=["app"] or leave it out.'
            )
        link["visibility"] = list(visibility)
    return {"ui": link}


def is_supported(context: Any, mime_type: str = MIME_TYPE) -> bool:
    """Whether the client of this call shows pages of the media type. Tools answer in text all the same (APP-05)."""
    extensions = context.client_capabilities.get("extensions")
    settings = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    if not isinstance(settings, dict):
        return False
    mime_types = settings.get("mimeTypes")
    return mime_types is None or (isinstance(mime_types, list) and mime_type in mime_types)


def _checked(uri: Any) -> str:
    if isinstance(uri, str) and uri.startswith(SCHEME) and uri != SCHEME:
        return uri
    raise InvalidPrimitive(f'A page was given the URI {uri!r}. It begins with ui://: write "ui://orders".')
