"""``HTTPExchange``: what is known of one HTTP request while it is answered."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from django_mcp.auth.base import AuthRequest
from django_mcp.events.log import RETRY
from django_mcp.protocol.envelope import Envelope
from django_mcp.protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, REQUEST_CANCELLED, ProtocolError
from django_mcp.protocol.headers import accepts
from django_mcp.protocol.jsonrpc import Notification, Request, error_message, result_message
from django_mcp.protocol.versions import Era, Revision
from django_mcp.server.call import Call, Caller, Locale, SessionState, SessionWriter, Source
from django_mcp.server.dialogue import NO_OUTBOUND, Message
from django_mcp.server.rounds import NO_ASKER, Asker
from django_mcp.servers import MCPServer
from django_mcp.transports import sse
from django_mcp.transports.language import language_of
from django_mcp.transports.messages import EVENT_STREAM, JSON, HTTPRequest, Response, error_response, json_response
from django_mcp.transports.outbound import AnswerStream, Door, RecordedOutbound, StreamOutbound
from django_mcp.transports.security import public_origin
from django_mcp.transports.shutdown import detached_exchanges

_opening = threading.Lock()


class HTTPExchange:
    """One request to one endpoint.

    ``era`` is that of the message, once it is read, and ``asked`` the id of a legacy request or those of a batch.
    ``hung_up``: nobody waits for the answer any more. A door that can stream sets itself as ``door``.
    """

    __slots__ = (
        "_is_settled",
        "_outbound",
        "answered",
        "asked",
        "caller",
        "conf",
        "cors",
        "door",
        "era",
        "hung_up",
        "request",
        "server",
        "session",
    )

    def __init__(self, server: MCPServer, request: HTTPRequest) -> None:
        self.server = server
        self.request = request
        self.conf = server.settings
        self.era = Era.MODERN
        self.asked: Any = None
        self.answered = False
        self.hung_up = False
        self.caller: Caller | None = None
        self.session: SessionState | None = None
        self.cors: tuple[tuple[str, str], ...] = ()
        self.door: Door | None = None
        self._outbound: StreamOutbound | None = None
        self._is_settled = False

    @property
    def can_stream(self) -> bool:
        """Whether answers may go on and on: not under WSGI, nor where ``STREAMS`` is off."""
        return self.request.can_stream and self.conf.streams

    def auth_request(self) -> AuthRequest:
        request = self.request
        return AuthRequest(headers=request.headers, path=request.path, client=request.client)

    def call(
        self,
        request: Request | Notification,
        envelope: Envelope,
        sessions: SessionWriter,
        session: SessionState | None = None,
        asker: Asker = NO_ASKER,
    ) -> Call:
        caller = self.caller
        assert caller is not None  # noqa: S101 - admit() comes first and refuses without one
        http = self.request
        return Call(
            server=self.server,
            request=request,
            envelope=envelope,
            caller=caller,
            locale=Locale(language=caller.language or self._language(), time_zone=caller.time_zone),
            source=Source(
                headers=http.headers,
                path=http.path,
                can_stream=self.can_stream,
                path_params=http.path_params,
                make_request=http.make_request,
                find_origin=self._origin,
            ),
            sessions=sessions,
            session=session,
            asker=asker,
            outbound=self if self._can_send(request) else NO_OUTBOUND,
        )

    def _can_send(self, request: Request | Notification) -> bool:
        """A notification has no answer that could be a stream."""
        is_request = isinstance(request, Request) and self.door is not None
        return is_request and takes_events(self.request.headers.get("accept"))

    @property
    def can_send(self) -> bool:
        """A client that is gone comes back if its stream had begun."""
        return not self._is_settled and (not self.hung_up or self._is_recorded)

    @property
    def _is_recorded(self) -> bool:
        return isinstance(self._outbound, RecordedOutbound)

    def close_stream(self) -> None:
        if self.session is not None and self.session.revision.has_priming and self.can_stream:
            outbound = self._open_outbound()
            if outbound is not None:
                outbound.close_stream()

    def notify(self, message: Message, *, may_wait: bool) -> None:
        """The exchange is the ``Outbound`` of its calls; those of a batch share one stream."""
        if (outbound := self._open_outbound()) is not None:
            outbound.notify(message, may_wait=may_wait)

    async def anotify(self, message: Message, *, may_wait: bool) -> None:
        if (outbound := self._open_outbound()) is not None:
            await outbound.anotify(message, may_wait=may_wait)

    def _open_outbound(self) -> StreamOutbound | None:
        """Called on any thread; ``None`` once the call has its answer, or nobody who waits for it."""
        with _opening:
            if self._outbound is None and self.door is not None and not (self._is_settled or self.hung_up):
                self._outbound = self._new_outbound(self.door)
            return self._outbound

    def _new_outbound(self, door: Door) -> StreamOutbound:
        session = self.session
        if self.era is Era.MODERN or session is None or not session.revision.has_event_ids or not self.can_stream:
            return StreamOutbound(self.conf, door)
        return RecordedOutbound(
            self.conf,
            door,
            session=session.pk,
            request=json.dumps(self.asked),
            head=beginning_for(session.revision),
        )

    def streamed(self, stream: AnswerStream) -> Response:
        """The response of which this is the body."""
        return Response(status=200, headers=sse.HEADERS + self.cors, stream=stream)

    def settled(self, response: Response) -> Response:
        """The answer as it is, or as the last event of the stream that the call has opened."""
        with _opening:
            self._is_settled = True
        if self._outbound is None:
            return response
        stream = self._outbound.stream
        self._outbound.finish(sse.data_of(response.body) if response.is_event_stream else response.body)
        if self.door is not None:
            self.door.start_stream(stream)
        return self.streamed(stream)

    def _origin(self) -> str | None:
        return public_origin(self.request, self.conf.public_url)

    def _language(self) -> str | None:
        return self.request.language or language_of(self.request.headers.get("accept-language"))

    def answer(self, request: Request, result: dict[str, Any]) -> Response:
        return self.send(result_message(request.id, result))

    def send(self, message: Any) -> Response:
        """JSON where the client takes it, else a stream of one event."""
        if reply_type(self.request.headers.get("accept")) == JSON:
            return json_response(message)
        return Response(status=200, headers=sse.HEADERS, body=sse.frame(message))

    def cancelled(self, request: Request) -> Response:
        """The end of a legacy call that its client cancelled; a stream ends without an answer (CAN-01)."""
        if self._outbound is not None or reply_type(self.request.headers.get("accept")) == EVENT_STREAM:
            return Response(status=200, headers=sse.HEADERS, body=sse.CANCELLED)
        return json_response(error_message(request.id, ProtocolError(REQUEST_CANCELLED, "Request cancelled")))

    def refuse(self, error: ProtocolError) -> Response:
        """A refusal by the door itself, while it reads the body."""
        return error_response(error, error.status or 400).with_headers(self.cors)

    def too_large(self) -> ProtocolError:
        return ProtocolError(INVALID_REQUEST, f"Body is larger than {self.conf.max_body} bytes", status=413)

    def cut_short(self, reason: str = "The server is shutting down") -> Response:
        """The answer to a call that was still running when the process had to end, or was given up otherwise."""
        error = ProtocolError(INTERNAL_ERROR, reason, status=503)
        error.request_id = self.asked if isinstance(self.asked, str | int) else None
        return self.refuse(error)

    def cut_off(self) -> None:
        """The call was cancelled by us: whoever reads its stream is told, now or when he comes back."""
        if self._outbound is not None or not self.hung_up:
            self.settled(self.cut_short())

    def hang_up(self, task: asyncio.Task[Any]) -> None:
        """The client is gone. A legacy call outlives it (LH-14), if not too many do; any other is cancelled."""
        if self.hung_up:
            return
        self.hung_up = True
        if self._outbound is not None:
            self._outbound.drop()
        goes_on = self.era is Era.LEGACY and not self.answered
        if not (goes_on and detached_exchanges.adopt(task, self.conf.detached_calls)):
            if goes_on and self._is_recorded:
                self.settled(self.cut_short("Too many calls go on without their clients"))
            task.cancel()


def beginning_for(revision: Revision) -> Callable[[str], bytes]:
    """What a stream begins with, given the id of its beginning (LH-08, LH-10, BL-107)."""
    return partial(sse.priming, retry=RETRY) if revision.has_priming else _interval


def _interval(event_id: str) -> bytes:
    return sse.interval(RETRY)


@lru_cache(maxsize=256)
def reply_type(accept: str | None) -> str | None:
    """The media type of the answer to a POST, or ``None`` where the client takes neither (LH-05, MH-05)."""
    if accepts(accept, JSON) > 0:
        return JSON
    return EVENT_STREAM if accepts(accept, EVENT_STREAM) > 0 else None


@lru_cache(maxsize=256)
def takes_events(accept: str | None) -> bool:
    """Whether the answer may be a stream."""
    return accepts(accept, EVENT_STREAM) > 0
