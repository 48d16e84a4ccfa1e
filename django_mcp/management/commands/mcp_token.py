"""Issue an access token. Standard output is the token alone, so a script can take it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import router
from django.utils import timezone

from django_mcp.models import NAME_LENGTH, AccessToken

_MAX_DAYS = 36_500


class Command(BaseCommand):
    help = "Issues an access token for a user and prints it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="what the user logs in with")
        parser.add_argument("--name", default="", help="what the token is for")
        parser.add_argument("--days", type=int, help="how long it is valid; without it: for good")

    def handle(self, *, username: str, name: str, days: int | None, **options: Any) -> None:
        user = _find_user(username)
        if len(name) > NAME_LENGTH:
            raise CommandError(f"--name has {len(name)} characters, but at most {NAME_LENGTH} fit.")
        token, value = AccessToken.objects.issue(user, name=name, expires=_expiry(days))
        self.stdout.write(value)
        until = f"until {token.expires:%Y-%m-%d %H:%M %Z}" if token.expires else "until revoked"
        self.stderr.write(
            f"Token {token.prefix}… of {user} is valid {until}. It is not shown again. "
            "Clients send it as: Authorization: Bearer <token>"
        )


def _find_user(username: str) -> Any:
    model = get_user_model()
    manager = model._default_manager.db_manager(router.db_for_write(AccessToken))
    try:
        user = manager.get_by_natural_key(username)
    except model.DoesNotExist:
        raise CommandError(
            f"No user with {model.USERNAME_FIELD} {username!r}. "
            "Check the spelling, or create one with: manage.py createsuperuser"
        ) from None
    if not user.is_active:
        raise CommandError(
            f"The user with {model.USERNAME_FIELD} {username!r} is inactive, so a token would not work. "
            "Activate the user first, for example in the admin."
        )
    return user


def _expiry(days: int | None) -> datetime | None:
    if days is None:
        return None
    if not 1 <= days <= _MAX_DAYS:
        raise CommandError(f"--days is {days}, but must be between 1 and {_MAX_DAYS}.")
    return timezone.now() + timedelta(days=days)
