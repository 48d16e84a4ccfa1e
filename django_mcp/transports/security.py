"""Who may talk to the endpoint at all: method, ``Host``, ``Origin`` and preflight (SEC-06, SEC-07, MH-02).

Django checks ``ALLOWED_HOSTS`` only where its own code asks for the host, and Channels' validators
serve WebSockets alone, so the endpoint checks for itself. Answers are JSON, never a page.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from django_mcp.conf import MCPSettings
from django_mcp.protocol.errors import INVALID_REQUEST, ProtocolError
from django_mcp.protocol.headers import METHOD, NAME, PARAM_PREFIX, SESSION, VERSION, Headers
from django_mcp.transports.messages import HeaderPairs, HTTPRequest, Response

logger = logging.getLogger("django_mcp.http")

METHODS = ("GET", "POST", "DELETE", "OPTIONS")
ALLOW = ", ".join(METHODS)
ALLOW_MODERN = "POST, OPTIONS"
REQUEST_HEADERS = (
    "Accept",
    "Accept-Language",
    "Authorization",
    "Content-Type",
    "Last-Event-ID",
    VERSION,
    METHOD,
    NAME,
    SESSION,
)
EXPOSED_HEADERS = f"{SESSION}, WWW-Authenticate"
PREFLIGHT_MAX_AGE = "600"  # seconds
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
DEBUG_HOSTS = (".localhost", "127.0.0.1", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}


def admit(request: HTTPRequest, conf: MCPSettings) -> HeaderPairs:
    """The CORS headers that the answer has to carry.

    Raises ``ProtocolError`` with its HTTP status: 400 for the host, 403 for the origin, 405 for the method.
    """
    host = request_host(request)
    if not _host_is_allowed(host, tuple(settings.ALLOWED_HOSTS), settings.DEBUG):
        # Clients show no more than the status, and only Django's own handlers would log it.
        logger.warning("A request for the host %.200r was refused: ALLOWED_HOSTS does not have it", host)
        raise ProtocolError(INVALID_REQUEST, "Host is not allowed here: ALLOWED_HOSTS does not have it", status=400)
    cors = _check_origin(request, host, conf)
    if request.method not in METHODS:
        raise method_not_allowed(ALLOW)
    return cors


def method_not_allowed(allow: str) -> ProtocolError:
    return ProtocolError(INVALID_REQUEST, "Method not allowed", status=405, headers=(("Allow", allow),))


def not_acceptable(offered: str) -> ProtocolError:
    return ProtocolError(INVALID_REQUEST, f"Accept must allow {offered}", status=406)


def request_host(request: HTTPRequest) -> str:
    """The host that the client asked for; a forwarded one counts only where the site trusts it."""
    headers = request.headers
    host = headers.get("x-forwarded-host") if settings.USE_X_FORWARDED_HOST else None
    if host is None:
        host = headers.get("host")
    return request.server if host is None else host


def request_scheme(scheme: str, headers: Headers) -> str:
    """``https`` behind a proxy that ``SECURE_PROXY_SSL_HEADER`` trusts."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure_value = settings.SECURE_PROXY_SSL_HEADER
        value = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower())
        if value is not None:
            return "https" if value.split(",", 1)[0].strip() == secure_value else "http"
    return scheme


def public_origin(request: HTTPRequest, configured: str | None) -> str:
    """The scheme and host that clients use. ``PUBLIC_URL`` wins over the host."""
    if configured is None:
        return f"{request_scheme(request.scheme, request.headers)}://{request_host(request)}"
    return url_origin(configured)


def url_origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@lru_cache(maxsize=256)
def _host_is_allowed(host: str, allowed: tuple[str, ...], debug: bool) -> bool:
    if debug and not allowed:
        allowed = DEBUG_HOSTS
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, list(allowed))


def _check_origin(request: HTTPRequest, host: str, conf: MCPSettings) -> HeaderPairs:
    """The CORS headers of the answer. An absent ``Origin`` is no browser and passes."""
    if request.headers.duplicated("origin"):
        raise _origin_refused()
    origin = request.headers.get("origin")
    if origin is None:
        return ()
    own = f"{request_scheme(request.scheme, request.headers)}://{host}"
    if not _origin_is_allowed(origin, own, conf, settings.DEBUG):
        logger.warning(
            "A request from the origin %.200r was refused: the site's own is %.200r, and it is not in ALLOWED_ORIGINS",
            origin,
            own,
        )
        raise _origin_refused()
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", EXPOSED_HEADERS),
        ("Vary", "Origin"),
    )


def _origin_refused() -> ProtocolError:
    return ProtocolError(
        INVALID_REQUEST, "Origin is not allowed here: neither the site's own, nor in ALLOWED_ORIGINS", status=403
    )


def _origin_is_allowed(origin: str, own: str, conf: MCPSettings, debug: bool) -> bool:
    given = _origin_parts(origin)
    if given is None:
        return False
    accepted = [_origin_parts(one) for one in (own, conf.public_url, *conf.allowed_origins) if one]
    if given in accepted:
        return True
    own_parts = accepted[0]
    return debug and own_parts is not None and own_parts[1] in LOOPBACK_HOSTS and given[1] in LOOPBACK_HOSTS


@lru_cache(maxsize=256)
def _origin_parts(origin: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port, with the default port filled in; ``None`` for what is no origin (``null``)."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if not parts.scheme or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts.scheme, host, port if port is not None else DEFAULT_PORTS.get(parts.scheme)


def preflight(cors: HeaderPairs, parameter_headers: Iterable[str]) -> Response:
    """The answer to ``OPTIONS``, which browsers send without credentials (MH-38).

    A wildcard prefix does not exist there, so the real ``Mcp-Param-*`` names are listed.
    """
    headers: HeaderPairs = (("Allow", ALLOW),)
    if cors:
        names = (*REQUEST_HEADERS, *(f"{PARAM_PREFIX}{name}" for name in sorted(set(parameter_headers))))
        headers += (
            ("Access-Control-Allow-Methods", "GET, POST, DELETE"),
            ("Access-Control-Allow-Headers", ", ".join(names)),
            ("Access-Control-Max-Age", PREFLIGHT_MAX_AGE),
        )
    return Response(status=204, headers=headers)
