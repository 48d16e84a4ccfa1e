"""An HTTP request and its answer, as the doors hand them over.

A door (consumer, view) builds the request and sends the response; what lies between knows neither.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.headers import Headers
from django_mcp.protocol.jsonrpc import encode, error_message

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

HeaderPairs = tuple[tuple[str, str], ...]


class Frames(Protocol):
    """The frames of a stream. Whoever gets one exhausts it or not, and always closes it.

    Its task is cancelled when the stream ``is_aborted`` while a frame is being sent.
    """

    @property
    def is_aborted(self) -> bool: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def serve(self, receive: Any, send: Any) -> None:
        """Send them all over ASGI, for a door that would rather not ask for each."""

    def close(self) -> None: ...


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class HTTPRequest:
    """What a door knows before it reads the body.

    ``scheme`` is the one the client used, ``server`` the name of the server itself, for clients that
    send no ``Host``; ``language`` is the one that the site has chosen for the request, if it has.
    """

    method: str
    path: str
    scheme: str
    headers: Headers
    server: str = ""
    client: str | None = None
    path_params: Mapping[str, Any] = field(default_factory=dict)
    can_stream: bool = True
    language: str | None = None
    make_request: Callable[[], Any] = lambda: None


@dataclass(slots=True, kw_only=True)
class Response:
    """A status, headers and a body: bytes, or the frames of a stream."""

    status: int
    headers: HeaderPairs = ()
    body: bytes = b""
    stream: Frames | None = None

    @property
    def is_event_stream(self) -> bool:
        return ("Content-Type", EVENT_STREAM) in self.headers

    def with_headers(self, extra: HeaderPairs) -> Response:
        return Response(status=self.status, headers=self.headers + extra, body=self.body, stream=self.stream)


def json_response(message: Any, status: int = 200, headers: HeaderPairs = ()) -> Response:
    return Response(status=status, headers=(("Content-Type", JSON), *headers), body=encode(message))


def error_response(error: ProtocolError, status: int) -> Response:
    """Every refusal carries a JSON-RPC error, or dual-era clients take it for a foreign endpoint (VER-16)."""
    return json_response(error_message(error.request_id, error), status, error.headers)
