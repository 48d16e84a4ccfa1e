"""One HTTP exchange: from the request line to a response, for both eras of Streamable HTTP.

The door awaits ``admit(exchange)`` before it reads the body and ``respond(exchange, body)`` after. Both
always return a response or raise nothing but cancellation; what is refused is refused in JSON.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence

from django.db import OperationalError

from django_mcp.auth.base import Authentication, AuthenticationFailed, AuthRequest, identify, recall
from django_mcp.events.catalogues import start_serving
from django_mcp.protocol.envelope import is_modern, read_modern, read_modern_notice
from django_mcp.protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError, http_status
from django_mcp.protocol.headers import SESSION, VERSION, is_json
from django_mcp.protocol.jsonrpc import Notification, Reply, Request, decode, read_message
from django_mcp.protocol.versions import LEGACY, Era
from django_mcp.running import exchange as exchange_scope
from django_mcp.running import run_store
from django_mcp.server.askers import SEALED_ASKER
from django_mcp.server.dispatch import LISTEN, dispatch, take_notice
from django_mcp.sessions import find_session
from django_mcp.switches import switchboard
from django_mcp.transports import handshake_http, listening, page, security
from django_mcp.transports.exchange import HTTPExchange, reply_type
from django_mcp.transports.messages import EVENT_STREAM, JSON, Response, error_response

logger = logging.getLogger("django_mcp.http")


async def admit(exchange: HTTPExchange) -> Response | None:
    """The answer that needs no body, or ``None``: then read at most ``conf.max_body`` bytes and respond."""
    start_serving(exchange.server)
    return await _guarded(exchange, _admit(exchange))


async def respond(exchange: HTTPExchange, body: bytes) -> Response:
    async with exchange_scope():
        response = await _guarded(exchange, _respond(exchange, body))
    assert response is not None  # noqa: S101 - narrows the type; _respond never returns None
    return exchange.settled(response)


async def _guarded(exchange: HTTPExchange, steps: Awaitable[Response | None]) -> Response | None:
    request = exchange.request
    try:
        response = await steps
    except ProtocolError as error:
        response = error_response(error, error.status or http_status(error.code, exchange.era))
    except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt):
        raise
    except OperationalError:  # of our own rows: locked, or out of reach for a moment
        logger.exception("%s %.200r failed", request.method, request.path)
        response = error_response(_database_unavailable(), 503)
    except BaseException:  # nothing internal leaves, and no HTML page of the server's either
        logger.exception("%s %.200r failed", request.method, request.path)
        response = error_response(ProtocolError(INTERNAL_ERROR, "Internal error"), 500)
    return response.with_headers(exchange.cors) if response is not None and exchange.cors else response


async def _admit(exchange: HTTPExchange) -> Response | None:
    request = exchange.request
    exchange.cors = security.admit(request, exchange.conf)
    if request.method == "OPTIONS":
        return security.preflight(exchange.cors, exchange.server.parameter_headers())
    if request.method == "GET" and (shown := page.page_for(exchange)) is not None:
        return shown
    refusal = await _identify(exchange)
    if refusal is not None:
        return refusal
    if request.method == "POST":
        _check_post_headers(exchange)
        return None
    return page.page_for(exchange) or await handshake_http.without_body(exchange)


async def _identify(exchange: HTTPExchange) -> Response | None:
    """Caller and session in at most one hop to the store. The session is judged later, if it matters."""
    authentications = exchange.server.authentications
    request = exchange.auth_request()
    session_id = _session_id(exchange)
    try:
        exchange.caller = recall(authentications, request)
        if exchange.caller is None and not any(one.uses_database for one in authentications):
            exchange.caller = identify(authentications, request)
        if exchange.caller is None or session_id is not None:
            await run_store(_load, exchange, request, session_id)
    except AuthenticationFailed:
        return _unauthorized(authentications, request, failed=True)
    if exchange.caller is None:
        return _unauthorized(authentications, request, failed=False)
    return None


def _session_id(exchange: HTTPExchange) -> str | None:
    """The session to load with the caller. A modern client's is no business of ours (VER-21)."""
    headers = exchange.request.headers
    version = headers.get(VERSION)
    if version is not None and version not in LEGACY:
        return None
    return headers.get(SESSION)


def _load(exchange: HTTPExchange, request: AuthRequest, session_id: str | None) -> None:
    if exchange.caller is None:
        exchange.caller = identify(exchange.server.authentications, request)
    if exchange.caller is not None and session_id is not None:
        exchange.session = find_session(
            server=exchange.server.name, principal=exchange.caller.principal, session_id=session_id
        )
    switchboard.freshen()


def _check_post_headers(exchange: HTTPExchange) -> None:
    headers = exchange.request.headers
    if not is_json(headers.get("content-type")):
        raise ProtocolError(INVALID_REQUEST, "Content-Type must be application/json in UTF-8", status=415)
    if headers.get("content-encoding") not in (None, "identity"):
        raise ProtocolError(INVALID_REQUEST, "Content-Encoding is not supported", status=415)
    if reply_type(headers.get("accept")) is None:
        raise security.not_acceptable(f"{JSON} or {EVENT_STREAM}")
    length = headers.get("content-length")
    # Python refuses to read a number of thousands of digits.
    if length is not None and length.isdecimal() and (len(length) > 100 or int(length) > exchange.conf.max_body):
        raise exchange.too_large()


async def _respond(exchange: HTTPExchange, body: bytes) -> Response:
    value = decode(body, max_depth=exchange.conf.max_depth)
    if isinstance(value, list):
        return await handshake_http.respond_to_batch(exchange, value)
    message = read_message(value)
    if not is_modern(message, exchange.request.headers.get(VERSION)):
        exchange.era = Era.LEGACY
        return await handshake_http.respond(exchange, message)
    if isinstance(message, Reply):
        raise ProtocolError(INVALID_REQUEST, "Responses are not accepted", status=400)
    if isinstance(message, Notification):
        return await _take_modern(exchange, message)
    return await _respond_modern(exchange, message)


async def _take_modern(exchange: HTTPExchange, notice: Notification) -> Response:
    """The protocol has none for HTTP, so only the site's own do anything (MH-07)."""
    if exchange.server.registry.find_notification(notice.method) is not None:
        envelope = read_modern_notice(notice, exchange.request.headers)
        if envelope is not None:
            await take_notice(exchange.call(notice, envelope, handshake_http.stored_sessions))
    return Response(status=202)


async def _respond_modern(exchange: HTTPExchange, request: Request) -> Response:
    try:
        envelope = read_modern(request, exchange.request.headers)
        call = exchange.call(request, envelope, handshake_http.stored_sessions, asker=SEALED_ASKER)
        if request.method == LISTEN:
            return await listening.listen(exchange, call, request.id)
        return exchange.answer(request, await dispatch(call))
    except ProtocolError as error:
        error.request_id = request.id
        raise


def _database_unavailable() -> ProtocolError:
    return ProtocolError(INTERNAL_ERROR, "The database is not available", headers=(("Retry-After", "1"),))


def _unauthorized(authentications: Sequence[Authentication], request: AuthRequest, *, failed: bool) -> Response:
    """401 with a challenge for each kind of credentials that would do (AUTH-08, AUTH-09)."""
    challenges = ", ".join(filter(None, (one.challenge(request, failed) for one in authentications)))
    headers = (("WWW-Authenticate", challenges),) if challenges else ()
    return error_response(ProtocolError(INVALID_REQUEST, "Authentication required", headers=headers), 401)
