"""``MCPClient`` and ``AsyncMCPClient``: the fourth door, next to consumer, view and stdio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypedDict, TypeVar, Unpack

from asgiref.sync import async_to_sync, sync_to_async

from django_mcp.protocol.versions import ALL, LATEST, Revision
from django_mcp.server.call import Caller, Source
from django_mcp.servers import MCPServer, get_server
from django_mcp.testing.commits import mark_commit_hooks, run_commit_hooks
from django_mcp.testing.replies import (
    CompletionReply,
    PromptReply,
    Reply,
    ResourceReply,
    ToolReply,
    WireObject,
    wire_value,
)
from django_mcp.transports.in_process import Answer, Conversation
from django_mcp.transports.security import url_origin
from django_mcp.transports.stdio_identity import Anonymous, NamedUser

T = TypeVar("T")


class _Identity:
    """A user whose row is read for each request, as Django's test client does, and the language to answer in."""

    def __init__(self, user: Any, language: str | None) -> None:
        is_known = getattr(user, "is_authenticated", False)
        self._identity = NamedUser(user, max_age=0) if is_known else Anonymous()
        self._language = language
        self.principal = self._identity.principal

    async def caller(self) -> Caller:
        return replace(await self._identity.caller(), language=self._language)


class AsyncMCPClient:
    """A client in this process. Every message is written as JSON and read from JSON, as over the wire.

    ``server`` is an ``MCPServer`` or its name, ``revision`` the protocol revision to speak,
    ``capabilities`` what the client declares, ``path_params`` what the URL pattern of the endpoint would
    capture. ``answer`` replies to what tools ask: it is given the request, a dict with ``method`` and ``params``,
    and returns the result; without it the results of modern calls show what was asked. Inside a ``TestCase`` the
    ``on_commit()`` hooks of a call run at its end.
    """

    def __init__(
        self,
        user: Any = None,
        *,
        server: MCPServer | str = "default",
        revision: str = LATEST,
        capabilities: Mapping[str, Any] | None = None,
        client_info: Mapping[str, Any] | None = None,
        language: str | None = None,
        path_params: Mapping[str, Any] | None = None,
        answer: Answer | None = None,
    ) -> None:
        self.server = get_server(server) if isinstance(server, str) else server
        self.revision = _read_revision(revision)
        self.notifications: list[WireObject] = []
        self._capabilities = capabilities
        self._client_info = client_info
        self._language = language
        self._answer = answer
        self._source = Source(path_params=dict(path_params or {}), find_origin=self._origin)
        self.login(user)

    def _origin(self) -> str:
        """That of Django's test client, unless the site has a ``PUBLIC_URL``."""
        return url_origin(self.server.settings.public_url or "http://testserver")

    def login(self, user: Any) -> None:
        """Be this user from now on; ``None`` is nobody. A legacy client begins a new session.

        Raises ``TypeError`` for what is no user, which would be nobody by accident.
        """
        if user is not None and not hasattr(user, "is_authenticated"):
            raise TypeError(
                f"The client was given {user!r} as its user. It takes a user object, or None for nobody: "
                'write MCPClient(User.objects.get(username="alice")).'
            )
        self.user = user
        self._conversation = Conversation(
            self.server,
            _Identity(user, self._language),
            revision=self.revision,
            client_info=self._client_info,
            capabilities=self._capabilities,
            source=self._source,
            receive=lambda message: self.notifications.append(wire_value(message)),
            answer=self._answer,
        )

    force_login = login  # the name Django's client has for a login without a password

    def logout(self) -> None:
        """Be nobody."""
        self.login(None)

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Reply:
        """The result of any method; raises ``MCPError``."""
        return await self._reply(Reply, method, params or {})

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification. When this returns, its handler has run."""
        await _committed(self._conversation.notify(method, params))

    async def list_tools(self) -> list[WireObject]:
        """The definitions of all pages."""
        return await self._list("tools/list", "tools")

    async def list_prompts(self) -> list[WireObject]:
        return await self._list("prompts/list", "prompts")

    async def list_resources(self) -> list[WireObject]:
        return await self._list("resources/list", "resources")

    async def list_resource_templates(self) -> list[WireObject]:
        return await self._list("resources/templates/list", "resourceTemplates")

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolReply:
        """The result, which may say that the tool failed: ``is_error``. An unknown tool is an ``MCPError``."""
        return await self._reply(ToolReply, "tools/call", {"name": name, "arguments": arguments or {}})

    async def read_resource(self, uri: str) -> ResourceReply:
        return await self._reply(ResourceReply, "resources/read", {"uri": uri})

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> PromptReply:
        return await self._reply(PromptReply, "prompts/get", {"name": name, "arguments": arguments or {}})

    async def complete(
        self,
        argument: str,
        value: str = "",
        *,
        prompt: str | None = None,
        resource: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> CompletionReply:
        """Suggestions for an argument of a ``prompt``, or for a variable of a ``resource`` template."""
        if (prompt is None) == (resource is None):
            raise ValueError('Say what the argument belongs to: prompt="name" or resource="ticket://{pk}".')
        ref = {"type": "ref/prompt", "name": prompt} if prompt else {"type": "ref/resource", "uri": resource}
        params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context is not None:
            params["context"] = {"arguments": context}
        result = await self.request("completion/complete", params)
        return CompletionReply(result["completion"])

    async def _reply(self, kind: type[T], method: str, params: Mapping[str, Any]) -> T:
        result = await _committed(self._conversation.request(method, params))
        reply: T = kind.of(result, method, params, self.revision)  # type: ignore[attr-defined]
        return reply

    async def _list(self, method: str, member: str) -> list[WireObject]:
        items: list[WireObject] = []
        params: dict[str, Any] = {}
        while True:
            page = await self.request(method, params)
            items += page[member]
            if "nextCursor" not in page:
                return items
            params = {"cursor": page["nextCursor"]}


class ClientOptions(TypedDict, total=False):
    server: MCPServer | str
    revision: str
    capabilities: Mapping[str, Any] | None
    client_info: Mapping[str, Any] | None
    language: str | None
    path_params: Mapping[str, Any] | None
    answer: Answer | None


class MCPClient:
    """``AsyncMCPClient`` for synchronous tests: the same options and methods, without ``await``."""

    def __init__(self, user: Any = None, **options: Unpack[ClientOptions]) -> None:
        self._client = AsyncMCPClient(user, **options)

    @property
    def server(self) -> MCPServer:
        return self._client.server

    @property
    def revision(self) -> Revision:
        return self._client.revision

    @property
    def user(self) -> Any:
        return self._client.user

    @property
    def notifications(self) -> list[WireObject]:
        """Everything that the server has sent besides answers."""
        return self._client.notifications

    def login(self, user: Any) -> None:
        self._client.login(user)

    force_login = login

    def logout(self) -> None:
        self._client.logout()

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Reply:
        return _wait(self._client.request, method, params)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        _wait(self._client.notify, method, params)

    def list_tools(self) -> list[WireObject]:
        return _wait(self._client.list_tools)

    def list_prompts(self) -> list[WireObject]:
        return _wait(self._client.list_prompts)

    def list_resources(self) -> list[WireObject]:
        return _wait(self._client.list_resources)

    def list_resource_templates(self) -> list[WireObject]:
        return _wait(self._client.list_resource_templates)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolReply:
        return _wait(self._client.call_tool, name, arguments)

    def read_resource(self, uri: str) -> ResourceReply:
        return _wait(self._client.read_resource, uri)

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> PromptReply:
        return _wait(self._client.get_prompt, name, arguments)

    def complete(
        self,
        argument: str,
        value: str = "",
        *,
        prompt: str | None = None,
        resource: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> CompletionReply:
        return _wait(self._client.complete, argument, value, prompt=prompt, resource=resource, context=context)


async def _committed(steps: Awaitable[T]) -> T:
    """What ``steps`` gives, once the ``on_commit()`` hooks that it registered have run."""
    marks = await sync_to_async(mark_commit_hooks)()
    result = await steps
    await sync_to_async(run_commit_hooks)(marks)
    return result


def _wait(method: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
    return async_to_sync(method)(*args, **kwargs)


def _read_revision(revision: str) -> Revision:
    found = Revision.find(revision)
    if found is None:
        raise ValueError(f"There is no revision {revision!r}. Use one of: {', '.join(ALL)}.")
    return found
