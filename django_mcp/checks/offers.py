"""What the servers offer: nothing at all, tools under names that clients refuse, prompts without their template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.template.loader import get_template

from django_mcp.checks.mounts import site_mounts
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.servers import MCPServer, all_servers, default_server

# BL-033: the spec allows dots and 128 characters.
_ACCEPTED_EVERYWHERE = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_NAME = 64


def is_empty(server: MCPServer) -> bool:
    return not (server.has_tools or server.has_prompts or server.has_resources)


def check_offers(**_kwargs: Any) -> list[CheckMessage]:
    """W007, for each server that is mounted; without a mount, for all of them together (BL-034)."""
    # Reading the URLconf first imports what registers things on the way.
    mounted = {mount.server.name: mount.server for mount in site_mounts()}
    if mounted:
        empty = [server for server in mounted.values() if is_empty(server)]
    else:
        empty = [default_server] if all(map(is_empty, all_servers())) else []
    return [
        Warning(
            f"The server {server.name!r} offers nothing: no tool, prompt or resource is registered.",
            hint=(
                f"Write {_decorator(server)} above a function in the mcp.py of an installed app. SimpleMCPConfig "
                "imports no mcp.py: then import yours in the ready() of your AppConfig."
            ),
            obj=server,
            id="django_mcp.W007",
        )
        for server in empty
    ]


def _decorator(server: MCPServer) -> str:
    if server is default_server:
        return "@django_mcp.tool"
    return f'@django_mcp.get_server("{server.name}").tool'


def check_tool_names(**_kwargs: Any) -> list[CheckMessage]:
    """W011 (BL-033): one such name makes some clients refuse the whole list."""
    return [
        Warning(
            f"The tool {name!r} ({tool.origin}) has a name that large clients refuse, and the whole list with it: "
            f"they take {LONGEST_NAME} letters, digits, underscores and hyphens.",
            hint=f'Write @tool(name="{_accepted(name)}").',
            obj=server,
            id="django_mcp.W011",
        )
        for server in all_servers()
        for name, tool in server.registry.tools.items()
        if not _ACCEPTED_EVERYWHERE.fullmatch(name)
    ]


def check_prompt_templates(**_kwargs: Any) -> list[CheckMessage]:
    """E005: a template that cannot be found or read would fail each call."""
    return [
        Error(
            f"The prompt {name!r} ({prompt.origin}) has the template {prompt.template_name!r}, which cannot be "
            f"loaded: {fault}.",
            hint="Put the file into the templates folder of an installed app, or correct template_name.",
            obj=server,
            id="django_mcp.E005",
        )
        for server in all_servers()
        for name, prompt in server.registry.prompts.items()
        if prompt.template_name is not None and (fault := _template_fault(prompt.template_name)) is not None
    ]


def check_pages(**_kwargs: Any) -> list[CheckMessage]:
    """E006 (APP-03): a client would show an error in place of the page."""
    return [
        Error(
            f"The tool {name!r} ({tool.origin}) has the page {uri!r}, which is no resource of {server.name!r}.",
            hint=f'Write @ui.resource("{uri}") above the function that returns the page.',
            obj=server,
            id="django_mcp.E006",
        )
        for server in all_servers()
        for name, tool in server.registry.tools.items()
        if (uri := _page_of(tool)) is not None and server.registry.find_resource(uri) is None
    ]


def _page_of(tool: ToolDefinition) -> str | None:
    link = tool.meta.get("ui")
    uri = link.get("resourceUri") if isinstance(link, Mapping) else None
    return uri if isinstance(uri, str) else None


def _template_fault(template_name: str) -> str | None:
    try:
        get_template(template_name)
    except Exception as error:  # noqa: BLE001 - a check reports what it meets
        return f"{type(error).__name__}: {error}".rstrip(".")
    return None


def _accepted(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST_NAME]
