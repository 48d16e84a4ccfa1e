"""``path("mcp", include("django_mcp.urls"))`` mounts the default server, with and without a trailing slash."""

from __future__ import annotations

from django.urls import URLPattern, re_path

from django_mcp.servers import MCPServer, default_server
from django_mcp.views import Endpoint

app_name = "django_mcp"


def endpoint_urls(server: MCPServer) -> list[URLPattern]:
    """The patterns of one server; ``MCPServer.urls`` wraps them for ``path()``."""
    return [re_path(r"^(?:/)?$", Endpoint(server), name="endpoint")]


urlpatterns = endpoint_urls(default_server)
