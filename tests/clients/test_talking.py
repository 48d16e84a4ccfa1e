"""Real clients hear what tools tell them, answer what they ask and cancel calls: both eras, over HTTP and stdio."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import mcp_types as wire
import pytest
from fastmcp.client.elicitation import ElicitResult as FastMCPAnswer

from . import drivers
from .contract import MODES
from .drivers import TALKING, Report, Site
from .mcpdo import Mcpdo

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

LIMIT = 120
ANSWERS = TALKING["answers"]


def bugs(site: Site) -> Site:
    """The other server of the same site, which has a tool that takes long and one that tells how it ended."""
    if isinstance(site, str):
        return site.replace("/mcp", "/bugs")
    return replace(site, args=[*site.args, "--server", "bugs"])


def filled(properties: dict[str, Any]) -> Any:
    return {name: ANSWERS[name] for name in properties}


def sdk_options(seen: Report, mode: str) -> dict[str, Any]:
    async def elicited(context: Any, params: Any) -> wire.ElicitResult:
        return wire.ElicitResult(action="accept", content=filled(params.requested_schema["properties"]))

    async def sampled(context: Any, params: Any) -> wire.CreateMessageResult:
        text = wire.TextContent(type="text", text=TALKING["sampled"])
        return wire.CreateMessageResult(role="assistant", content=text, model="m", stop_reason="endTurn")

    async def rooted(context: Any) -> wire.ListRootsResult:
        return wire.ListRootsResult(roots=[wire.Root(**TALKING["root"])])

    async def log(params: Any) -> None:
        seen["logged"].append(params.data)

    return {
        "elicitation_callback": elicited,
        "sampling_callback": sampled,
        "list_roots_callback": rooted,
        "logging_callback": log,
        "log_level": None if mode == "legacy" else "info",
    }


def fastmcp_options(seen: Report, mode: str) -> dict[str, Any]:
    async def elicited(message: str, response_type: Any, params: Any, context: Any) -> FastMCPAnswer:
        return FastMCPAnswer(action="accept", content=filled(params.requested_schema["properties"]))

    async def sampled(messages: Any, params: Any, context: Any) -> str:
        text: str = TALKING["sampled"]
        return text

    async def log(message: Any) -> None:
        seen["logged"].append(message.data)

    return {
        "elicitation_handler": elicited,
        "sampling_handler": sampled,
        "roots": [wire.Root(**TALKING["root"])],
        "log_handler": log,
    }


async def python_talker(new: Any, options: Any, progress: str, site: Site, mode: str) -> Report:
    """What drivers.typescript_talker reports."""
    seen: Report = {"texts": [], "logged": [], "reported": []}

    async def advance(progress: float, total: float | None, message: str | None) -> None:
        seen["reported"].append(progress)

    async with asyncio.timeout(LIMIT), new(site, mode, **options(seen, mode)) as client:
        for step in TALKING["calls"]:
            result = await client.call_tool(step["name"], step["arguments"])
            seen["texts"].append(result.content[0].text)
        await client.call_tool("test_tool_with_progress", {}, **{progress: advance})
    async with asyncio.timeout(LIMIT), new(bugs(site), mode) as client:

        async def until_it_is(wanted: str) -> str:
            found = ""
            with suppress(TimeoutError):
                async with asyncio.timeout(LIMIT / 2):
                    while found != wanted:
                        found = (await client.call_tool("outcome", {"label": mode})).content[0].text
            return found

        call = asyncio.create_task(client.call_tool("aslow", {"label": mode, "seconds": LIMIT}))
        await until_it_is("running")
        call.cancel()
        await asyncio.wait({call})
        seen["gaveUp"] = call.cancelled()
        seen["cancelled"] = await until_it_is("cancelled")
    return seen


def check(report: Report, **known: Any) -> None:
    assert report == {
        "texts": [step["expected"] for step in TALKING["calls"]],
        "logged": TALKING["logged"],
        "reported": TALKING["reported"],
        "gaveUp": True,
        "cancelled": "cancelled",
        **known,
    }


PYTHON = [
    pytest.param(drivers.new_python_sdk, sdk_options, "progress_callback", id="sdk"),
    pytest.param(drivers.new_fastmcp, fastmcp_options, "progress_handler", id="fastmcp"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("new", "options", "progress"), PYTHON)
def test_a_python_client_talks_with_tools(site, new, options, progress, mode):
    """LOG, PRG, CAN, ELI, SMP, RTS and MRTR rows, S02, S11, S147, S175."""
    check(asyncio.run(python_talker(new, options, progress, site, mode)))


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("package", "mode"), [("sdk", "legacy"), *(("client", mode) for mode in MODES)])
def test_a_typescript_client_talks_with_tools(site, package, mode):
    check(drivers.typescript_talker(package, site, mode, bugs(site)))


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("site", ["consumer", "stdio"], indirect=True)  # each of its commands is a process
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_mcpdo_talks_with_tools(site, era, tmp_path):
    """It has no command that cancels, shows no progress, and has no model to ask."""
    mcpdo = Mcpdo(tmp_path)
    try:
        assert mcpdo.connect(site, era) == era
        mcpdo.set_roots(TALKING["root"])
        for step in TALKING["calls"]:
            if TALKING["sampled"] not in step["expected"]:
                assert mcpdo.call(step["name"], step["arguments"]) == step["expected"]
        heard = mcpdo.logged_by("test_tool_with_logging", "test_logging_tool", TALKING["logged"][-1])
        assert heard == TALKING["logged"]
    finally:
        mcpdo.stop()
