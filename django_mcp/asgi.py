"""The one-line swap for a site's ``asgi.py``: ``from django_mcp.asgi import get_asgi_application``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from django.core.asgi import get_asgi_application as get_django_application

from django_mcp.routing import MCPRouter


def get_asgi_application() -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Django's ASGI application with the MCP endpoints of the URLconf served by the consumer.

    The middleware of the site does not run in front of the consumer; ``CONSUMER_MIDDLEWARE`` does.
    """
    return MCPRouter(get_django_application())
