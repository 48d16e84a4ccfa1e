"""What differs between the consumer and Django's own handlers. ``ASGI_APPLICATION`` says that a site uses ASGI."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import management
from django.core.checks import CheckMessage, Warning

SECURITY = "django.middleware.security.SecurityMiddleware"

# By words in the dotted path, so that a site's own TenantMiddleware is found as well.
WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), effect)
    for pattern, effect in (
        (r"tenant|schema_?switch", "which chooses the tenant"),
        (r"\bdjango_hosts\b|subdomain", "which chooses the site by its host"),
        (
            r"(?:\b|_|\bip)(?:allow|block|deny|white|black)_?list|(?:\b|_)ip_?(?:filter|restrict|block|ban|access)"
            r"|firewall|geo_?(?:block|fenc)",
            "which keeps addresses out",
        ),
        (r"maintenance", "which closes the site"),
        (r"audit|simple_history|\breversion\b|\bcrum\b|current_?user", "which notes who changes what"),
    )
)

# Both start Django's WSGI server; the others start the next runserver in INSTALLED_APPS.
WSGI_RUNSERVERS = ("django.core", "django.contrib.staticfiles")
WRAPPERS = ("whitenoise.runserver_nostatic", "servestatic.runserver_nostatic")


def check_skipped_middleware(**_kwargs: Any) -> list[CheckMessage]:
    """W003. A site with ``CONSUMER_MIDDLEWARE`` has dealt with it."""
    if not getattr(settings, "ASGI_APPLICATION", None) or _has_consumer_middleware():
        return []
    return [
        Warning(
            f"The consumer does not run {path}, {effect}.",
            hint=(
                f"Name an ASGI wrapper that does the same: {_line(path)}. If you serve the endpoint through "
                'Django\'s own handlers, write SILENCED_SYSTEM_CHECKS = ["django_mcp.W003"].'
            ),
            id="django_mcp.W003",
        )
        for path, effect in _skipped()
    ]


def _has_consumer_middleware() -> bool:
    given = getattr(settings, "DJANGO_MCP", None)
    return isinstance(given, dict) and bool(given.get("CONSUMER_MIDDLEWARE"))


def _line(path: str) -> str:
    return f'DJANGO_MCP = {{"CONSUMER_MIDDLEWARE": ["mysite.asgi.{path.rpartition(".")[2]}"]}}'


def _skipped() -> Iterator[tuple[str, str]]:
    middleware = getattr(settings, "MIDDLEWARE", None)
    for path in middleware if isinstance(middleware, list | tuple) else ():
        if path == SECURITY:
            if settings.SECURE_SSL_REDIRECT:
                yield path, "which redirects to https (SECURE_SSL_REDIRECT)"
            continue
        words = _with_words_apart(str(path))
        effect = next((effect for pattern, effect in WORDS if pattern.search(words)), None)
        if effect is not None:
            yield path, effect


def _with_words_apart(path: str) -> str:
    """``mysite.IPAllowListMiddleware`` -> ``mysite.ip_allow_list_middleware``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", path).lower()


def check_runserver(**_kwargs: Any) -> list[CheckMessage]:
    """W004, in development only: elsewhere a server is started by its own command."""
    if not (settings.DEBUG and getattr(settings, "ASGI_APPLICATION", None)) or not _runserver_is_wsgi():
        return []
    return [
        Warning(
            "ASGI_APPLICATION is set, but manage.py runserver serves WSGI: no consumer and no streams.",
            hint='Write "daphne" first in INSTALLED_APPS: INSTALLED_APPS = ["daphne", ...].',
            id="django_mcp.W004",
        )
    ]


def _runserver_is_wsgi() -> bool:
    owner = management.get_commands().get("runserver")
    if owner not in WRAPPERS:
        return owner in WSGI_RUNSERVERS
    names = [config.name for config in apps.get_app_configs()]
    following = names[names.index(owner) + 1 :]
    return next((name for name in following if name in ("daphne", *WSGI_RUNSERVERS)), None) != "daphne"
