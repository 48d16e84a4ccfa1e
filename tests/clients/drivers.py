"""One driver a client: it takes the steps of steps.json and reports what came back in wire form.

A report has the keys revision, listed, calls, reads, prompts, completions and errors; comparing it is the tests' job.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fastmcp
import mcp_types as wire
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from .node import installed_node
from .venvs import installed_python

HERE = Path(__file__).parent
STEPS_FILE = HERE / "steps.json"
STEPS = json.loads(STEPS_FILE.read_text())
TALKING_FILE = HERE / "talking.json"
TALKING = json.loads(TALKING_FILE.read_text())
LIMIT = 120

Report = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """A site that a client starts itself and talks to over stdio."""

    command: str
    args: list[str]
    env: dict[str, str]
    cwd: str


# A URL, or a process
Site = str | Command


def new_python_sdk(site: Site, mode: str, **options: Any) -> Client:
    server = site if isinstance(site, str) else StdioServerParameters(**asdict(site))
    return Client(server, mode=mode, **options)


def new_fastmcp(site: Site, mode: str, **options: Any) -> fastmcp.Client[Any]:
    transport: Any = site if isinstance(site, str) else StdioTransport(**asdict(site), keep_alive=False)
    return fastmcp.Client(transport, mode=mode, **options)


def python_sdk(site: Site, mode: str) -> Report:
    return asyncio.run(_drive(new_python_sdk(site, mode)))


def fastmcp_client(site: Site, mode: str) -> Report:
    return asyncio.run(_drive(new_fastmcp(site, mode), raise_on_error=False))


def typescript(package: str, site: Site, mode: str) -> Report:
    return _typescript("typescript.mjs", package, mode, _as_argument(site), str(STEPS_FILE))


def typescript_listener(package: str, site: Site, mode: str, uri: str) -> Report:
    """What it hears with the keys honoured (modern only), subscribed and after: pairs of a method and a URI."""
    return _typescript("live.mjs", package, mode, _as_argument(site), uri)


def typescript_talker(package: str, site: Site, mode: str, other: Site) -> Report:
    """What it heard and was answered: texts, logged, reported, gaveUp and cancelled."""
    return _typescript("talking.mjs", package, mode, _as_argument(site), _as_argument(other), str(TALKING_FILE))


def _typescript(name: str, *arguments: str) -> Report:
    node = installed_node()
    # Beside node_modules, where its imports are looked up; put there in one step, as others may be reading it.
    for each in ("connecting.mjs", name):
        with tempfile.NamedTemporaryFile(dir=node.folder, suffix=".mjs", delete=False) as copy:
            copy.write((HERE / each).read_bytes())
        os.replace(copy.name, node.folder / each)
    return _report(node.command(node.folder / name, *arguments))


def old_python_sdk(version: str, site: Site) -> Report:
    return _report([str(installed_python(version)), str(HERE / "python_1x.py"), _as_argument(site), str(STEPS_FILE)])


def _report(command: list[str]) -> Report:
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert run.returncode == 0, run.stderr
    report: Report = json.loads(run.stdout)
    return report


def _as_argument(site: Site) -> str:
    return site if isinstance(site, str) else json.dumps(asdict(site))


async def _drive(connecting: Any, **call_options: Any) -> Report:
    """Both Python clients have the same methods; FastMCP's answer with the part that matters, the SDK's with all."""
    async with asyncio.timeout(LIMIT), connecting as client:
        templates = _part(await client.list_resource_templates(), "resource_templates")
        listed = {
            "tools": [each.name for each in _part(await client.list_tools(), "tools")],
            "resources": [str(each.uri) for each in _part(await client.list_resources(), "resources")],
            "templates": [each.uri_template for each in templates],
            "prompts": [each.name for each in _part(await client.list_prompts(), "prompts")],
        }
        calls = [await client.call_tool(each["name"], each["arguments"], **call_options) for each in STEPS["calls"]]
        reads = [await client.read_resource(each["uri"]) for each in STEPS["reads"]]
        prompts = [await client.get_prompt(each["name"], each["arguments"]) for each in STEPS["prompts"]]
        completions = [
            await client.complete(_reference(each["ref"]), each["argument"]) for each in STEPS["completions"]
        ]
        return {
            "revision": client.protocol_version,
            "listed": listed,
            "calls": [{"content": _dumped(each.content), "isError": bool(each.is_error)} for each in calls],
            "reads": [_dumped(_part(each, "contents")) for each in reads],
            "prompts": [_dumped(each.messages) for each in prompts],
            "completions": [_part(each, "completion").values for each in completions],
            "errors": {
                "tool": await _code(client.call_tool("no_such_tool", {})),
                "resource": await _code(client.read_resource("test://no-such-resource")),
                "prompt": await _code(client.get_prompt("no_such_prompt", {})),
            },
        }


def _part(result: Any, name: str) -> Any:
    return getattr(result, name, result)


def _reference(ref: dict[str, str]) -> wire.PromptReference | wire.ResourceTemplateReference:
    if ref["type"] == "ref/prompt":
        return wire.PromptReference(name=ref["name"])
    return wire.ResourceTemplateReference(uri=ref["uri"])


def _dumped(values: list[BaseModel]) -> list[Any]:
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in values]


async def _code(request: Awaitable[Any]) -> int | None:
    try:
        await request
    except MCPError as error:
        return error.code
    return None
