"""The doors of the app under one interface, so that a test is written once and runs through each.

``Door.send`` takes a request and returns the whole answer. The doors are real: the ASGI ones run the
application as a server would, the WSGI one goes through Django's test client and its middleware.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIHandler
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.client import AsyncClientHandler, FakePayload

from django_mcp.routing import MCPRouter

LIMIT = 30  # seconds that an answer may take
Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Pairs
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header that may be there once."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} is there {len(values)} times"
        return values[0] if values else None

    @property
    def json(self) -> Any:
        """The body, which must be strict JSON and say so, or the one event of a stream."""
        if self.header("Content-Type") == "text/event-stream":
            [event] = self.events
            return event
        assert self.header("Content-Type") == "application/json", self
        return strict(gzip.decompress(self.body) if self.header("Content-Encoding") == "gzip" else self.body)

    @property
    def events(self) -> list[Any]:
        """The messages of a stream."""
        frames = [frame for frame in self.body.decode().split("\n\n") if frame and not frame.startswith(":")]
        lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
        return [strict(line.removeprefix("data: ")) for line in lines]

    @property
    def error(self) -> dict[str, Any]:
        return self.json["error"]  # type: ignore[no-any-return]

    @property
    def result(self) -> dict[str, Any]:
        message = self.json
        assert "result" in message, message
        return message["result"]  # type: ignore[no-any-return]


def strict(text: str | bytes) -> Any:
    """JSON as clients other than Python read it: a NaN is a ``KeyError``."""
    constants: dict[str, Any] = {}
    return json.loads(text, parse_constant=constants.__getitem__)


class ASGIDoor:
    """An ASGI application driven in this process, one loop an exchange."""

    can_stream = True

    def __init__(self, application: Any) -> None:
        self.application = application

    def send(self, method: str, path: str, headers: Pairs, body: bytes = b"") -> Answer:
        return async_to_sync(self._send)(method, path, headers, [body])

    def send_chunks(self, method: str, path: str, headers: Pairs, chunks: Iterable[bytes]) -> Answer:
        return async_to_sync(self._send)(method, path, headers, list(chunks))

    async def _send(self, method: str, path: str, headers: Pairs, chunks: list[bytes]) -> Answer:
        incoming = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        incoming[-1]["more_body"] = False
        sent: list[dict[str, Any]] = []
        hang_up: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        async def receive() -> dict[str, Any]:
            if incoming:
                return incoming.pop(0)
            return await hang_up

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async with asyncio.timeout(LIMIT):
            await self.application(scope_of(method, path, headers), receive, send)
        start, *bodies = sent
        assert start["type"] == "http.response.start"
        assert not bodies[-1].get("more_body", False)
        return Answer(
            start["status"],
            [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]],
            b"".join(message.get("body", b"") for message in bodies),
        )


def scope_of(method: str, path: str, headers: Pairs, **extra: Any) -> dict[str, Any]:
    path, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("ascii", "replace"),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 50000),
        "server": ("testserver", 80),
        **extra,
    }


def headers_of(response: HttpResponseBase) -> Pairs:
    """All of them; Django keeps cookies apart until it sends."""
    return [*response.items(), *(("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values())]


class AsyncViewDoor:
    """The view under ASGI, behind the middleware of the site.

    Django's handler for its own tests, since the one for servers closes the connections of a test.
    """

    can_stream = True

    def send(self, method: str, path: str, headers: Pairs, body: bytes = b"") -> Answer:
        return async_to_sync(self._send)(method, path, headers, body)

    async def _send(self, method: str, path: str, headers: Pairs, body: bytes) -> Answer:
        handler = AsyncClientHandler()
        async with asyncio.timeout(LIMIT):
            response = await handler({**scope_of(method, path, headers), "_body_file": FakePayload(body)})
        return Answer(response.status_code, headers_of(response), response.getvalue())


class WSGIDoor:
    """The view under WSGI, behind the middleware of the site."""

    can_stream = False

    def send(self, method: str, path: str, headers: Pairs, body: bytes = b"") -> Answer:
        client = Client(raise_request_exception=False, enforce_csrf_checks=True)
        extra: dict[str, Any] = {"CONTENT_TYPE": ""}
        for name, value in headers:
            if name.lower() in ("content-type", "content-length"):
                extra[name.upper().replace("-", "_")] = value
            else:
                key = f"HTTP_{name.upper().replace('-', '_')}"
                # What a WSGI server does with a header that comes twice.
                extra[key] = f"{extra[key]},{value}" if key in extra else value
        response = client.generic(method, path, body, **extra)
        return Answer(response.status_code, headers_of(response), response.getvalue())


def consumer() -> ASGIDoor:
    return ASGIDoor(MCPRouter(ASGIHandler()))


DOORS = {"consumer": consumer, "view-asgi": AsyncViewDoor, "view-wsgi": WSGIDoor}
