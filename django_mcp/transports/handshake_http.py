"""The legacy wire of Streamable HTTP: sessions, batches, the GET stream and DELETE (checklist section 8)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from django_mcp.events import legacy
from django_mcp.protocol.envelope import read_legacy
from django_mcp.protocol.errors import (
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    ProtocolError,
    invalid_params,
    session_not_found,
)
from django_mcp.protocol.headers import SESSION, VERSION, accepts
from django_mcp.protocol.jsonrpc import (
    Message,
    Notification,
    Reply,
    Request,
    error_message,
    read_message,
    result_message,
)
from django_mcp.protocol.versions import Era, Revision
from django_mcp.running import write_store
from django_mcp.server.call import Call, SessionState
from django_mcp.server.dispatch import dispatch, take_notice
from django_mcp.server.methods.handshake import Greeting, read_greeting
from django_mcp.sessions import (
    SessionLimit,
    close_session,
    mark_initialized,
    open_session,
    set_log_level,
)
from django_mcp.transports import get_streams, post_streams, security, sse
from django_mcp.transports.cancellation import Cancellable, cancel_request
from django_mcp.transports.event_ids import read_place
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import EVENT_STREAM, Response
from django_mcp.transports.replies import HTTP_ASKER, receive_reply
from django_mcp.transports.session_use import InUse
from django_mcp.transports.shutdown import signal_hook
from django_mcp.transports.stream_access import StreamAccess
from django_mcp.transports.streams import open_streams

logger = logging.getLogger("django_mcp.http")


async def respond(exchange: HTTPExchange, message: Message) -> Response:
    """Answer one message. Faults of a handler ride on HTTP 200, those of the transport do not (LH-37)."""
    try:
        if isinstance(message, Request) and message.method == "initialize":
            return await _initialize(exchange, message)
        session = require_session(exchange)
        _note_announced(exchange, session)
        if isinstance(message, Request):
            exchange.asked = message.id
            answer = await _answer(exchange, session, message)
            return exchange.cancelled(message) if answer is None else exchange.send(answer)
        await _take_notice(exchange, session, message)
    except ProtocolError as error:
        if error.request_id is None and isinstance(message, Request):
            error.request_id = message.id
        raise
    return Response(status=202)


def _note_announced(exchange: HTTPExchange, session: SessionState) -> None:
    """The negotiated version stays, whatever other supported one the header names (VER-24)."""
    announced = exchange.request.headers.get(VERSION)
    if announced not in (None, str(session.revision)):
        logger.debug("A session of %s was addressed as %s", session.revision, announced)


def require_session(exchange: HTTPExchange) -> SessionState:
    """LH-30, LH-31, SEC-03: no id is 400; an unknown, expired or foreign one is 404."""
    headers = exchange.request.headers
    if headers.get(SESSION) is None:
        raise ProtocolError(INVALID_REQUEST, f"{SESSION} header is missing", status=400)
    if headers.duplicated(SESSION):
        raise ProtocolError(INVALID_REQUEST, f"{SESSION} header is repeated", status=400)
    if exchange.session is None:
        raise session_not_found()
    return exchange.session


async def _initialize(exchange: HTTPExchange, request: Request) -> Response:
    """The session is written only when the result stands (INIT-02, LH-28)."""
    if exchange.session is not None:
        raise ProtocolError(INVALID_REQUEST, "The session is initialized already", status=400)
    greeting = read_greeting(request)
    _check_announced(exchange, greeting.requested)
    envelope = read_legacy(
        request,
        revision=greeting.revision,
        client_info=greeting.client_info,
        client_capabilities=greeting.client_capabilities,
        log_level=None,
    )
    call = exchange.call(request, envelope, stored_sessions)
    result = await dispatch(call)
    session_id = await _open(call, greeting)
    return exchange.answer(request, result).with_headers(((SESSION, session_id),))


def _check_announced(exchange: HTTPExchange, requested: str) -> None:
    """A header that contradicts the body: whoever routes by one would be wrong about the other (BL-046)."""
    announced = exchange.request.headers.get(VERSION)
    if announced is None or announced == requested or Revision.find(requested) is None:
        return
    raise ProtocolError(
        INVALID_REQUEST, f"{VERSION} header and params.protocolVersion name different versions", status=400
    )


async def _open(call: Call, greeting: Greeting) -> str:
    try:
        return await write_store(
            open_session,
            server=call.server.name,
            caller=call.caller,
            revision=greeting.revision,
            client_info=greeting.client_info,
            client_capabilities=greeting.client_capabilities,
        )
    except SessionLimit as error:
        raise ProtocolError(
            INVALID_REQUEST, "Too many sessions", status=429, headers=(("Retry-After", str(error.retry_after)),)
        ) from None


async def _answer(exchange: HTTPExchange, session: SessionState, request: Request) -> dict[str, Any] | None:
    """The reply, or ``None`` if the client has cancelled the request meanwhile."""
    with Cancellable(session, request.id) as cancellable:
        try:
            answer = await _reply(exchange, session, request)
        except asyncio.CancelledError:
            if not cancellable.is_cancelled:
                raise
    return None if cancellable.is_cancelled else answer


async def _reply(exchange: HTTPExchange, session: SessionState, request: Request) -> dict[str, Any]:
    try:
        async with InUse(session):
            return result_message(request.id, await dispatch(_call(exchange, session, request)))
    except ProtocolError as error:
        return error_message(request.id, error)


def _call(exchange: HTTPExchange, session: SessionState, message: Request | Notification) -> Call:
    envelope = read_legacy(
        message,
        revision=session.revision,
        client_info=session.client_info,
        client_capabilities=session.client_capabilities,
        log_level=session.log_level,
    )
    return exchange.call(message, envelope, stored_sessions, session, HTTP_ASKER)


async def _take_notice(exchange: HTTPExchange, session: SessionState, message: Notification | Reply) -> None:
    """Unknown notifications and answers to questions nobody asked are accepted and dropped (LH-06, LH-36)."""
    if isinstance(message, Reply):
        await receive_reply(session, message)
    elif message.method == "notifications/cancelled":
        await cancel_request(session, message.params.get("requestId"), message.params.get("reason"))
    elif message.method == "notifications/initialized":
        if not session.initialized:
            await write_store(mark_initialized, session)
    elif exchange.server.registry.find_notification(message.method) is not None:
        async with InUse(session):
            await take_notice(_call(exchange, session, message))


async def respond_to_batch(exchange: HTTPExchange, values: list[Any]) -> Response:
    """Arrays exist in 2025-03-26 alone (RPC-12..14). Its members are answered one after the other."""
    session = exchange.session
    if session is None or not _accepts_batches(exchange, session):
        raise ProtocolError(INVALID_REQUEST, "Batches are not accepted", status=400)
    if not values:
        raise ProtocolError(INVALID_REQUEST, "The batch is empty", status=400)
    exchange.era = Era.LEGACY
    exchange.asked = [value["id"] for value in values if isinstance(value, dict) and {"id", "method"} <= value.keys()]
    answers = [answer for value in values if (answer := await _answer_member(exchange, session, value))]
    return exchange.send(answers) if answers else Response(status=202)


def _accepts_batches(exchange: HTTPExchange, session: SessionState) -> bool:
    announced = exchange.request.headers.get(VERSION)
    return session.revision.has_batches and announced in (None, str(session.revision))


async def _answer_member(exchange: HTTPExchange, session: SessionState, value: Any) -> dict[str, Any] | None:
    try:
        message = read_message(value)
    except ProtocolError as error:
        return error_message(error.request_id, error)
    if not isinstance(message, Request):
        await _take_notice(exchange, session, message)
        return None
    if message.method == "initialize":
        refusal = ProtocolError(INVALID_REQUEST, "initialize must not be part of a batch")
        return error_message(message.id, refusal)
    answer = await _answer(exchange, session, message)
    if answer is None:
        return error_message(message.id, ProtocolError(REQUEST_CANCELLED, "Request cancelled"))
    return answer


async def without_body(exchange: HTTPExchange) -> Response:
    """GET opens a stream, DELETE ends the session; the modern era has neither (MH-33)."""
    version = exchange.request.headers.get(VERSION)
    if version is not None:
        revision = Revision.find(version)
        if revision is None:
            raise ProtocolError(INVALID_REQUEST, f"{VERSION} {version!r} is not supported", status=400)
        if revision.is_modern:
            raise security.method_not_allowed(security.ALLOW_MODERN)
    return await (_open_stream(exchange) if exchange.request.method == "GET" else _delete(exchange))


async def _delete(exchange: HTTPExchange) -> Response:
    session = require_session(exchange)
    await write_store(
        close_session,
        server=session.server,
        principal=session.principal,
        session_id=exchange.request.headers.get(SESSION) or "",
    )
    return Response(status=204)


async def _open_stream(exchange: HTTPExchange) -> Response:
    """LH-16, LH-24: the rest of the stream that the request names, or a new one."""
    if not exchange.can_stream:
        raise security.method_not_allowed("POST, DELETE, OPTIONS")
    if accepts(exchange.request.headers.get("accept"), EVENT_STREAM) <= 0:
        raise security.not_acceptable(EVENT_STREAM)
    session = require_session(exchange)
    access = StreamAccess(exchange, session.revision, stored_sessions)
    place = read_place(exchange.request.headers.get("last-event-id"))
    # Counted before anything is looked for, so that made-up ids cost no more than their places.
    stream = open_streams.open(session.principal, exchange.conf, expires=access.expires)
    try:
        if not await post_streams.resume(stream, access, session, place):
            await get_streams.begin(stream, access, session, place)
    except BaseException:
        stream.close()
        raise
    signal_hook.install(exchange.conf.shutdown_grace)
    return Response(status=200, headers=sse.HEADERS, stream=stream)


class StoredSessions:
    """A ``SessionWriter`` for rows: the next request of the session may meet another process."""

    async def set_log_level(self, state: SessionState, level: str) -> None:
        await write_store(set_log_level, state, level)

    async def subscribe(self, state: SessionState, uri: str) -> None:
        try:
            await write_store(legacy.subscribe, state.pk, uri)
        except legacy.TooManySubscriptions:
            raise invalid_params(
                f"The session has {legacy.MAX_SUBSCRIPTIONS} subscriptions: unsubscribe from some first"
            ) from None
        except legacy.SessionGone:
            raise session_not_found() from None

    async def unsubscribe(self, state: SessionState, uri: str) -> None:
        await write_store(legacy.unsubscribe, state.pk, uri)


stored_sessions = StoredSessions()
