"""Access tokens in the ``Authorization: Bearer`` header (RFC 6750).

Nothing here writes a token to a log, and no message says why one was refused (AUTH-22).
"""

from __future__ import annotations

import copy
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import router
from django.db.models import Q
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils import timezone

from django_mcp.auth.base import Authentication, AuthenticationFailed, AuthRequest, principal_for
from django_mcp.auth.rights import warm
from django_mcp.conf import mcp_settings
from django_mcp.events.kinds import Kind
from django_mcp.events.tail import on
from django_mcp.managers import Recent, digest_of, write_quietly
from django_mcp.server.call import Caller

if TYPE_CHECKING:
    from django_mcp.models import AccessToken

LAST_USED_RESOLUTION = timedelta(seconds=60)

_SCHEME = re.compile(r"bearer(?![\w-])", re.IGNORECASE)
_CREDENTIALS = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)

_recent: Recent[AccessToken] = Recent(1000)


class BearerToken(Authentication):
    """Lets in the users of ``AccessToken`` rows.

    A good token is remembered for ``CACHE_SECONDS``, so a busy client costs one look a second.
    """

    realm = "mcp"

    def authenticate(self, request: AuthRequest) -> Caller | None:
        value = read_bearer(request)
        if value is None:
            return None
        token = _remembered(value) or _look_up(value)
        if token is None:
            raise AuthenticationFailed("Unknown, expired or revoked access token")
        return _caller(token)

    def recall(self, request: AuthRequest) -> Caller | None:
        value = read_bearer(request)
        token = None if value is None else _remembered(value)
        return None if token is None else _caller(token)

    def challenge(self, request: AuthRequest, failed: bool) -> str:
        parts = [f'Bearer realm="{self.realm}"']
        if failed:
            parts.append('error="invalid_token"')
            parts.append('error_description="The access token is not valid"')
        return ", ".join(parts)


def read_bearer(request: AuthRequest) -> str | None:
    """The token of a request; ``None`` if it sends no bearer credentials.

    Raises ``AuthenticationFailed`` for a header that is malformed or repeated.
    """
    if request.headers.duplicated("authorization"):
        raise AuthenticationFailed("More than one Authorization header")
    header = request.headers.get("authorization") or ""
    if not _SCHEME.match(header):
        return None
    credentials = _CREDENTIALS.fullmatch(header)
    if credentials is None:
        raise AuthenticationFailed("Malformed Authorization header")
    return credentials[1]


def clear_token_cache() -> None:
    """Forget every remembered token, so that the next request of each reads its row."""
    _recent.clear()


def _remembered(value: str) -> AccessToken | None:
    token = _recent.get(digest_of(value), mcp_settings().cache_seconds)
    return token if token is not None and token.is_usable(timezone.now()) else None


def _look_up(value: str) -> AccessToken | None:
    # Models cannot be imported before the apps are ready.
    from django_mcp.models import AccessToken

    now = timezone.now()
    token = AccessToken.objects.find(value)
    if token is None or not token.is_usable(now) or not token.user.is_active:
        return None
    warm(token.user)
    _note_use(token, now)
    if mcp_settings().cache_seconds:
        _recent.put(token.digest, token, router.db_for_write(AccessToken))
    return token


def _note_use(token: AccessToken, now: datetime) -> None:
    long_ago = now - LAST_USED_RESOLUTION
    if token.last_used is not None and token.last_used > long_ago:
        return
    model = type(token)
    rows = model._default_manager.using(router.db_for_write(model)).filter(pk=token.pk)
    stale = rows.filter(Q(last_used__isnull=True) | Q(last_used__lte=long_ago))
    if write_quietly(stale, last_used=now):
        token.last_used = now


def _caller(token: AccessToken) -> Caller:
    """A caller of its own for each request: what one changes on its user, no other sees."""
    user = copy.copy(token.user)
    own = copy.copy(token)
    own.user = user
    return Caller(user=user, principal=principal_for(user), token=own, expires=own.expires)


# Another process has changed a token or its user; heard of while this one has streams.
on(Kind.ACCESS_CHANGED, lambda entry: clear_token_cache())


@receiver((post_save, post_delete), sender="django_mcp.AccessToken")
def _forget(instance: AccessToken, **kwargs: Any) -> None:
    _recent.forget(instance.digest)
