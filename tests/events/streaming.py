"""Streams of the application in this process: opened, read frame by frame, and hung up, as a server would."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from django.core.handlers.asgi import ASGIHandler
from django.test import TransactionTestCase, override_settings

from django_mcp.events.hub import _hubs
from django_mcp.events.tail import reader
from django_mcp.routing import MCPRouter
from django_mcp.running import close_lanes
from django_mcp.transports.streams import open_streams
from tests.wire.client import DEFAULT_HEADERS, META, MODERN
from tests.wire.doors import scope_of

LIMIT = 30
SUBSCRIPTION = f"{META}subscriptionId"
FAST = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "POLL_INTERVAL": 0.02}


class Frame(NamedTuple):
    """One event of a stream; a comment or interval alone has no data."""

    id: str | None
    data: Any
    lines: list[str]


class Stream:
    """A response that goes on. ``paused`` is a client that does not read, ``broken`` one that is gone unheard."""

    def __init__(self, application: Any, scope: dict[str, Any], body: bytes) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.paused = False
        self.broken = False
        self.body = b""
        self.is_complete = False
        self._incoming = [{"type": "http.request", "body": body, "more_body": False}]
        self._hang_up = asyncio.Event()
        self._changed = asyncio.Condition()
        self._frames: list[Frame] = []
        self._rest = ""
        self.task = asyncio.create_task(application(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._incoming:
            return self._incoming.pop()
        await self._hang_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        while self.paused:
            await asyncio.sleep(0.005)
        if self.broken:
            raise ConnectionResetError
        async with self._changed:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            else:
                piece = message.get("body", b"")  # Django ends a stream without one
                self.body += piece
                self._read(piece.decode())
                self.is_complete = not message.get("more_body", False)
            self._changed.notify_all()

    def _read(self, text: str) -> None:
        *frames, self._rest = (self._rest + text).split("\n\n")
        for frame in frames:
            lines = frame.split("\n")
            fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":"))
            data = fields.get("data", "")
            self._frames.append(Frame(fields.get("id"), json.loads(data) if data else None, lines))

    async def started(self) -> Stream:
        await self._until(lambda: bool(self.status))
        return self

    async def begun(self) -> bytes:
        """What came first."""
        await self._until(lambda: bool(self.body))
        return self.body

    async def ended(self) -> Stream:
        async with asyncio.timeout(LIMIT):
            await asyncio.wait({self.task})
        return self

    async def frame(self) -> Frame:
        """The next frame that has an id or data."""
        await self._until(lambda: any(self._is_event(frame) for frame in self._frames))
        while True:
            frame = self._frames.pop(0)
            if self._is_event(frame):
                return frame

    async def message(self) -> Any:
        """The data of the next frame that has some."""
        while (frame := await self.frame()).data is None:
            pass
        return frame.data

    async def messages(self, count: int) -> list[Any]:
        return [await self.message() for _ in range(count)]

    @property
    def waiting(self) -> list[Any]:
        """What has come and was not read yet."""
        return [frame.data for frame in self._frames if frame.data is not None]

    def hang_up(self) -> None:
        self._hang_up.set()

    async def _until(self, condition: Any) -> None:
        async with asyncio.timeout(LIMIT), self._changed:
            await self._changed.wait_for(lambda: condition() or self.is_complete or self.task.done())
        assert condition(), (self.status, self.body)

    @staticmethod
    def _is_event(frame: Frame) -> bool:
        return frame.id is not None or frame.data is not None


class Site:
    """The application, and the streams that are open."""

    def __init__(self, application: Any = None, path: str = "/mcp") -> None:
        self.application = application or MCPRouter(ASGIHandler())
        self.path = path
        self.streams: list[Stream] = []

    def request(self, method: str, headers: dict[str, str | None], body: bytes = b"") -> Stream:
        merged = {**DEFAULT_HEADERS, **headers}
        pairs = [(name, value) for name, value in merged.items() if value is not None]
        stream = Stream(self.application, scope_of(method, self.path, pairs), body)
        self.streams.append(stream)
        return stream

    async def post(self, message: dict[str, Any], headers: dict[str, str | None]) -> Any:
        stream = await self.request("POST", headers, json.dumps(message).encode()).ended()
        assert stream.body or stream.status == 202, stream.status
        return json.loads(stream.body) if stream.body else None

    async def listen(self, filter: Any, id: Any = 1, **headers: str | None) -> Stream:
        """A modern subscription, its response begun."""
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        params = {"notifications": filter, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}
        names: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
        body = json.dumps(message).encode()
        return await self.request("POST", {**names, **headers}, body).started()

    async def session(
        self,
        version: str = "2025-11-25",
        *,
        is_ready: bool = True,
        capabilities: dict[str, Any] | None = None,
        **headers: str | None,
    ) -> Session:
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        stream = await self.request("POST", headers, json.dumps(message).encode()).ended()
        own = {"Mcp-Session-Id": stream.headers["mcp-session-id"], "MCP-Protocol-Version": version, **headers}
        session = Session(self, own)
        if is_ready:
            await session.notify("notifications/initialized")
        return session

    async def close(self) -> None:
        for stream in self.streams:
            stream.hang_up()
        await asyncio.gather(*(stream.ended() for stream in self.streams))


class Session:
    """A legacy session of a client."""

    def __init__(self, site: Site, headers: dict[str, str | None]) -> None:
        self.site = site
        self.headers = headers

    async def call(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.site.post(message, self.headers)

    async def notify(self, method: str, **params: Any) -> None:
        assert await self.site.post({"jsonrpc": "2.0", "method": method, "params": params}, self.headers) is None

    async def get(self, last: str | None = None) -> Stream:
        return await self.site.request("GET", {**self.headers, "Last-Event-ID": last}).started()


@asynccontextmanager
async def a_site(**options: Any):
    site = Site(**options)
    try:
        yield site
    finally:
        await site.close()


class StreamTestCase(TransactionTestCase):
    """``play(scenario)`` runs an async function in a loop that ends with it."""

    settings_of_the_test: dict[str, Any] = {}

    def setUp(self) -> None:
        overridden = override_settings(DJANGO_MCP={**FAST, **self.settings_of_the_test}, CHANNEL_LAYERS={})
        overridden.enable()
        self.addCleanup(overridden.disable)

    def tearDown(self) -> None:
        reader.close()
        _hubs.clear()
        close_lanes()

    def play(self, scenario: Any, **options: Any) -> Any:
        async def run() -> Any:
            async with asyncio.timeout(4 * LIMIT), a_site(**options) as site:
                result = await scenario(site)
            assert len(open_streams) == 0
            return result

        return asyncio.run(run())
