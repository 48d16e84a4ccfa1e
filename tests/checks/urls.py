"""URLconfs that mount the endpoint in every way there is; each is a list of its own."""

from types import SimpleNamespace
from typing import Any

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path, re_path

from django_mcp.servers import default_server
from django_mcp.urls import endpoint_urls
from django_mcp.views import Endpoint

MCP = include("django_mcp.urls")


def urlconf(*urlpatterns: Any) -> Any:
    """What ``ROOT_URLCONF`` may be: something with ``urlpatterns``."""
    return SimpleUrlconf(urlpatterns=list(urlpatterns))


class SimpleUrlconf(SimpleNamespace):
    """Hashable, as the resolvers are cached by it."""

    __hash__ = object.__hash__  # type: ignore[assignment]


GOOD = {
    "without slash": urlconf(path("mcp", MCP)),
    "nested": urlconf(path("api/", include([path("mcp", MCP)]))),
    "regex": urlconf(re_path(r"^mcp/?", MCP)),
    "root": urlconf(path("", MCP)),
    "direct": urlconf(path("mcp", Endpoint(default_server))),
    "nowhere": urlconf(),
}
SLASHES = {
    'path("mcp", include("django_mcp.urls"))': urlconf(path("mcp/", MCP)),
    'path("<slug:team>/mcp", include("django_mcp.urls"))': urlconf(path("<slug:team>/mcp/", MCP)),
    'path("tools", include("django_mcp.urls"))': urlconf(path("api/", include([path("tools/", MCP)]))),
    'path("api", include("django_mcp.urls"))': urlconf(path("api/", include([path("", MCP)]))),
    're_path(r"^mcp", include("django_mcp.urls"))': urlconf(re_path(r"^mcp/", MCP)),
}
TRANSLATED = urlconf(*i18n_patterns(path("mcp/", MCP)))
TRANSLATED_ROOT = urlconf(*i18n_patterns(path("", MCP)))


def mounted(server: Any, route: str) -> Any:
    """A URLconf with *server* at *route*."""
    return urlconf(path(route, include(endpoint_urls(server))))
