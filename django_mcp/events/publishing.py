"""What sites call to tell clients that something changed, from a tool, a view, a task or a shell.

A notification is part of the transaction it is published in: it goes out when that commits, and not at all
when it is rolled back. ``server`` is a server or its name; without one the clients of every server hear of it.
"""

from __future__ import annotations

import re
from typing import Any

from asgiref.sync import sync_to_async

from django_mcp.events import legacy, log
from django_mcp.events.kinds import Kind

MAX_URI = 2048
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\ud800-\udfff]*")


def notify_resource_updated(uri: str, *, server: Any = None) -> None:
    """The resource behind ``uri`` changed: its subscribers should read it again.

    Raises ``ValueError`` for what is no URI of at most 2,048 characters.
    """
    log.append(Kind.RESOURCE_UPDATED, uri=checked_uri(uri), server=name_of(server))


def notify_tools_changed(*, server: Any = None) -> None:
    """The list of tools changed."""
    log.append(Kind.TOOLS_CHANGED, server=name_of(server))


def notify_prompts_changed(*, server: Any = None) -> None:
    """The list of prompts changed."""
    log.append(Kind.PROMPTS_CHANGED, server=name_of(server))


def notify_resources_changed(*, server: Any = None) -> None:
    """The list of resources or of resource templates changed."""
    log.append(Kind.RESOURCES_CHANGED, server=name_of(server))


def close_streams(session: int) -> None:
    """Have the client of a session leave its GET streams, wherever they are, and come back to them."""
    legacy.announce_parting(session)


async def aclose_streams(session: int) -> None:
    """``close_streams`` for async code."""
    await sync_to_async(close_streams)(session)


async def anotify_resource_updated(uri: str, *, server: Any = None) -> None:
    """``notify_resource_updated`` for async code."""
    await sync_to_async(notify_resource_updated)(uri, server=server)


async def anotify_tools_changed(*, server: Any = None) -> None:
    """``notify_tools_changed`` for async code."""
    await sync_to_async(notify_tools_changed)(server=server)


async def anotify_prompts_changed(*, server: Any = None) -> None:
    """``notify_prompts_changed`` for async code."""
    await sync_to_async(notify_prompts_changed)(server=server)


async def anotify_resources_changed(*, server: Any = None) -> None:
    """``notify_resources_changed`` for async code."""
    await sync_to_async(notify_resources_changed)(server=server)


def checked_uri(uri: Any) -> str:
    if isinstance(uri, str) and len(uri) <= MAX_URI and _URI.fullmatch(uri):
        return uri
    raise ValueError(
        f"{uri!r:.200} was given as the URI of a changed resource. It is a text with a scheme and without spaces, "
        f'of at most {MAX_URI} characters: write notify_resource_updated("ticket://5").'
    )


def name_of(server: Any) -> str:
    """The name in the log; raises ``TypeError`` for what is no server."""
    if server is None:
        return ""
    name = server if isinstance(server, str) else getattr(server, "name", None)
    if isinstance(name, str) and name:
        return name
    raise TypeError(
        f"{server!r} was given as the server of a notification. It is an MCPServer or its name: "
        'write server="default" or leave it out.'
    )
