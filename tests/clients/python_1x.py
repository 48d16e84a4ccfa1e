"""Takes the steps of steps.json with a Python SDK 1.x and prints what came back, as one JSON object.

PYTHON python_1x.py SITE STEPS: runs under the interpreter of an environment that has such an SDK, and imports
nothing of ours. SITE is a URL or, as JSON, the process to talk to over stdio.
"""

# mypy: ignore-errors

import asyncio
import json
import sys
from pathlib import Path

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import PromptReference, ResourceReference

SITE, STEPS = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())


def connecting():
    if SITE.startswith("{"):
        return stdio_client(StdioServerParameters(**json.loads(SITE)))
    return streamablehttp_client(SITE)


async def report(client):
    begun = await client.initialize()
    return {
        "revision": begun.protocolVersion,
        "listed": {
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "resources": [str(resource.uri) for resource in (await client.list_resources()).resources],
            "templates": [each.uriTemplate for each in (await client.list_resource_templates()).resourceTemplates],
            "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
        },
        "calls": [await called(client, step) for step in STEPS["calls"]],
        "reads": [dumped((await client.read_resource(step["uri"])).contents) for step in STEPS["reads"]],
        "prompts": [
            dumped((await client.get_prompt(step["name"], step["arguments"])).messages) for step in STEPS["prompts"]
        ],
        "completions": [
            (await client.complete(reference(step["ref"]), step["argument"])).completion.values
            for step in STEPS["completions"]
        ],
        "errors": {
            "tool": await code(client.call_tool("no_such_tool", {})),
            "resource": await code(client.read_resource("test://no-such-resource")),
            "prompt": await code(client.get_prompt("no_such_prompt", {})),
        },
    }


async def called(client, step):
    result = await client.call_tool(step["name"], step["arguments"])
    return {"content": dumped(result.content), "isError": result.isError}


def dumped(values):
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in values]


def reference(ref):
    return (PromptReference if ref["type"] == "ref/prompt" else ResourceReference)(**ref)


async def code(request):
    try:
        await request
    except McpError as error:
        return error.error.code
    return None


async def main():
    async with connecting() as streams, ClientSession(*streams[:2]) as client:
        print(json.dumps(await report(client)))


asyncio.run(main())
