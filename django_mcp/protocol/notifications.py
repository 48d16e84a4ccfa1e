"""Notifications that go to many streams: encoded once, with what differs from stream to stream spliced in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from django_mcp.protocol.jsonrpc import RequestId, encode, notification_message

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
RESOURCE_UPDATED: Final = "notifications/resources/updated"


class Broadcast:
    """One notification in the forms that both eras have it in."""

    def __init__(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.method = method
        self.params = dict(params or {})

    @cached_property
    def plain(self) -> bytes:
        """As a legacy session gets it."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": self.method}
        return encode({**message, "params": self.params} if self.params else message)

    @cached_property
    def _head(self) -> bytes:
        head = {"jsonrpc": "2.0", "method": self.method, "params": {**self.params, "_meta": {SUBSCRIPTION_ID: 0}}}
        return encode(head).removesuffix(b"0}}}")

    def tagged(self, subscription: bytes) -> bytes:
        """As a stream of ``subscriptions/listen`` gets it, with its encoded id (SUB-03)."""
        return self._head + subscription + b"}}}"


def elicitation_complete(elicitation_id: str) -> dict[str, Any]:
    """The page of this question is done with (ELI-09)."""
    return notification_message("notifications/elicitation/complete", {"elicitationId": elicitation_id})


def subscription_meta(request_id: RequestId) -> dict[str, Any]:
    """The ``_meta`` that says which listen request a message belongs to, in the type of its id."""
    return {SUBSCRIPTION_ID: request_id}
