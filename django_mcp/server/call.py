"""What one request brings with it: the caller, the session and the call itself.

Everything here is plain data. The Django side builds it and hands it in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.protocol.envelope import Envelope
from django_mcp.protocol.headers import Headers
from django_mcp.protocol.jsonrpc import Notification, Request
from django_mcp.protocol.versions import Revision
from django_mcp.server.dialogue import NO_OUTBOUND, Dialogue, Outbound
from django_mcp.server.rounds import NO_ASKER, Asker

if TYPE_CHECKING:
    from django_mcp.server.context import Context
    from django_mcp.server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, as the authentication found it.

    ``principal`` names the user for everything that belongs to them (sessions, cursors);
    ``language`` and ``time_zone`` win over what the request says. ``user`` is fully loaded, so
    async code may read it. ``scopes`` is what the token is limited to, ``None`` for no limit.
    ``expires`` is when the credentials end, which ends the streams they have opened.
    """

    user: Any
    principal: str
    token: Any = None
    scopes: frozenset[str] | None = None
    language: str | None = None
    time_zone: str | None = None
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """A legacy session as one request sees it (INIT-11)."""

    pk: int
    server: str
    principal: str
    revision: Revision
    client_info: dict[str, Any]
    client_capabilities: dict[str, Any]
    log_level: str | None
    initialized: bool
    # What tells it from others where it has no row
    token: str = ""

    @property
    def name(self) -> str:
        """The same in all of its requests, and in no other session's."""
        return self.token or f"session {self.pk}"


class SessionWriter(Protocol):
    """Changes to a legacy session, made where its door keeps it."""

    async def set_log_level(self, state: SessionState, level: str) -> None: ...

    async def subscribe(self, state: SessionState, uri: str) -> None: ...

    async def unsubscribe(self, state: SessionState, uri: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Locale:
    """The language and time zone that are active while the site's code runs. ``None``: the site's own."""

    language: str | None = None
    time_zone: str | None = None


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Source:
    """Where a request came from.

    ``path`` is that of the endpoint, with what ``path_params`` tell apart; it is empty where there is none.
    ``headers`` are ``None`` on stdio, which has no header rules. A door that cannot stream (WSGI)
    offers no capability that needs messages from the server. ``make_request`` builds the
    ``HttpRequest`` that tools see as ``context.request``; it is called at most once and only if asked.
    ``find_origin`` tells the scheme and host under which clients reach the site, where that is known.
    """

    headers: Headers | None = None
    path: str = ""
    can_stream: bool = True
    path_params: Mapping[str, Any] = field(default_factory=dict)
    make_request: Callable[[], Any] = lambda: None
    find_origin: Callable[[], str | None] = lambda: None


@dataclass(slots=True, kw_only=True)
class Call:
    """One request, or custom notification, on its way to a handler.

    ``sessions`` writes to ``session``, where there is one. ``context`` is the one that middleware has seen.
    """

    server: Server
    request: Request | Notification
    envelope: Envelope
    caller: Caller
    locale: Locale
    source: Source
    sessions: SessionWriter
    session: SessionState | None = None
    context: Context | None = None
    outbound: Outbound = NO_OUTBOUND
    asker: Asker = NO_ASKER
    _dialogue: Dialogue | None = field(default=None, init=False)

    @property
    def has_spoken(self) -> bool:
        """Whether there is a dialogue."""
        return self._dialogue is not None

    @property
    def dialogue(self) -> Dialogue:
        """Most calls say nothing but their answer, so it is made for those that do."""
        if self._dialogue is None:
            self._dialogue = Dialogue()
        return self._dialogue

    @property
    def params(self) -> dict[str, Any]:
        return self.request.params

    @property
    def revision(self) -> Revision:
        return self.envelope.revision

    def of(self, caller: Caller) -> Call:
        """The same request by somebody else, or by the same one as he is now."""
        return replace(self, caller=caller)
