"""``MCPTestCase`` and ``AsyncMCPTestCase``, and their assertions as mixins for other test classes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.test import TestCase

from django_mcp.protocol.errors import INVALID_PARAMS
from django_mcp.protocol.versions import LATEST
from django_mcp.servers import MCPServer
from django_mcp.testing.clients import AsyncMCPClient, MCPClient
from django_mcp.testing.replies import Reply, ToolReply
from django_mcp.testing.shapes import faults, result_faults
from django_mcp.testing.snapshots import compare, read_catalogue
from django_mcp.transports.in_process import MCPError


class _Assertions:
    """What both kinds have. ``mcp_server`` and ``mcp_revision`` are those of the client."""

    mcp_server: MCPServer | str = "default"
    mcp_revision: str = LATEST

    def _client_of(self, client: AsyncMCPClient, user: Any) -> AsyncMCPClient:
        """The test's own client, or one that is ``user``."""
        if user is None:
            return client
        return AsyncMCPClient(user, server=client.server, revision=client.revision)

    def _snapshot(self, name: str | None) -> Path:
        test = Path(inspect.getfile(type(self)))
        return test.with_name(f"{test.stem}.{name or type(self).__name__}.json")


class AsyncMCPAssertions(_Assertions):
    """The assertions as coroutines, and ``mcp_client``, an ``AsyncMCPClient``."""

    @cached_property
    def mcp_client(self) -> AsyncMCPClient:
        return AsyncMCPClient(server=self.mcp_server, revision=self.mcp_revision)

    async def assertToolVisible(self, name: str, *, user: Any = None) -> None:
        """The tool is listed for ``user``, or for whoever ``mcp_client`` is."""
        await _assert_visible(self._client_of(self.mcp_client, user), name)

    async def assertToolHidden(self, name: str, *, user: Any = None) -> None:
        """The tool exists, but is neither listed nor known when it is called."""
        await _assert_hidden(self._client_of(self.mcp_client, user), name)

    async def assertToolError(
        self, name: str, arguments: Mapping[str, Any] | None = None, text: str = "", *, user: Any = None
    ) -> ToolReply:
        """The call fails in a way the model can read, and ``text`` is a part of what it reads."""
        return await _assert_error(self._client_of(self.mcp_client, user), name, arguments, text)

    async def assertConforms(self, reply: Reply) -> None:
        """A result has the shape of the protocol, and that of a tool fits its published ``outputSchema``."""
        await _assert_conforms(self.mcp_client, reply)

    async def assertCatalogueUnchanged(self, name: str | None = None, *, user: Any = None) -> None:
        """What ``user`` sees is what the snapshot next to the test says."""
        await _assert_unchanged(self._client_of(self.mcp_client, user), self._snapshot(name))


class MCPAssertions(_Assertions):
    """The assertions, and ``mcp_client``, an ``MCPClient`` that is nobody until ``login()``."""

    @cached_property
    def mcp_client(self) -> MCPClient:
        return MCPClient(server=self.mcp_server, revision=self.mcp_revision)

    def assertToolVisible(self, name: str, *, user: Any = None) -> None:
        """The tool is listed for ``user``, or for whoever ``mcp_client`` is."""
        async_to_sync(_assert_visible)(self._client_of(self.mcp_client._client, user), name)

    def assertToolHidden(self, name: str, *, user: Any = None) -> None:
        """The tool exists, but is neither listed nor known when it is called."""
        async_to_sync(_assert_hidden)(self._client_of(self.mcp_client._client, user), name)

    def assertToolError(
        self, name: str, arguments: Mapping[str, Any] | None = None, text: str = "", *, user: Any = None
    ) -> ToolReply:
        """The call fails in a way the model can read, and ``text`` is a part of what it reads."""
        client = self._client_of(self.mcp_client._client, user)
        return async_to_sync(_assert_error)(client, name, arguments, text)

    def assertConforms(self, reply: Reply) -> None:
        """A result has the shape of the protocol, and that of a tool fits its published ``outputSchema``."""
        async_to_sync(_assert_conforms)(self.mcp_client._client, reply)

    def assertCatalogueUnchanged(self, name: str | None = None, *, user: Any = None) -> None:
        """What ``user`` sees is what the snapshot next to the test says."""
        async_to_sync(_assert_unchanged)(self._client_of(self.mcp_client._client, user), self._snapshot(name))


class MCPTestCase(MCPAssertions, TestCase):
    """Django's ``TestCase`` with ``self.mcp_client`` and assertions about tools."""


class AsyncMCPTestCase(AsyncMCPAssertions, TestCase):
    """The same for ``async def`` tests: ``await self.assertToolVisible("add")``."""


async def _visible(client: AsyncMCPClient) -> list[str]:
    try:
        return [tool["name"] for tool in await client.list_tools()]
    except MCPError:  # a server without tools does not know the method
        return []


async def _assert_visible(client: AsyncMCPClient, name: str) -> None:
    visible = await _visible(client)
    if name not in visible:
        raise AssertionError(f"{_named(client)} does not see the tool {name!r}, but: {', '.join(visible) or 'none'}.")


async def _assert_hidden(client: AsyncMCPClient, name: str) -> None:
    registered = client.server.registry.tools
    if name not in registered:
        raise AssertionError(f"There is no tool {name!r} to be hidden. Registered: {', '.join(registered) or 'none'}.")
    if name in await _visible(client):
        raise AssertionError(f"{_named(client)} sees the tool {name!r}.")
    try:
        await client.call_tool(name)
    except MCPError as error:
        if error.code == INVALID_PARAMS and error.message == f"Unknown tool: {name}":
            return
        raise
    raise AssertionError(f"{_named(client)} does not see the tool {name!r}, but can call it.")


async def _assert_error(client: AsyncMCPClient, name: str, arguments: Mapping[str, Any] | None, text: str) -> ToolReply:
    reply = await client.call_tool(name, arguments)
    if not reply.is_error:
        raise AssertionError(f"The tool {name!r} did not fail. It answered: {reply.text}")
    if text not in reply.text:
        raise AssertionError(f"The error of {name!r} does not say {text!r}, but: {reply.text}")
    return reply


async def _assert_conforms(client: AsyncMCPClient, reply: Reply) -> None:
    if not isinstance(reply, Reply):
        raise TypeError(f"assertConforms() takes what a method of the client returned, not {type(reply).__name__}.")
    found = list(result_faults(reply))
    if reply.request_method == "tools/call" and not reply.get("isError"):
        found += await _output_faults(client, reply)
    if found:
        raise AssertionError(f"The result of {reply.request_method} does not conform:\n" + "\n".join(found))


async def _output_faults(client: AsyncMCPClient, reply: Reply) -> list[str]:
    name = reply.request_params["name"]
    schemas = [tool.get("outputSchema") for tool in await client.list_tools() if tool["name"] == name]
    if not schemas:
        return [f"{_named(client)} does not see the tool {name!r}, so its schema is not known."]
    if schemas[0] is None:
        return []
    if "structuredContent" not in reply:
        return ["$: structuredContent is missing, although the tool publishes an outputSchema."]
    return [f"structuredContent {fault}" for fault in faults(reply["structuredContent"], schemas[0])]


async def _assert_unchanged(client: AsyncMCPClient, path: Path) -> None:
    difference = compare(path, await read_catalogue(client))
    if difference is not None:
        raise AssertionError(difference)


def _named(client: AsyncMCPClient) -> str:
    return "Nobody (not logged in)" if client.user is None else str(client.user)
