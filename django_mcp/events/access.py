"""Says in the log that somebody may do more or less than before, so that open streams and caches hear of it.

A principal that is not named stands for everybody. What a site changes without signals, as ``update()`` does,
is seen at the next event that asks for a permission.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models.signals import m2m_changed, post_delete, post_save

from django_mcp.auth.base import principal_for
from django_mcp.events.kinds import Kind
from django_mcp.events.log import append_after

# What a login and a new password write ends no stream.
_HARMLESS = frozenset({"last_login", "password"})
_UID = "django_mcp.events.access"


def watch_access() -> None:
    """Listen to the models that say who may come in. Called once the apps are ready; again does nothing."""
    from django_mcp.models import AccessToken

    user_model = get_user_model()
    for model, receiver in ((user_model, _user_changed), (AccessToken, _token_changed)):
        post_save.connect(receiver, sender=model, dispatch_uid=_UID)
        post_delete.connect(receiver, sender=model, dispatch_uid=_UID)
    throughs = [
        getattr(user_model, name).through for name in ("groups", "user_permissions") if hasattr(user_model, name)
    ]
    if apps.is_installed("django.contrib.auth"):
        from django.contrib.auth.models import Group

        throughs.append(Group.permissions.through)
    for through in throughs:
        m2m_changed.connect(_rights_changed, sender=through, dispatch_uid=_UID)


def _user_changed(
    instance: Any, using: str, created: bool = False, raw: bool = False, update_fields: Any = None, **_kwargs: Any
) -> None:
    if created or raw or (update_fields is not None and _HARMLESS.issuperset(update_fields)):
        return
    _announce(using, f"user:{instance.pk}")


def _token_changed(instance: Any, using: str, created: bool = False, raw: bool = False, **_kwargs: Any) -> None:
    if not (created or raw):
        _announce(using, f"user:{instance.user_id}")


def _rights_changed(instance: Any, action: str, using: str, **_kwargs: Any) -> None:
    if action.startswith("post_"):
        _announce(using, principal_for(instance) if isinstance(instance, get_user_model()) else "")


def _announce(using: str, principal: str) -> None:
    append_after(using, Kind.ACCESS_CHANGED, audience=principal)
