"""The legacy session of a stdio process."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace

from django_mcp.events.legacy import MAX_SUBSCRIPTIONS
from django_mcp.protocol.errors import invalid_params
from django_mcp.server.call import SessionState
from django_mcp.server.methods.handshake import Greeting


class ProcessSession:
    """What the handshake agreed on, kept in memory until the process ends (INIT-11)."""

    def __init__(self, subscribed: Callable[[], Awaitable[None]]) -> None:
        self.state: SessionState | None = None
        self.subscriptions: dict[str, None] = {}
        self._subscribed = subscribed

    def open(self, server: str, principal: str, greeting: Greeting) -> None:
        self.state = SessionState(
            pk=0,  # there is no row
            server=server,
            principal=principal,
            revision=greeting.revision,
            client_info=greeting.client_info,
            client_capabilities=greeting.client_capabilities,
            log_level=None,
            initialized=False,
            token=secrets.token_urlsafe(16),
        )

    def close(self) -> None:
        self.state = None
        self.subscriptions.clear()

    def mark_initialized(self) -> None:
        if self.state is not None:
            self.state = replace(self.state, initialized=True)

    async def set_log_level(self, state: SessionState, level: str) -> None:
        self.state = replace(self.state or state, log_level=level)

    async def subscribe(self, state: SessionState, uri: str) -> None:
        if len(self.subscriptions) >= MAX_SUBSCRIPTIONS:
            raise invalid_params(f"The session has {MAX_SUBSCRIPTIONS} subscriptions: unsubscribe from some first")
        self.subscriptions[uri] = None
        await self._subscribed()

    async def unsubscribe(self, state: SessionState, uri: str) -> None:
        self.subscriptions.pop(uri, None)
        await self._subscribed()
