"""What an authentication is, and how several of them are asked.

It is asked again on every request, also inside a session (AUTH-10, SEC-01): it sees the headers
of that request and nothing else, so a token in a query string cannot count (AUTH-11).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from django_mcp.protocol.headers import Headers
from django_mcp.server.call import Caller

ANONYMOUS = "anonymous"


class AuthenticationFailed(Exception):
    """Credentials were sent and are no good. The text is for people and never repeats them."""


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class AuthRequest:
    """What an authentication may look at. ``client`` is the address of the peer, if known."""

    headers: Headers
    path: str
    client: str | None = None


def principal_for(user: Any) -> str:
    """The name under which a user owns sessions and cursors."""
    if not getattr(user, "is_authenticated", False):
        return ANONYMOUS
    if user.pk is None:
        raise ValueError(f"{user!r} has no primary key yet: save the user first.")
    return f"user:{user.pk}"


class Authentication:
    """Base of the authentication classes.

    With ``uses_database``, ``authenticate`` is called where database work runs.
    ``needs_credentials`` is false for a class that lets in whoever sends none.
    """

    uses_database: bool = True
    needs_credentials: bool = True

    def authenticate(self, request: AuthRequest) -> Caller | None:
        """The caller; ``None`` if the request has no credentials of this kind.

        Raises ``AuthenticationFailed`` if it has some and they are no good.
        """
        raise NotImplementedError(f"{type(self).__name__} must define authenticate(request).")

    def recall(self, request: AuthRequest) -> Caller | None:
        """The caller if memory alone can tell: a short cut that never touches the database."""
        return None

    def challenge(self, request: AuthRequest, failed: bool) -> str:
        """The ``WWW-Authenticate`` value of a 401, or "" for none of this kind."""
        return ""

    # For the classes of a site, which build their own ``Caller``.
    principal_for = staticmethod(principal_for)


class AllowAny(Authentication):
    """An open server: everybody is anonymous. Written out, so that nobody is open by accident."""

    uses_database = False
    needs_credentials = False

    def authenticate(self, request: AuthRequest) -> Caller:
        # Models cannot be imported before the apps are ready.
        from django.contrib.auth.models import AnonymousUser

        return Caller(user=AnonymousUser(), principal=ANONYMOUS)


def load_authentication(value: Any) -> tuple[Authentication, ...]:
    """The authentications a setting names: a dotted path, a class, an object or a list of these.

    Raises ``ImproperlyConfigured`` for anything else.
    """
    entries = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not entries:
        raise ImproperlyConfigured(
            "DJANGO_MCP['AUTHENTICATION'] is empty. Write 'django_mcp.auth.AllowAny' if the server is to be open."
        )
    return tuple(map(_load, entries))


def identify(authentications: Iterable[Authentication], request: AuthRequest) -> Caller | None:
    """The caller by the first authentication that recognises the credentials.

    ``None`` if there are none. Bad credentials may still be good ones of another kind, but never
    make an anonymous caller: then ``AuthenticationFailed`` is raised.
    """
    failure: AuthenticationFailed | None = None
    for authentication in authentications:
        if failure is not None and not authentication.needs_credentials:
            continue
        try:
            caller = authentication.authenticate(request)
        except AuthenticationFailed as error:
            failure = failure or error
            continue
        if caller is not None:
            return caller
    if failure is not None:
        raise failure
    return None


def recall(authentications: Sequence[Authentication], request: AuthRequest) -> Caller | None:
    """The caller if memory can tell without asking ``identify``, which then gives the same."""
    try:
        return authentications[0].recall(request)
    except AuthenticationFailed:
        return None


def _load(entry: Any) -> Authentication:
    found = entry
    if isinstance(entry, str):
        try:
            found = import_string(entry)
        except ImportError as error:
            raise ImproperlyConfigured(
                f"DJANGO_MCP['AUTHENTICATION'] names {entry!r}, which cannot be imported: {error}. "
                "Write the dotted path of a class, such as 'django_mcp.auth.BearerToken'."
            ) from error
    if isinstance(found, type) and issubclass(found, Authentication):
        return found()
    if isinstance(found, Authentication):
        return found
    raise ImproperlyConfigured(
        f"DJANGO_MCP['AUTHENTICATION'] names {entry!r}, which is no authentication: "
        "subclass django_mcp.auth.Authentication."
    )
