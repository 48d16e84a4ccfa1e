"""Whose an open HTTP stream is, and what its user may see as long as it is open."""

from __future__ import annotations

from collections.abc import Hashable

from django_mcp.auth.base import AuthenticationFailed, identify
from django_mcp.protocol.envelope import Envelope
from django_mcp.protocol.jsonrpc import Request, RequestId
from django_mcp.protocol.versions import Revision
from django_mcp.running import run_store
from django_mcp.server.call import Call, Caller, SessionWriter
from django_mcp.server.dispatch import LISTEN
from django_mcp.server.methods.subscriptions import offered_lists
from django_mcp.transports.exchange import HTTPExchange


class StreamAccess:
    """The request that opened the stream, kept to ask its credentials again (AUTH-10)."""

    __slots__ = ("_exchange", "_revision", "_sessions", "key", "request_id")

    def __init__(
        self, exchange: HTTPExchange, revision: Revision, sessions: SessionWriter, request_id: RequestId = 0
    ) -> None:
        self._exchange = exchange
        self._revision = revision
        self._sessions = sessions
        self.request_id = request_id
        self.key: Hashable = (
            exchange.server.name,
            self.principal,
            exchange.request.headers.get("authorization"),
            tuple(exchange.request.path_params.items()),
        )

    @property
    def principal(self) -> str:
        return self._caller.principal

    @property
    def server_name(self) -> str:
        return self._exchange.server.name

    @property
    def lists(self) -> tuple[str, ...]:
        return offered_lists(self._exchange.server)

    @property
    def expires(self) -> float | None:
        """When the credentials end, as ``time.time()`` tells it."""
        expires = self._caller.expires
        return None if expires is None else expires.timestamp()

    @property
    def _caller(self) -> Caller:
        caller = self._exchange.caller
        assert caller is not None  # noqa: S101 - admit() comes first and refuses without one
        return caller

    def last_call(self) -> Call:
        """In the name of whoever opened the stream."""
        return self.call(self._caller)

    async def identify(self) -> Caller | None:
        authentications = self._exchange.server.authentications
        if not any(one.uses_database for one in authentications):
            return self._identify()
        return await run_store(self._identify)

    def _identify(self) -> Caller | None:
        try:
            return identify(self._exchange.server.authentications, self._exchange.auth_request())
        except AuthenticationFailed:
            return None

    def call(self, caller: Caller) -> Call:
        """Without what the client sent: nobody keeps that for as long as a stream is open."""
        request = Request(id=self.request_id, method=LISTEN, params={})
        envelope = Envelope(
            revision=self._revision,
            meta={},
            client_info=None,
            client_capabilities={},
            log_level=None,
            progress_token=None,
        )
        call = self._exchange.call(request, envelope, self._sessions, self._exchange.session)
        return call.of(caller)
