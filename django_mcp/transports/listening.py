"""``subscriptions/listen`` over HTTP: a stream that acknowledges first and ends with a result (checklist group SUB)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from django_mcp.events.hub import Topic
from django_mcp.events.kinds import CHANGES_OF, Entry, Kind
from django_mcp.protocol.headers import accepts
from django_mcp.protocol.jsonrpc import RequestId, encode, result_message
from django_mcp.protocol.notifications import ACKNOWLEDGED, Broadcast
from django_mcp.server.call import Call
from django_mcp.server.dispatch import accept_listen, closing_result
from django_mcp.server.methods.subscriptions import Filter
from django_mcp.transports import security, sse
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import EVENT_STREAM, Response
from django_mcp.transports.shutdown import signal_hook
from django_mcp.transports.stream_access import StreamAccess
from django_mcp.transports.streams import Stream, open_streams
from django_mcp.transports.upkeep import join, keep_up


def topics_of(wanted: Filter) -> Iterable[Topic]:
    yield from ((CHANGES_OF[name], "") for name in wanted.lists)
    yield from ((Kind.RESOURCE_UPDATED, uri) for uri in wanted.uris)


class Listening:
    """One open subscription. Known by itself and never by its JSON-RPC id, which other clients use too (SUB-11)."""

    __slots__ = ("_filter", "_id", "_stream", "access")

    def __init__(self, stream: Stream, access: StreamAccess, wanted: Filter, subscription: bytes) -> None:
        self.access = access
        self._stream = stream
        self._filter = wanted
        self._id = subscription

    def topics(self) -> Iterable[Topic]:
        return topics_of(self._filter)

    def wants(self, entry: Entry) -> bool:
        return self._stream.is_open

    def put(self, entry: Entry, broadcast: Broadcast) -> None:
        self._stream.put(sse.event(broadcast.tagged(self._id)))

    def end(self) -> None:
        self._stream.end()


async def listen(exchange: HTTPExchange, call: Call, request_id: RequestId) -> Response:
    """The stream, or ``ProtocolError``: -32601 where this door has none, 503 where there are too many."""
    wanted = await accept_listen(call)
    if accepts(exchange.request.headers.get("accept"), EVENT_STREAM) <= 0:
        raise security.not_acceptable(EVENT_STREAM)
    access = StreamAccess(exchange, call.revision, call.sessions, request_id)
    stream = open_streams.open(access.principal, exchange.conf, expires=access.expires)
    stream.farewell = partial(_farewell, access)
    acknowledgement = Broadcast(ACKNOWLEDGED, {"notifications": wanted.to_wire()})
    subscription = encode(request_id)
    # First in line, before anything can be heard of (SUB-02, SUB-10).
    stream.put(sse.event(acknowledgement.tagged(subscription)))
    if wanted:
        await _subscribe(Listening(stream, access, wanted, subscription), stream)
        signal_hook.install(exchange.conf.shutdown_grace)
    else:
        stream.end()
    return Response(status=200, headers=sse.HEADERS, stream=stream)


def _farewell(access: StreamAccess) -> bytes:
    return sse.frame(result_message(access.request_id, closing_result(access.last_call(), access.request_id)))


async def _subscribe(listening: Listening, stream: Stream) -> None:
    here = await join(stream)

    def leave() -> None:
        here.discard(listening)
        here.leave()

    stream.on_close = leave
    here.add(listening)
    keep_up(here)
