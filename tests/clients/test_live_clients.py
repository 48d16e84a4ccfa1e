"""Real clients hear of what they subscribed to, and of nothing afterwards: both eras, over HTTP and stdio."""

import asyncio
from dataclasses import asdict
from typing import Any

import mcp_types as wire
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged

from tests.conformance.publisher import URI

from . import drivers

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

LIMIT = 120
MODERN = "2026-07-28"
UPDATE_AND_TOOLS = [["resources/updated", URI], ["tools/list_changed", None]]


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("package", ["sdk", "client"])
def test_a_typescript_client_hears_until_it_unsubscribes(site, package):
    """SUB-07, RES-09, TOOL-28, BL-025"""
    report = drivers.typescript_listener(package, site, "legacy", URI)
    assert report == {"subscribed": UPDATE_AND_TOOLS, "after": [["tools/list_changed", None]]}


@pytest.mark.usefixtures("node")
def test_a_typescript_client_hears_until_it_closes_its_subscription(site):
    """SUB-02, SUB-04, SUB-07"""
    report = drivers.typescript_listener("client", site, MODERN, URI)
    honoured = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
    assert report == {"honoured": honoured, "subscribed": UPDATE_AND_TOOLS, "after": [["prompts/list_changed", None]]}


def connecting(site, **options):
    server = site if isinstance(site, str) else StdioServerParameters(**asdict(site))
    return Client(server, **options)


async def trigger(client, change):
    await client.call_tool(f"test_trigger_{change}", {})


def test_a_python_client_hears_until_it_unsubscribes(site):
    """SUB-07, RES-09, TOOL-28, BL-025"""

    async def steps():
        heard: asyncio.Queue[Any] = asyncio.Queue()

        async def take(message: Any) -> None:
            if isinstance(message, wire.ResourceUpdatedNotification):
                heard.put_nowait(str(message.params.uri))
            elif isinstance(message, wire.PromptListChangedNotification | wire.ToolListChangedNotification):
                heard.put_nowait(message.method.split("/")[1])

        async def following() -> list[str]:
            """What is heard up to the tools; the prompts only tell that the stream is open."""
            found: list[str] = []
            while "tools" not in found:
                found.append(await heard.get())
            return [one for one in found if one != "prompts"]

        async with asyncio.timeout(LIMIT), connecting(site, mode="legacy", message_handler=take) as client:
            await client.subscribe_resource(URI)
            while heard.empty():  # the client opens its stream beside everything else
                await trigger(client, "prompt_change")
                await asyncio.sleep(0.2)
            await trigger(client, "resource_update")
            await trigger(client, "tool_change")
            assert await following() == [URI, "tools"]
            await client.unsubscribe_resource(URI)
            await trigger(client, "resource_update")
            await trigger(client, "tool_change")
            assert await following() == ["tools"]

    asyncio.run(steps())


def test_a_python_client_hears_until_it_closes_its_subscription(site):
    """SUB-02, SUB-04, SUB-07"""

    async def steps():
        async with asyncio.timeout(LIMIT), connecting(site, mode=MODERN) as client:
            wanted = client.listen(tools_list_changed=True, resource_subscriptions=[URI, "no://such"])
            async with wanted as subscription:
                assert subscription.honored.resource_subscriptions == [URI]
                assert subscription.honored.prompts_list_changed is None
                for change in ("prompt_change", "resource_update", "tool_change"):
                    await trigger(client, change)
                heard = [await anext(subscription), await anext(subscription)]
                assert heard == [ResourceUpdated(uri=URI), ToolsListChanged()]
            await trigger(client, "tool_change")
            async with client.listen(prompts_list_changed=True) as other:
                await trigger(client, "prompt_change")
                assert await anext(other) == PromptsListChanged()

    asyncio.run(steps())
