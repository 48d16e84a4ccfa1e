"""Who the client of a stdio process is: the user of the command line, or nobody (STD-13)."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import router

from django_mcp.auth.base import ANONYMOUS, principal_for
from django_mcp.auth.rights import warm
from django_mcp.conf import mcp_settings
from django_mcp.protocol.errors import INVALID_REQUEST, ProtocolError
from django_mcp.running import run_store
from django_mcp.server.call import Caller


class UnusableUser(Exception):
    """No such user, or one that may not log in. The text is for whoever started the command."""


class Anonymous:
    """Whoever starts the process without naming a user."""

    principal = ANONYMOUS

    async def caller(self) -> Caller:
        return Caller(user=AnonymousUser(), principal=ANONYMOUS)


class NamedUser:
    """A user whose row is read again once it is ``max_age`` seconds old, by default ``CACHE_SECONDS``."""

    def __init__(self, user: Any, max_age: float | None = None) -> None:
        self._max_age = max_age
        self.principal = principal_for(user)
        self._pk = user.pk
        self._user: Any = user
        self._loaded = time.monotonic()
        self._lock = asyncio.Lock()

    async def caller(self) -> Caller:
        """A caller of its own for each request: what one changes on its user, no other sees."""
        if not self._is_fresh:
            async with self._lock:
                if not self._is_fresh:
                    await self._reload()
        if self._user is None:
            raise ProtocolError(INVALID_REQUEST, "The user this server was started for may not use it any more")
        return Caller(user=copy.copy(self._user), principal=self.principal)

    @property
    def _is_fresh(self) -> bool:
        max_age = mcp_settings().cache_seconds if self._max_age is None else self._max_age
        return time.monotonic() - self._loaded < max_age

    async def _reload(self) -> None:
        loaded = time.monotonic()
        user = await run_store(_find_by_key, self._pk)
        self._user = user if user is not None and user.is_active else None
        self._loaded = loaded


async def open_identity(username: str | None) -> Anonymous | NamedUser:
    """The identity of a process; raises ``UnusableUser``."""
    if username is None:
        return Anonymous()
    return NamedUser(await run_store(find_user, username))


def find_user(username: str) -> Any:
    """The active user of this name, with his permissions loaded; raises ``UnusableUser``."""
    model = get_user_model()
    named = f"user with {model.USERNAME_FIELD} {username!r}"
    try:
        user = _manager().get_by_natural_key(username)
    except model.DoesNotExist:
        raise UnusableUser(
            f"No {named}. Check the spelling, create one with: manage.py createsuperuser, "
            "or leave out --user to serve what anonymous may see."
        ) from None
    if not user.is_active:
        raise UnusableUser(f"The {named} is inactive. Activate the user first, for example in the admin.")
    warm(user)
    return user


def _find_by_key(pk: Any) -> Any:
    user = _manager().filter(pk=pk).first()
    if user is not None:
        warm(user)
    return user


def _manager() -> Any:
    model = get_user_model()
    return model._default_manager.db_manager(router.db_for_write(model))
