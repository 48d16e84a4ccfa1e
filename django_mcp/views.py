"""The Django view: the same exchange as the consumer, behind the site's middleware.

``Endpoint`` is one object in the URLconf for both kinds of server. Under ASGI it is a coroutine
function, so it may stream; under WSGI it is a plain view that steps the core on the caller's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from functools import lru_cache
from typing import Any

from asgiref.sync import markcoroutinefunction
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse, UnreadablePostError
from django.http.request import HttpHeaders
from django.http.response import HttpResponseBase

from django_mcp.protocol.errors import INVALID_REQUEST, ProtocolError
from django_mcp.protocol.headers import Headers
from django_mcp.running import running_loop, step
from django_mcp.servers import MCPServer
from django_mcp.transports import http
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import HTTPRequest, Response
from django_mcp.transports.outbound import AnswerStream
from django_mcp.transports.shutdown import attached_exchanges, signal_hook

# A function that is marked as a coroutine function in the way of this Python; ``Endpoint`` shows its marks.
_MARKED = markcoroutinefunction(lambda: None)


class Endpoint:
    """The view of one ``MCPServer``."""

    # A client has no CSRF cookie; the Origin check and the JSON Content-Type stand in for the token (SEC-07).
    csrf_exempt = True
    # The endpoint answers 401 itself, where LoginRequiredMiddleware would redirect to a page.
    login_required = False

    def __init__(self, server: MCPServer) -> None:
        self.server = server
        # What Django calls a view by in error pages, and looks up whenever any URL is reversed.
        self.__name__ = self.__qualname__ = f"mcp_{server.name}"

    def __call__(self, request: HttpRequest, **path_params: Any) -> Any:
        if running_loop() is not None:
            return self._serve_async(request, path_params)
        return self._serve_sync(request, path_params)

    # Django asks these three of the view at every request. The answer depends on the server it runs under.

    @property
    def _is_coroutine(self) -> Any:
        return getattr(_MARKED, "_is_coroutine", None) if running_loop() else None

    @property
    def _is_coroutine_marker(self) -> Any:
        return getattr(_MARKED, "_is_coroutine_marker", None) if running_loop() else None

    @property
    def _non_atomic_requests(self) -> set[str]:
        """Async views cannot be wrapped in ``ATOMIC_REQUESTS``; each call has its own transaction anyway."""
        return set(connections) if running_loop() else set()

    def _serve_sync(self, request: HttpRequest, path_params: dict[str, Any]) -> HttpResponseBase:
        exchange = HTTPExchange(self.server, read_request(request, path_params, can_stream=False))
        return to_django(step(_exchange(exchange, request)), request)

    async def _serve_async(self, request: HttpRequest, path_params: dict[str, Any]) -> HttpResponseBase:
        exchange = HTTPExchange(self.server, read_request(request, path_params, can_stream=True))
        return to_django(await Shelter(exchange, _exchange(exchange, request)).answer(), request)


async def _exchange(exchange: HTTPExchange, request: HttpRequest) -> Response:
    response = await http.admit(exchange)
    if response is not None:
        return response
    if isinstance(request, WSGIRequest) and exchange.request.headers.get("transfer-encoding") is not None:
        # Whatever its length is, Django reads it as empty.
        return exchange.refuse(ProtocolError(INVALID_REQUEST, "Send a body with its Content-Length", status=411))
    try:
        body = request.read(exchange.conf.max_body + 1)
    except UnreadablePostError:
        return exchange.refuse(ProtocolError(INVALID_REQUEST, "The body could not be read", status=400))
    if len(body) > exchange.conf.max_body:
        return exchange.refuse(exchange.too_large())
    return await http.respond(exchange, body)


class Shelter:
    """Django cancels the view when the client hangs up; a legacy call goes on all the same (LH-14).

    What is answered first, is the answer: the stream that the call opens, or what it ends with.
    """

    def __init__(self, exchange: HTTPExchange, steps: Coroutine[Any, Any, Response]) -> None:
        self._exchange = exchange
        self.loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Response] = self.loop.create_future()
        exchange.door = self
        self.task = asyncio.create_task(steps)
        self.task.add_done_callback(self._settle)
        attached_exchanges.add(self.task)
        signal_hook.install(exchange.conf.shutdown_grace)

    def start_stream(self, frames: AnswerStream) -> None:
        if not self._answer.done():
            self._answer.set_result(self._exchange.streamed(frames))

    def leave(self) -> None:
        self._exchange.hang_up(self.task)

    async def answer(self) -> Response:
        try:
            return await self._answer
        except asyncio.CancelledError:
            if self.task.cancelled() and not _is_cancelled():  # by the end of this process
                return self._exchange.cut_short()
            self.leave()
            raise

    def _settle(self, task: asyncio.Task[Response]) -> None:
        self._hand_over(task)
        # A stream whose response Django drops is given back at once only if no reference cycle holds it.
        self._exchange.door = None

    def _hand_over(self, task: asyncio.Task[Response]) -> None:
        if self._answer.done():
            if task.cancelled():
                self._exchange.cut_off()
        elif task.cancelled():
            self._answer.cancel()
        elif (error := task.exception()) is not None:
            self._answer.set_exception(error)
        else:
            self._answer.set_result(task.result())


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def read_request(request: HttpRequest, path_params: dict[str, Any], *, can_stream: bool) -> HTTPRequest:
    return HTTPRequest(
        method=request.method or "",
        path=request.path,
        scheme=request.scheme or "http",
        headers=Headers(_raw_headers(request)),
        server=request.META.get("SERVER_NAME", ""),
        client=request.META.get("REMOTE_ADDR"),
        path_params=path_params,
        can_stream=can_stream,
        language=getattr(request, "LANGUAGE_CODE", None),  # LocaleMiddleware's, by cookie or path
        make_request=lambda: request,
    )


def _raw_headers(request: HttpRequest) -> Iterable[tuple[bytes, bytes]]:
    """The pairs as they came. WSGI has folded duplicates into one value already."""
    if isinstance(request, ASGIRequest):
        return request.scope["headers"]  # type: ignore[no-any-return]
    # Not from request.headers, which costs as much to build as all else that the view does.
    pairs = ((_header_name(key), value) for key, value in request.META.items())
    return [(name, value.encode("latin-1")) for name, value in pairs if name is not None]


@lru_cache(maxsize=1024)
def _header_name(key: str) -> bytes | None:
    """The header behind a key of WSGI's environ."""
    name = HttpHeaders.parse_header_name(key)
    return None if name is None else name.lower().encode("latin-1")


def to_django(response: Response, request: HttpRequest) -> HttpResponseBase:
    headers = dict(response.headers)
    if response.is_event_stream:
        # GZipMiddleware takes no notice of no-transform and would hold the events back.
        request.META.pop("HTTP_ACCEPT_ENCODING", None)
    if response.stream is None:
        answer = HttpResponse(response.body, status=response.status, headers=headers)
        if not response.body:
            del answer["Content-Type"]  # Django takes an answer for HTML that does not say what it is
        return answer
    return StreamingHttpResponse(response.stream, status=response.status, headers=headers)
