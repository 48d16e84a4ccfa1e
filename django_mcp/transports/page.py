"""The page that a browser gets at the endpoint: what this is, and how to connect a client.

For the people who build the site: staff, and whoever sits at the machine while DEBUG is on. Others
get what a client gets. The page lists nothing of what the server offers.
"""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http.request import split_domain_port
from django.template import Context, Engine

from django_mcp.protocol.headers import accepts
from django_mcp.server.call import Caller
from django_mcp.servers import default_server
from django_mcp.transports import security
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import EVENT_STREAM, HTTPRequest, Response

HTML = "text/html"
HEADERS = (
    ("Content-Type", f"{HTML}; charset=utf-8"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
)
LOOPBACK_CLIENTS = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})
PROTOCOL_HEADERS = ("Mcp-Session-Id", "MCP-Protocol-Version")


def page_for(exchange: HTTPExchange) -> Response | None:
    """The page, if a browser asks and may see it. Asked before the caller is known and once more after."""
    request = exchange.request
    if not _is_browser(request) or not (_is_developer(request) or _is_staff(exchange.caller)):
        return None
    template = _engine().get_template("django_mcp/endpoint.html")
    return Response(status=200, headers=HEADERS, body=template.render(Context(_values(exchange))).encode())


def _is_browser(request: HTTPRequest) -> bool:
    """A browser prefers HTML. No client does, and one that has begun says so in a header."""
    headers = request.headers
    accept = headers.get("accept")
    return (
        request.method == "GET"
        and accepts(accept, HTML) > accepts(accept, EVENT_STREAM)
        and not any(headers.get(name) for name in PROTOCOL_HEADERS)
    )


def _is_developer(request: HTTPRequest) -> bool:
    """Both ends are this machine: behind a proxy on it, only the peer would be."""
    return settings.DEBUG and request.client in LOOPBACK_CLIENTS and _domain(request) in security.LOOPBACK_HOSTS


def _is_staff(caller: Caller | None) -> bool:
    if caller is None:
        return False
    return all(getattr(caller.user, flag, False) for flag in ("is_authenticated", "is_active", "is_staff"))


@cache
def _engine() -> Engine:
    """Our own, since a site that serves no pages has no TEMPLATES. Apps may override the template."""
    return Engine(app_dirs=True)


def _values(exchange: HTTPExchange) -> dict[str, Any]:
    server, request = exchange.server, exchange.request
    url = public_url(request, exchange.conf.public_url)
    # "default" would tell people nothing.
    label = str(urlsplit(url).hostname) if server is default_server else server.name
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", label).strip("-") or "mcp"
    needs_token = all(one.needs_credentials for one in server.authentications)
    return {
        "title": server.title or label,
        "description": server.description,
        "url": url,
        "needs_token": needs_token,
        "clients": _clients(name, url, needs_token),
    }


def _clients(name: str, url: str, needs_token: bool) -> tuple[tuple[str, str], ...]:
    header = {"headers": {"Authorization": "Bearer TOKEN"}} if needs_token else {}
    option = ' --header "Authorization: Bearer TOKEN"' if needs_token else ""
    quoted = shlex.quote(url)
    entry = {name: {"url": url, **header}}
    return (
        ("Claude Code", f"claude mcp add --transport http {name} {quoted}{option}"),
        ("Cursor, in .cursor/mcp.json", json.dumps({"mcpServers": entry}, indent=2)),
        ("VS Code, in .vscode/mcp.json", json.dumps({"servers": entry}, indent=2)),
        (
            "Inspector",
            f"npx @modelcontextprotocol/inspector@latest --cli {quoted} --transport http --method tools/list{option}",
        ),
    )


def public_url(request: HTTPRequest, configured: str | None) -> str:
    """The address clients use. ``PUBLIC_URL`` wins over the host, and its path counts once."""
    path = quote(request.path)
    if configured is None:
        scheme = security.request_scheme(request.scheme, request.headers)
        return f"{scheme}://{security.request_host(request)}{path}"
    base = configured.rstrip("/")
    prefix = urlsplit(base).path
    if path == prefix or path.startswith(f"{prefix}/"):
        path = path.removeprefix(prefix)
    return base + path


def _domain(request: HTTPRequest) -> str:
    return split_domain_port(security.request_host(request))[0]
