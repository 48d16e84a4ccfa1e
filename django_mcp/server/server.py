"""``Server``: one catalogue of tools, prompts and resources with its identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django_mcp.primitives.base import Icon
from django_mcp.protocol.capabilities import Offer
from django_mcp.protocol.results import CacheHint, Implementation
from django_mcp.protocol.versions import Revision
from django_mcp.registry import Registry
from django_mcp.server.authoring import Authoring
from django_mcp.server.call import Locale, Source
from django_mcp.server.icons import complete_icons
from django_mcp.server.rates import RateLimit
from django_mcp.server.rounds import AskingLimits
from django_mcp.server.services import Services


class Server(Authoring):
    """A named set of primitives with what clients are told about it.

    ``page_size`` is the number of primitives a page of a list holds, ``None`` for all; ``cache`` is the
    hint for every result that may be kept and has none of its own (CACHE-04). Without
    ``sends_server_info`` modern results do not say who sent them (META-06).

    The attributes may be changed after construction, as those of an ``AdminSite`` may.
    """

    def __init__(
        self,
        name: str,
        *,
        services: Services,
        title: Any = None,
        version: str = "1",
        description: Any = None,
        instructions: Any = None,
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        page_size: int | None = None,
        cache: CacheHint | None = None,
        sends_server_info: bool = True,
        extensions: Mapping[str, Any] | None = None,
        experimental: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.services = services
        self.title = title
        self.version = _checked_version(version, name)
        self.description = description
        self.instructions = instructions
        self.website_url = website_url
        self.icons = icons
        self.page_size = _checked_page_size(page_size, name)
        self.calls = RateLimit()
        self.cache = cache or CacheHint()
        self.sends_server_info = sends_server_info
        self.extensions = dict(extensions or {})
        self.experimental = dict(experimental or {})
        self.registry = Registry(self.registry_changed)
        self.completions = RateLimit()

    def registry_changed(self) -> None:
        """Called whenever something is registered or removed."""

    def identity(self, revision: Revision, locale: Locale, source: Source) -> dict[str, Any]:
        """Who the server says it is, in the caller's language (INIT-05, META-06)."""
        wire = self._identity(revision, locale)
        if "icons" in wire:
            complete_icons((wire,), source)
        return wire

    def _identity(self, revision: Revision, locale: Locale) -> dict[str, Any]:
        implementation = Implementation(
            name=self.name,
            version=self.version,
            title=self.title,
            description=self.description,
            website_url=self.website_url,
            icons=tuple(self.icons),
        )
        if locale.language is None:
            return implementation.to_wire(revision)
        with self.services.activate(locale):
            return implementation.to_wire(revision)

    @property
    def texts(self) -> tuple[Any, ...]:
        """What people read about the server, and may be translated."""
        return self.title, self.description, self.instructions, *self.registry.instructions

    def instructions_text(self) -> str | None:
        """The server's own and those of its apps, a paragraph each, in the language that is active."""
        own = () if self.instructions is None else (self.instructions,)
        return "\n\n".join(map(str, (*own, *self.registry.instructions))) or None

    @property
    def has_tools(self) -> bool:
        return bool(self.registry.tools)

    @property
    def has_prompts(self) -> bool:
        return bool(self.registry.prompts)

    @property
    def has_resources(self) -> bool:
        return bool(self.registry.resources or self.registry.templates or self.registry.readers)

    @property
    def has_completions(self) -> bool:
        return self.registry.has_completers

    def offer(self, revision: Revision, *, can_stream: bool) -> Offer:
        """What this server does for a client of this revision through this door (INIT-06, DISC-06)."""
        return Offer(
            tools=self.has_tools,
            prompts=self.has_prompts,
            resources=self.has_resources,
            completions=self.has_completions,
            logging=can_stream,
            list_changed=can_stream,
            subscribe=can_stream and self.has_resources,
            extensions=self.extensions,
            experimental=self.experimental,
        )

    def listing_page_size(self) -> int | None:
        """How many primitives a page of a list holds; ``None``: all."""
        return self.page_size

    def asking_limits(self) -> AskingLimits:
        """How long and how often one call may ask its client."""
        return AskingLimits()

    def result_limit(self) -> int | None:
        """How many bytes a result of a tool may have that has no ``max_size`` of its own; ``None``: any number."""
        return None

    def tool_rate(self) -> int | None:
        """How many calls of tools a second a caller may make; ``None``: any number."""
        return None

    def completion_rate(self) -> int | None:
        """How many completions a second a caller may ask for; ``None``: any number."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _checked_version(version: Any, name: str) -> str:
    if isinstance(version, str):
        return version
    raise ValueError(
        f'The server {name!r} was given version={version!r}. It is a text of yours: write version="2" or leave it out.'
    )


def _checked_page_size(size: Any, name: str) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 1):
        return size
    raise ValueError(
        f"The server {name!r} was given page_size={size!r}. It is a whole number of at least 1: "
        "write page_size=50 or leave it out."
    )
