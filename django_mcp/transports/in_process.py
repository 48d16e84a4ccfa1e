"""A client inside the process: it writes and reads the JSON that any other one would, in either era.

Tests and the commands that look at a server go this way, so what they see is what clients get.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async

from django_mcp.primitives.questions import PING
from django_mcp.protocol.envelope import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from django_mcp.protocol.errors import INTERNAL_ERROR, METHOD_NOT_FOUND
from django_mcp.protocol.jsonrpc import decode, encode, notification_message
from django_mcp.protocol.versions import LATEST, Revision
from django_mcp.server.call import Source
from django_mcp.servers import MCPServer
from django_mcp.transports.stdio import StdioExchange
from django_mcp.transports.stdio_events import Identity

Answer = Callable[[dict[str, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]

DEEPEST = 10_000  # of what the server sends, which is trusted


class MCPError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class Conversation:
    """What one client and a server say to each other.

    ``receive`` takes every message of the server that is no answer. ``answer`` replies to what the server asks:
    it is given ``method`` and ``params`` and returns the result, and may be async or use the database. What it raises,
    the request raises. A legacy revision shakes hands before its first request.
    """

    def __init__(
        self,
        server: MCPServer,
        identity: Identity,
        *,
        revision: Revision = LATEST,
        client_info: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        source: Source | None = None,
        receive: Callable[[dict[str, Any]], None] = lambda message: None,
        answer: Answer | None = None,
    ) -> None:
        self.revision = revision
        self.greeting: dict[str, Any] | None = None
        self._client_info = dict(client_info or {"name": "django-mcp", "version": "1"})
        self._capabilities = dict(capabilities or {})
        self._receive = receive
        self._answer = answer
        self._jsonable = server.services.jsonable
        self._exchange = StdioExchange(server, identity, self._take, source)
        self._ids = itertools.count(1)
        self._pending: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._replies: set[asyncio.Task[None]] = set()
        self._failure: Exception | None = None
        self._is_greeted = revision.is_modern

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The result, as it came; raises ``MCPError``."""
        await self._greet()
        params = self._with_envelope(params)
        result = await self._ask(method, params)
        while (answer := self._answer) is not None and result.get("resultType") == "input_required":
            asked = result.get("inputRequests", {})
            responses = {key: await _answered(answer, request) for key, request in asked.items()}
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            result = await self._ask(method, {**params, "inputResponses": responses, **state})
        return result

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification and wait until the server is done with it."""
        await self._greet()
        await self._tell(method, self._with_envelope(params))

    async def _greet(self) -> None:
        if self._is_greeted:
            return
        self._is_greeted = True
        params = {
            "protocolVersion": str(self.revision),
            "capabilities": self._capabilities,
            "clientInfo": self._client_info,
        }
        self.greeting = await self._ask("initialize", params)
        await self._tell("notifications/initialized", {})

    def _with_envelope(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        params = dict(params or {})
        if self.revision.is_modern:
            envelope = {
                PROTOCOL_VERSION: str(self.revision),
                CLIENT_INFO: self._client_info,
                CLIENT_CAPABILITIES: self._capabilities,
            }
            params["_meta"] = {**envelope, **params.get("_meta", {})}
        return params

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id = next(self._ids)
        answer = self._pending[id] = asyncio.get_running_loop().create_future()
        try:
            self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            reply = await answer
        except asyncio.CancelledError:
            self._send(notification_message("notifications/cancelled", {"requestId": id}))
            raise
        finally:
            del self._pending[id]
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if "error" in reply:
            error = reply["error"]
            raise MCPError(error["code"], error["message"], error.get("data"))
        result: dict[str, Any] = reply["result"]
        return result

    async def _tell(self, method: str, params: dict[str, Any]) -> None:
        self._send(notification_message(method, params))
        await self._exchange.drain(None)

    def _send(self, message: dict[str, Any]) -> None:
        self._exchange.receive(encode(message, self._jsonable))

    def _take(self, line: bytes) -> None:
        message = decode(line, max_depth=DEEPEST)
        pending = None if "method" in message else self._pending.get(message.get("id"))
        if "method" in message and "id" in message:
            task = asyncio.get_running_loop().create_task(self._reply(message))
            self._replies.add(task)
            task.add_done_callback(self._replies.discard)
        elif pending is None:
            self._receive(message)
        else:
            pending.set_result(message)

    async def _reply(self, request: dict[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": request["id"], **await self._reply_to(request)})

    async def _reply_to(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] == PING:
            return {"result": {}}
        if self._answer is None:
            return {"error": {"code": METHOD_NOT_FOUND, "message": "This client answers nothing"}}
        try:
            return {"result": await _answered(self._answer, request)}
        except Exception as error:  # noqa: BLE001 - whoever waits for the request meets it
            self._failure = error
            return {"error": {"code": INTERNAL_ERROR, "message": "The client failed"}}


async def _answered(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    """Synchronous code runs where that of the caller does, which may use the database."""
    value = answer(request) if iscoroutinefunction(answer) else await sync_to_async(answer)(request)
    return dict(await value if isawaitable(value) else value)
