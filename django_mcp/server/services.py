"""What the server needs from Django, as a list of things handed in by ``django_mcp.servers``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from django_mcp.primitives.base import Invocation, Primitive
from django_mcp.primitives.jsonable import JSONDefault
from django_mcp.primitives.lists import RowReader
from django_mcp.primitives.prompts import Render
from django_mcp.primitives.questions import FormReader
from django_mcp.protocol.content import Content
from django_mcp.protocol.sealed import Sealer
from django_mcp.registry import Kind
from django_mcp.server.call import Call, Caller, Locale
from django_mcp.server.context import Context
from django_mcp.server.notifying import Notifying
from django_mcp.server.observation import Outcome
from django_mcp.server.pages import Pages

if TYPE_CHECKING:
    from django_mcp.server.server import Server

Handler = Callable[[Context], Awaitable[dict[str, Any]]]

P = TypeVar("P", bound=Primitive)


class Runner(Protocol):
    """Runs the site's code: in its transaction, on its thread, in the caller's language.

    The context that the code is given learns which run it belongs to.
    """

    async def run(self, invocation: Invocation, locale: Locale, context: Notifying | None = None) -> Any: ...

    async def call(self, function: Callable[..., Any], *args: Any) -> Any: ...

    def release(self) -> None:
        """Give thread and connections back until the next run."""


class ErrorPolicy(Protocol):
    """What an exception of the site's code may say to a client."""

    def public_text(self, error: Exception) -> str | None:
        """The text that may be shown, or ``None`` where a fixed sentence stands in."""

    def is_invalid(self, error: Exception) -> bool:
        """Whether the exception means that what the client sent does not fit."""

    def is_missing(self, error: Exception) -> bool:
        """Whether the exception means that the thing asked for is not there for this user."""

    async def report(self, error: Exception, context: Context) -> None:
        """Tell the site's exception reporter of what the client was not told. Never raises."""


class Hooks(Protocol):
    """What a site may put around its calls: middleware, signals, the log of calls."""

    def is_idle(self, server: Server) -> bool:
        """Whether there is nothing to call, as for most calls of most sites."""

    def has_tool_listeners(self) -> bool:
        """Whether anybody wants to hear of tools."""

    def around(self, server: Server, innermost: Handler) -> Handler:
        """The server's middleware around the handler of all its requests."""

    async def started(self, context: Context) -> None: ...

    async def finished(self, context: Context, outcome: Outcome) -> None: ...

    async def tool_called(
        self, context: Context, tool: str, arguments: Mapping[str, Any], outcome: Outcome
    ) -> None: ...


class Switches(Protocol):
    """What the site's staff has switched off, or keeps for some groups of users."""

    async def switched_on(self, call: Call, primitives: list[P]) -> list[P]:
        """Those that are on and open to the caller, in their order."""

    def for_groups(self, call: Call, kind: Kind) -> Collection[str]:
        """The keys of those that some groups alone may use. Tells what ``switched_on`` has just gone by."""


class Publisher(Protocol):
    """Tells clients what changed, once the transaction that is open now has committed."""

    def notify_resource_updated(self, uri: str, *, server: Any = None) -> None: ...

    def notify_tools_changed(self, *, server: Any = None) -> None: ...

    def notify_prompts_changed(self, *, server: Any = None) -> None: ...

    def notify_resources_changed(self, *, server: Any = None) -> None: ...

    async def anotify_resource_updated(self, uri: str, *, server: Any = None) -> None: ...

    async def anotify_tools_changed(self, *, server: Any = None) -> None: ...

    async def anotify_prompts_changed(self, *, server: Any = None) -> None: ...

    async def anotify_resources_changed(self, *, server: Any = None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """``jsonable`` is the ``default`` of ``json.dumps``; ``activate`` a locale for the length of a block.

    ``to_content`` writes what is content by itself, such as files, and returns ``None`` for anything else.
    ``has_languages``: whether the site speaks more than one. ``read_rows`` reads pages of querysets,
    ``render`` a template as text. ``read_files`` makes files of the site into contents of a media type and
    leaves other values as they are.
    ``spend`` writes in the transaction of a call that its conversation has had its effect, which it may only once;
    ``refusing_writes`` makes every write of a call fail for the length of a block.
    ``pages`` are the questions that people answer on pages of the site.
    ``renew`` reads again what a caller may do, who has been asked meanwhile.
    """

    runner: Runner
    jsonable: JSONDefault
    to_content: Callable[[Any, Any], Content | None]
    errors: ErrorPolicy
    has_languages: Callable[[], bool]
    read_rows: RowReader
    render: Render
    read_files: Callable[[Any, str | None], Any]
    hooks: Hooks
    switches: Switches
    activate: Callable[[Locale], AbstractContextManager[None]]
    context_values: Callable[[Context], Awaitable[Mapping[str, Any]]]
    sealer: Sealer
    read_form: FormReader
    spend: Callable[[str | None, float], Callable[[], bool]]
    refusing_writes: Callable[[], AbstractContextManager[None]]
    pages: Pages
    renew: Callable[[Caller], Awaitable[None]]
    publisher: Publisher
