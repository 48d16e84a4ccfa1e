"""The ``HttpRequest`` that a tool sees when it was reached through the consumer."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIRequest


def make_request_from(scope: Any) -> ASGIRequest:
    """A request with the headers, path and client of the connection and without a body: that was the call itself."""
    return ASGIRequest(dict(scope), BytesIO())
