"""``Context``: what a tool, prompt or resource function may know about the call it serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic

from typing_extensions import TypeVar

from django_mcp.exceptions import ToolError
from django_mcp.primitives.base import Injected
from django_mcp.protocol.capabilities import missing
from django_mcp.protocol.errors import missing_capability
from django_mcp.protocol.jsonrpc import Request
from django_mcp.protocol.tracing import TraceContext, read_trace
from django_mcp.protocol.versions import Revision
from django_mcp.server.asking import Asking
from django_mcp.server.call import Call, SessionState
from django_mcp.server.notifying import Notifying

U = TypeVar("U", default=Any)


class Context(Notifying, Asking, Injected, Mapping[str, Any], Generic[U]):
    """The current call, given to every function that has a parameter annotated with this class.

    ``Context[User]`` tells type checkers what ``context.user`` is; ``Context`` alone leaves it open.
    It is also a read-only mapping of what the ``CONTEXT_PROCESSORS`` returned.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._values: Mapping[str, Any] = {}

    def fill(self, values: Mapping[str, Any]) -> None:
        """Set what the mapping side of the context shows. Called once, before the site's code runs."""
        self._values = values

    @property
    def user(self) -> U:
        """The authenticated Django user, or ``AnonymousUser``. Loaded: safe to read from async code."""
        user: U = self._call.caller.user
        return user

    @property
    def principal(self) -> str:
        """The name under which the user owns sessions, such as ``user:7`` or ``anonymous``."""
        return self._call.caller.principal

    @property
    def token(self) -> Any:
        """What the authentication accepted, for instance the ``AccessToken``."""
        return self._call.caller.token

    @property
    def session(self) -> SessionState | None:
        """The legacy session, or ``None`` in the stateless era."""
        return self._call.session

    @cached_property
    def request(self) -> Any:
        """The ``HttpRequest`` of this call, or ``None`` where there is none (stdio).

        Its user is the caller, whatever a cookie says: the site's middleware did not authenticate the call.
        """
        request = self._call.source.make_request()
        if request is not None:
            request.user = self.user
        return request

    def build_absolute_uri(self, location: str) -> str:
        """A path of the site with its address in front: that of ``PUBLIC_URL``, or else of the request.

        Where neither is known, as on stdio, the path comes back as it is.
        """
        if not location.startswith("/") or location.startswith("//"):
            return location
        return f"{self._call.source.find_origin() or ''}{location}"

    @property
    def uri(self) -> str | None:
        """What the client reads, in ``resources/read``: inside a template's function the whole URI."""
        return self._call.params["uri"] if self._call.request.method == "resources/read" else None

    @property
    def path_params(self) -> Mapping[str, Any]:
        """What the URL pattern of the endpoint captured."""
        return self._call.source.path_params

    @property
    def meta(self) -> Mapping[str, Any]:
        """``params._meta`` of the request, untouched."""
        return self._call.envelope.meta

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """What the client says it is. Self-reported: for display and logs only (META-05)."""
        return self._call.envelope.client_info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared, by capability (META-07)."""
        return self._call.envelope.client_capabilities

    @property
    def protocol_version(self) -> Revision:
        """The revision that the call is served under; it compares equal to its date as a text."""
        return self._call.revision

    @property
    def method(self) -> str:
        """The method that was asked for, such as ``tools/call``."""
        return self._call.request.method

    @property
    def params(self) -> Mapping[str, Any]:
        """``params`` of the request as they came, before any check."""
        return self._call.params

    @cached_property
    def trace(self) -> TraceContext:
        """The trace that the client's request is a part of (TRC-01)."""
        return read_trace(self.meta)

    @property
    def request_id(self) -> str | int | None:
        """The ``id`` of the request, ``None`` for a notification. Another client may use the same one."""
        request = self._call.request
        return request.id if isinstance(request, Request) else None

    @property
    def server(self) -> Any:
        """The ``MCPServer`` that serves the call."""
        return self._call.server

    def require_capability(self, required: dict[str, Any]) -> None:
        """Stop unless the client declared ``required``, for instance ``{"sampling": {}}`` (META-08).

        Raises the error the client's era knows: -32021 for modern clients, a tool error for legacy ones.
        """
        lacking = missing(dict(self.client_capabilities), required)
        if not lacking:
            return
        if self._call.revision.has_capability_error:
            raise missing_capability(lacking)
        raise ToolError(f"This needs a client with the capability {', '.join(lacking)}.")

    def notify_resource_updated(self, uri: str) -> None:
        """Tell the subscribers of this server that the resource behind ``uri`` changed, if the call succeeds."""
        self._publisher.notify_resource_updated(uri, server=self.server)

    def notify_tools_changed(self) -> None:
        """Tell the clients of this server that its list of tools changed, if the call succeeds."""
        self._publisher.notify_tools_changed(server=self.server)

    def notify_prompts_changed(self) -> None:
        """Tell the clients of this server that its list of prompts changed, if the call succeeds."""
        self._publisher.notify_prompts_changed(server=self.server)

    def notify_resources_changed(self) -> None:
        """Tell the clients of this server that its list of resources changed, if the call succeeds."""
        self._publisher.notify_resources_changed(server=self.server)

    async def anotify_resource_updated(self, uri: str) -> None:
        """``notify_resource_updated`` for async functions."""
        await self._publisher.anotify_resource_updated(uri, server=self.server)

    async def anotify_tools_changed(self) -> None:
        """``notify_tools_changed`` for async functions."""
        await self._publisher.anotify_tools_changed(server=self.server)

    async def anotify_prompts_changed(self) -> None:
        """``notify_prompts_changed`` for async functions."""
        await self._publisher.anotify_prompts_changed(server=self.server)

    async def anotify_resources_changed(self) -> None:
        """``notify_resources_changed`` for async functions."""
        await self._publisher.anotify_resources_changed(server=self.server)

    def close_standalone_sse_stream(self) -> None:
        """Let the client hang up the GET streams of its session and come back after two seconds, if the call succeeds.

        It gets what happens meanwhile when it does. Does nothing where there is no such stream, or the client could
        not come back to it: before 2025-11-25, in the modern era and over stdio (LH-09, LH-21, SEP-1699).
        """
        if (session := self._resumable_session) is not None:
            self._publisher.close_streams(session.pk)

    async def aclose_standalone_sse_stream(self) -> None:
        """``close_standalone_sse_stream`` for async functions."""
        if (session := self._resumable_session) is not None:
            await self._publisher.aclose_streams(session.pk)

    @property
    def _resumable_session(self) -> SessionState | None:
        session = self._call.session
        return session if session is not None and session.revision.has_priming else None

    @property
    def _publisher(self) -> Any:
        return self._call.server.services.publisher

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # A mapping without values is false, which surprises in ``if context``.
    def __bool__(self) -> bool:
        return True

    # Mapping compares by content and drops hashing; a call is only ever itself.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Context {self._call.request.method} id={self.request_id!r} user={self.user!s}>"
