"""What a user may do: read before async code asks for it, which may not query, and again after a while."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import models

from django_mcp.running import run_store
from django_mcp.server.call import Caller

_FLAGS = frozenset({"is_active", "is_staff", "is_superuser"})


def warm(user: Any) -> None:
    """Have Django's backends remember the permissions. Not every user model has any."""
    getattr(user, "get_all_permissions", partial(set, ()))()


async def renew(caller: Caller) -> None:
    """Read the rights of a caller again, who may have lost some while somebody was asked.

    What else an authentication has noted on the user stays. Raises ``django.db.Error``.
    """
    user = caller.user
    if isinstance(user, models.Model) and user.pk is not None:
        await run_store(_read_again, user)


def _read_again(user: Any) -> None:
    for name in [name for name in vars(user) if name.endswith("_perm_cache")]:  # as Django's backends call them
        delattr(user, name)
    flags = [field.attname for field in user._meta.concrete_fields if field.attname in _FLAGS]
    try:
        user.refresh_from_db(fields=flags)
    except user.DoesNotExist:
        user.is_active = False
    warm(user)
