"""The answer to "may this caller use it?"."""

from __future__ import annotations

from collections.abc import Awaitable

from django_mcp.primitives.base import CallContext, Permission


def is_allowed(permission: Permission, context: CallContext) -> bool | Awaitable[bool]:
    """``True`` where no permission is asked for; a text is a Django permission of the user."""
    if permission is None:
        return True
    if isinstance(permission, str):
        return bool(context.user.has_perm(permission))
    return permission(context)
