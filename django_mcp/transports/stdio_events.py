"""What a stdio client hears of: the subscriptions of a modern one, and everything its session wants of a legacy one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from django_mcp.events.hub import Topic, hub
from django_mcp.events.kinds import CHANGES_OF, Entry, Kind
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.jsonrpc import RequestId, encode, notification_message
from django_mcp.protocol.notifications import ACKNOWLEDGED, Broadcast
from django_mcp.running import exchange
from django_mcp.server.call import Call, Caller
from django_mcp.server.dispatch import accept_listen, closing_result
from django_mcp.server.methods.subscriptions import Filter, offered_lists
from django_mcp.transports.listening import topics_of
from django_mcp.transports.streams import current_task

Send = Callable[[bytes], None]


class Identity(Protocol):
    """Who the client is, asked again for each request."""

    principal: str

    async def caller(self) -> Caller: ...


class StdioAccess:
    """The one client of the process, as he is when something happens."""

    def __init__(self, identity: Identity, call: Call) -> None:
        self._identity = identity
        self._call = call
        self.principal = identity.principal
        self.server_name = call.server.name
        self.key: Hashable = identity.principal

    @property
    def lists(self) -> tuple[str, ...]:
        return offered_lists(self._call.server)

    async def identify(self) -> Caller | None:
        try:
            return await self._identity.caller()
        except ProtocolError:  # the user may not use the server any more
            return None

    def call(self, caller: Caller) -> Call:
        return self._call.of(caller)


class StdioSubscriptions:
    """The listen requests that are open."""

    def __init__(self, identity: Identity, send: Send) -> None:
        self._identity = identity
        self._send = send
        self._open: set[_Listening] = set()

    async def listen(self, call: Call, request_id: RequestId) -> dict[str, Any]:
        """The result that ends the subscription. A client that cancels it hears nothing more (SUB-07).

        One that we end is taken back as well, behind the result (CAN-07): the protocol asks for both.
        """
        async with exchange():
            wanted = await accept_listen(call)
        here = hub()
        await here.join()
        listening = _Listening(StdioAccess(self._identity, call), self._send, wanted, request_id)
        self._open.add(listening)
        try:
            listening.acknowledge()
            here.add(listening)
            if wanted:
                await listening.ended.wait()
                # Who sends the result was told to before.
                current_task().add_done_callback(listening.take_back)
        finally:
            self._open.discard(listening)
            here.discard(listening)
            here.leave()
        return closing_result(call, request_id)

    def end_all(self) -> None:
        for listening in self._open:
            listening.end()


class _Listening:
    def __init__(self, access: StdioAccess, send: Send, wanted: Filter, request_id: RequestId) -> None:
        self.access = access
        self.ended = asyncio.Event()
        self._send = send
        self._wanted = wanted
        self._request_id = request_id
        self._id = encode(request_id)

    def acknowledge(self) -> None:
        self._send(Broadcast(ACKNOWLEDGED, {"notifications": self._wanted.to_wire()}).tagged(self._id))

    def topics(self) -> Iterable[Topic]:
        return topics_of(self._wanted)

    def wants(self, entry: Entry) -> bool:
        return not self.ended.is_set()

    def put(self, entry: Entry, broadcast: Broadcast) -> None:
        self._send(broadcast.tagged(self._id))

    def end(self) -> None:
        self.ended.set()

    def take_back(self, task: asyncio.Task[Any]) -> None:
        params = {"requestId": self._request_id, "reason": "The server has ended the subscription"}
        self._send(encode(notification_message("notifications/cancelled", params)))


class SessionNews:
    """What the legacy session hears of, from its first interest to the end of the process."""

    def __init__(self, access: StdioAccess, send: Send, subscriptions: Iterable[str]) -> None:
        self.access = access
        self._send = send
        self._subscriptions = subscriptions
        self._has_joined = False

    async def follow(self) -> None:
        """Hear of what is subscribed to now. Raises ``django.db.Error``; never called twice at once."""
        here = hub()
        if not self._has_joined:
            await here.join()
            self._has_joined = True
        here.add(self)

    def topics(self) -> Iterable[Topic]:
        yield from ((CHANGES_OF[name], "") for name in self.access.lists)
        yield from ((Kind.RESOURCE_UPDATED, uri) for uri in self._subscriptions)

    def wants(self, entry: Entry) -> bool:
        return True

    def put(self, entry: Entry, broadcast: Broadcast) -> None:
        self._send(broadcast.plain)

    def end(self) -> None:
        here = hub()
        here.discard(self)
        if self._has_joined:
            self._has_joined = False
            here.leave()
