"""The wire of stdio: one client, one message a line, both eras told apart per message (VER-25).

``receive`` takes lines and never waits; every request runs as a task of its own and its answer leaves
through *send* (STD-09). Nothing here knows file descriptors, so tests hand in their own lines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from django.db import Error

from django_mcp.protocol.envelope import (
    PROTOCOL_VERSION,
    Envelope,
    is_modern,
    read_legacy,
    read_modern,
    read_modern_notice,
)
from django_mcp.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, ProtocolError
from django_mcp.protocol.jsonrpc import (
    Notification,
    Reply,
    Request,
    RequestId,
    decode,
    encode,
    error_message,
    read_message,
    result_message,
)
from django_mcp.protocol.versions import DEFAULT_LEGACY
from django_mcp.running import exchange
from django_mcp.server.askers import SEALED_ASKER, DirectAsker
from django_mcp.server.call import Call, Locale, SessionState, Source
from django_mcp.server.dispatch import LISTEN, dispatch, take_notice
from django_mcp.server.failures import INTERNAL
from django_mcp.server.methods.handshake import Greeting, read_greeting
from django_mcp.servers import MCPServer
from django_mcp.transports.backlog import Backlog
from django_mcp.transports.outbound import StdioOutbound
from django_mcp.transports.replies import StdioCourier
from django_mcp.transports.security import url_origin
from django_mcp.transports.stdio_events import Identity, SessionNews, StdioAccess, StdioSubscriptions
from django_mcp.transports.stdio_session import ProcessSession

logger = logging.getLogger("django_mcp.stdio")

Answer = asyncio.Task[bytes]


class StdioExchange:
    """The conversation with the one client of a process."""

    def __init__(
        self,
        server: MCPServer,
        identity: Identity,
        send: Callable[[bytes], None],
        source: Source | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        self._server = server
        self._conf = server.settings
        self._identity = identity
        self._send = send
        # What *send* took and the client has not read yet
        self._backlog = backlog or Backlog()
        self._source = source or Source(find_origin=partial(_origin, server), can_stream=server.settings.streams)
        self._session = ProcessSession(self._follow)
        self._subscriptions = StdioSubscriptions(identity, send)
        self._news: SessionNews | None = None
        self._follows = asyncio.Lock()
        self._following: set[asyncio.Task[None]] = set()
        self._courier = StdioCourier()
        self._legacy_asker = DirectAsker(self._courier)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancellable: dict[RequestId, set[Answer]] = {}

    def receive(self, line: bytes | None) -> None:
        """Take one line; ``None`` stands for one that was longer than ``MAX_BODY``."""
        if line is None:
            limit = self._conf.max_body
            self._refuse(ProtocolError(INVALID_REQUEST, f"Message is larger than {limit} bytes"))
        elif line and not line.isspace():
            self._receive(line)

    async def drain(self, timeout: float | None) -> None:
        """Let what runs come to its end, and end what would not by itself."""
        self._subscriptions.end_all()
        if self._news is not None:
            self._news.end()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)

    def cancel_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _receive(self, line: bytes) -> None:
        value: Any = None
        try:
            value = decode(line, max_depth=self._conf.max_depth)
            if isinstance(value, list):
                self._take_batch(value)
            else:
                task = self._take(value)
                if task is not None:
                    task.add_done_callback(self._deliver)
        except ProtocolError as error:
            if not _is_never_answered(value, error):
                self._refuse(error)

    def _refuse(self, error: ProtocolError) -> None:
        self._send(encode(error_message(error.request_id, error)))

    def _take(self, value: Any) -> Answer | None:
        """Start what a message asks for. Only requests have an answer."""
        message = read_message(value)
        if isinstance(message, Request):
            return self._start(message)
        if isinstance(message, Notification):
            self._take_notice(message)
        if isinstance(message, Reply):
            self._courier.receive(message)
        return None

    def _take_notice(self, message: Notification) -> None:
        if message.method == "notifications/cancelled":
            self._cancel(message.params.get("requestId"), message.params.get("reason"))
        elif message.method == "notifications/initialized":
            self._session.mark_initialized()
            self._start_following()
        elif self._server.registry.find_notification(message.method) is not None:
            task = asyncio.get_running_loop().create_task(self._take_custom(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _take_custom(self, notice: Notification) -> None:
        """The site's own. What is wrong with one is never answered (RPC-07)."""
        try:
            async with exchange():
                envelope = read_modern_notice(notice, None)
                session = None if envelope else self._session.state
                await take_notice(await self._call(notice, envelope or self._legacy_envelope(notice), session))
        except ProtocolError as error:
            logger.info("%s was not taken: %.500r", notice.method, str(error))
        except Exception:  # such as the row of the user, out of reach for a moment
            logger.exception("%s failed", notice.method)

    def _cancel(self, request_id: Any, reason: Any) -> None:
        """CAN-01, CAN-02. Exact types: to Python ``True`` and ``1.0`` are ``1``, to JSON-RPC they are no id."""
        if type(request_id) is not str and type(request_id) is not int:
            return
        for task in self._cancellable.get(request_id, ()):
            logger.info("The client cancelled request %r: %.200r", request_id, reason)
            task.cancel()

    def _take_batch(self, values: list[Any]) -> None:
        """Arrays exist in 2025-03-26 alone (RPC-12, RPC-14, STD-14)."""
        session = self._session.state
        if session is None or not session.revision.has_batches:
            raise ProtocolError(INVALID_REQUEST, "Batches are not accepted")
        if not values:
            raise ProtocolError(INVALID_REQUEST, "The batch is empty")
        members = [member for value in values if (member := self._take_member(value)) is not None]
        if members:
            tasks = [one for one in members if isinstance(one, asyncio.Task)]
            everything = asyncio.gather(*tasks, return_exceptions=True)
            everything.add_done_callback(lambda _: self._deliver_batch(members))

    def _take_member(self, value: Any) -> Answer | bytes | None:
        try:
            return self._take(value)
        except ProtocolError as error:
            if _is_never_answered(value, error):
                return None
            return encode(error_message(error.request_id, error))

    def _start(self, request: Request) -> Answer:
        steps: Callable[[], Awaitable[Any]]
        if _is_modern(request):
            steps = partial(self._modern, request)
        elif request.method == "initialize":
            steps = partial(self._initialize, request, self._greet(request))
        else:
            steps = partial(self._legacy, request)
        task = asyncio.get_running_loop().create_task(_answer(request, steps))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if request.method != "initialize":  # CAN-04
            self._cancellable.setdefault(request.id, set()).add(task)
            task.add_done_callback(partial(self._forget, request.id))
        return task

    def _forget(self, request_id: RequestId, task: Answer) -> None:
        running = self._cancellable[request_id]
        running.discard(task)
        if not running:
            del self._cancellable[request_id]

    def _deliver(self, task: Answer) -> None:
        if _may_be_sent(task):
            self._send(task.result())

    def _deliver_batch(self, members: Iterable[Answer | bytes]) -> None:
        answers = [
            one if isinstance(one, bytes) else one.result()
            for one in members
            if isinstance(one, bytes) or _may_be_sent(one)
        ]
        if answers:
            self._send(b"[" + b",".join(answers) + b"]")

    async def _modern(self, request: Request) -> dict[str, Any]:
        """Nothing an earlier request said is used (RPC-22, STD-10)."""
        envelope = read_modern(request, None)
        if request.method == LISTEN:
            return await self._subscriptions.listen(await self._call(request, envelope), request.id)
        return await self._dispatch(request, envelope)

    def _start_following(self) -> None:
        """Tell a legacy client what changes, from the moment that it is ready (INIT-08)."""
        task = asyncio.get_running_loop().create_task(self._try_to_follow())
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _try_to_follow(self) -> None:
        try:
            await self._follow()
        except Error as error:  # everything else works as ever
            logger.warning("The client will not be told what changes: %s", error)

    async def _follow(self) -> None:
        session = self._session.state
        if session is None or not session.initialized:
            return
        async with self._follows:  # whoever comes second waits until the log is read
            if self._news is None:
                request = Request(id=0, method="notifications/initialized", params={})
                call = await self._call(request, self._legacy_envelope(request), session)
                self._news = SessionNews(StdioAccess(self._identity, call), self._send, self._session.subscriptions)
            await self._news.follow()

    def _greet(self, request: Request) -> Greeting:
        """The session begins with the line, so that a client need not wait before it sends the next ones."""
        if self._session.state is not None:
            raise ProtocolError(INVALID_REQUEST, "The session is initialized already", request_id=request.id)
        greeting = read_greeting(request)
        self._session.open(self._server.name, self._identity.principal, greeting)
        return greeting

    async def _initialize(self, request: Request, greeting: Greeting) -> dict[str, Any]:
        envelope = read_legacy(
            request,
            revision=greeting.revision,
            client_info=greeting.client_info,
            client_capabilities=greeting.client_capabilities,
            log_level=None,
        )
        try:
            return await self._dispatch(request, envelope)
        except BaseException:
            self._session.close()
            raise

    async def _legacy(self, request: Request) -> dict[str, Any]:
        return await self._dispatch(request, self._legacy_envelope(request), self._session.state)

    def _legacy_envelope(self, message: Request | Notification) -> Envelope:
        session = self._session.state
        if session is None and message.method != "ping":  # INIT-09, STD-11
            raise ProtocolError(INVALID_REQUEST, "The session is not initialized: send initialize first")
        return read_legacy(
            message,
            revision=session.revision if session else DEFAULT_LEGACY,
            client_info=session.client_info if session else None,
            client_capabilities=session.client_capabilities if session else {},
            log_level=session.log_level if session else None,
        )

    async def _dispatch(
        self, request: Request, envelope: Envelope, session: SessionState | None = None
    ) -> dict[str, Any]:
        async with exchange():
            call = await self._call(request, envelope, session)
            call.outbound = outbound = self._outbound(request, envelope)
            call.asker = SEALED_ASKER if envelope.revision.is_modern else self._legacy_asker
            try:
                return await dispatch(call)
            finally:
                outbound.close()

    async def _call(
        self, message: Request | Notification, envelope: Envelope, session: SessionState | None = None
    ) -> Call:
        caller = await self._identity.caller()
        return Call(
            server=self._server,
            request=message,
            envelope=envelope,
            caller=caller,
            locale=Locale(language=caller.language, time_zone=caller.time_zone),
            source=self._source,
            session=session,
            sessions=self._session,
        )

    def _outbound(self, request: Request, envelope: Envelope) -> StdioOutbound:
        """A client that does not read costs a modern call its life, and a legacy one its notifications."""
        give_up = partial(self._cancel, request.id, "stdout is not read")
        return StdioOutbound(
            self._conf, self._send, self._backlog, give_up if envelope.revision.is_modern else _do_nothing
        )


def _origin(server: MCPServer) -> str | None:
    """There is no host on stdio."""
    url = server.settings.public_url
    return None if url is None else url_origin(url)


async def _answer(request: Request, steps: Callable[[], Awaitable[Any]]) -> bytes:
    try:
        return encode(result_message(request.id, await steps()))
    except ProtocolError as error:
        return encode(error_message(request.id, error))
    except Exception:  # nothing internal leaves, and silence would cost the client a time-out
        logger.exception("%s failed", request.method)
        return encode(error_message(request.id, ProtocolError(INTERNAL_ERROR, INTERNAL)))


def _do_nothing() -> None:
    """The call goes on."""


def _may_be_sent(task: Answer) -> bool:
    """After a cancellation nothing more is sent, whatever the work made of it (STD-08)."""
    return not task.cancelled() and not task.cancelling()


def _is_modern(request: Request) -> bool:
    """An enveloped ``initialize`` that proposes no version is no handshake, but a modern request (VER-11, VER-12)."""
    if request.method == "initialize":
        meta = request.params.get("_meta")
        return isinstance(meta, dict) and PROTOCOL_VERSION in meta and "protocolVersion" not in request.params
    return is_modern(request, None)


def _is_never_answered(value: Any, error: ProtocolError) -> bool:
    """Replies and notifications, however broken they are (RPC-07): two peers would answer each other for ever."""
    if not isinstance(value, dict):
        return False
    if "method" in value:
        return error.code == INVALID_PARAMS and "id" not in value
    return "result" in value or "error" in value
