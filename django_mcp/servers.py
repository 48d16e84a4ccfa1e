"""``MCPServer`` objects, and the one place where the core meets Django.

What the core may not import (the keys, the JSON encoder, the runner, the settings) is put together
here and handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings as django_settings
from django.core.serializers.json import DjangoJSONEncoder
from django.core.signals import setting_changed
from django.dispatch import receiver
from django.utils.module_loading import import_string

from django_mcp.auth.base import Authentication, load_authentication
from django_mcp.auth.rights import renew
from django_mcp.completers import adapt
from django_mcp.conf import MCPSettings, mcp_settings, with_overrides
from django_mcp.error_policy import DjangoErrors
from django_mcp.events import catalogues, publishing, watching
from django_mcp.file_contents import read_files, to_content
from django_mcp.hooks import DjangoHooks
from django_mcp.keysets import read_rows
from django_mcp.pages import site_pages
from django_mcp.primitives.completion import ADAPTERS
from django_mcp.questions import read_any_form, spend
from django_mcp.rendering import render_text
from django_mcp.running import Runner, activated, refusing_writes
from django_mcp.sealing import KeySealer
from django_mcp.server.context import Context
from django_mcp.server.rounds import AskingLimits
from django_mcp.server.server import Server
from django_mcp.server.services import Services
from django_mcp.switches import switchboard

ADAPTERS.append(adapt)

NAME_LENGTH = 100  # that of the column which keeps whose a session is


class MCPServer(Server):
    """A server of a Django site: a name, its primitives, its settings and its urls.

    ``settings`` overrides keys of ``DJANGO_MCP`` for this server. All other options are those of
    ``Server``. Names are unique: a second server of the same name is an error.
    """

    def __init__(self, name: str, *, settings: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(name, services=SERVICES, **options)
        self._overrides = dict(settings or {})
        _add(self)

    def registry_changed(self) -> None:
        watching.follow(self)
        catalogues.catalogue_changed(self)

    @property
    def settings(self) -> MCPSettings:
        """``DJANGO_MCP`` with the overrides of this server; raises ``ImproperlyConfigured``."""
        return _merged_settings(self) if self._overrides else mcp_settings()

    @property
    def authentications(self) -> tuple[Authentication, ...]:
        return _authentications(self)

    @property
    def urls(self) -> tuple[list[Any], str, str]:
        """For the URLconf: ``path("support/mcp", server.urls)``."""
        # The URLs lead to the views, which lead to the servers: the one way up, and the contracts name it.
        from django_mcp.urls import endpoint_urls

        return endpoint_urls(self), "django_mcp", self.name

    def listing_page_size(self) -> int | None:
        own = super().listing_page_size()
        return self.settings.page_size if own is None else own

    def asking_limits(self) -> AskingLimits:
        conf = self.settings
        return AskingLimits(rounds=conf.max_rounds, ttl=conf.state_ttl, state_bytes=conf.state_max_bytes)

    def result_limit(self) -> int | None:
        return self.settings.max_result

    def tool_rate(self) -> int | None:
        return self.settings.tool_rate

    def completion_rate(self) -> int | None:
        return self.settings.completion_rate

    def parameter_headers(self) -> list[str]:
        """The ``Mcp-Param-*`` names of this server's tools, without the prefix (MH-38)."""
        return [one.header for tool in self.registry.tools.values() for one in tool.header_params]


_servers: dict[str, MCPServer] = {}


def _add(server: MCPServer) -> None:
    if not 0 < len(server.name) <= NAME_LENGTH:
        raise ValueError(
            f"A server was given the name {server.name!r}. A name has 1 to {NAME_LENGTH} characters: "
            'write MCPServer("support").'
        )
    if server.name in _servers:
        raise ValueError(
            f"There is a server named {server.name!r} already. Names are unique: "
            f"give the second one another name, or use get_server({server.name!r})."
        )
    _servers[server.name] = server


def get_server(name: str = "default") -> MCPServer:
    """The server of this name; raises ``LookupError`` that lists the known ones."""
    try:
        return _servers[name]
    except KeyError:
        raise LookupError(f"No server is named {name!r}. Known: {', '.join(_servers)}.") from None


def all_servers() -> tuple[MCPServer, ...]:
    return tuple(_servers.values())


def forget_servers(known: tuple[MCPServer, ...]) -> None:
    """Take back every server but ``known``: those of a module that failed half-way."""
    _servers.clear()
    _servers.update({server.name: server for server in known})


@cache
def _merged_settings(server: MCPServer) -> MCPSettings:
    return with_overrides(mcp_settings(), server._overrides, f"settings of MCPServer({server.name!r})")


@cache
def _authentications(server: MCPServer) -> tuple[Authentication, ...]:
    return load_authentication(server.settings.authentication)


@receiver(setting_changed)
def _forget(*, setting: str, **_kwargs: Any) -> None:
    if setting in {"DJANGO_MCP", "DATA_UPLOAD_MAX_MEMORY_SIZE"}:
        _merged_settings.cache_clear()
        _authentications.cache_clear()


def has_languages() -> bool:
    """Whether a text may be translated into more than one language."""
    return bool(django_settings.USE_I18N) and len(django_settings.LANGUAGES) > 1


async def context_values(context: Context) -> Mapping[str, Any]:
    """What the ``CONTEXT_PROCESSORS`` return for a call, later ones winning."""
    paths = context.server.settings.context_processors
    if not paths:
        return {}
    values: dict[str, Any] = {}
    for path in paths:
        processor = import_string(path)
        values.update(await SERVICES.runner.call(processor, context))
    return values


SERVICES = Services(
    runner=Runner(),
    jsonable=DjangoJSONEncoder().default,
    to_content=to_content,
    errors=DjangoErrors(),
    has_languages=has_languages,
    read_rows=read_rows,
    render=render_text,
    read_files=read_files,
    hooks=DjangoHooks(),
    switches=switchboard,
    activate=activated,
    context_values=context_values,
    sealer=KeySealer(),
    read_form=read_any_form,
    spend=spend,
    refusing_writes=refusing_writes,
    pages=site_pages,
    renew=renew,
    publisher=publishing,
)

default_server = MCPServer("default")
