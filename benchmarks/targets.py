"""The measured servers, each started once, when a row first asks for it: one worker, on the server's core."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Self

from . import databases
from .databases import Site
from .environments import FASTMCP, MCPZ, SDK, Unavailable, accelerators, python_with
from .processes import free_port, serving

OURS = "django-mcp-sdk"
PROGRAMS = {OURS: "benchmarks.site", MCPZ: "benchmarks.apps.mcpz"}
THREADS = 4

MakeSite = Callable[[str, str], AbstractContextManager[Site]]
Command = Callable[[str, str, int], list[str]]


def python_of(product: str) -> str:
    """Ours and the floors run here, each peer in an environment of its own."""
    return python_with(product) if product in {SDK, FASTMCP, MCPZ} else sys.executable


def uvicorn(python: str, application: str, port: int) -> list[str]:
    quiet = ["--log-level", "warning", "--no-access-log"]
    return [python, "-m", "uvicorn", application, *uvicorn_options(), "--port", str(port), *quiet]


def uvicorn_options() -> list[str]:
    found = accelerators()
    loop = "uvloop" if "uvloop" in found else "asyncio"
    parser = "httptools" if "httptools" in found else "h11"
    return ["--loop", loop, "--http", parser]


def daphne(python: str, application: str, port: int) -> list[str]:
    return [python, "-m", "daphne", "--bind", "127.0.0.1", "--port", str(port), "--verbosity", "0", application]


def gunicorn(python: str, application: str, port: int) -> list[str]:
    """With threads, as the sync worker closes every connection."""
    options = ["--workers", "1", "--threads", str(THREADS), "--log-level", "warning", "--no-control-socket"]
    return [python, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", *options, application]


@dataclass(frozen=True, slots=True)
class Target:
    """A server of one product: what serves it, and the database it needs."""

    product: str
    command: Command
    application: str
    site: MakeSite | None = None


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    pid: int
    site: Site | None

    @property
    def token(self) -> str:
        if self.site is None:
            raise RuntimeError("This server has no database, so no token.")
        return self.site.token


CONSUMER = Target(OURS, uvicorn, "benchmarks.site.asgi:application", databases.sqlite)
CONSUMER_POSTGRES = Target(OURS, uvicorn, "benchmarks.site.asgi:application", databases.postgres)
CONSUMER_DAPHNE = Target(OURS, daphne, "benchmarks.site.asgi:application", databases.sqlite)
VIEW_ASGI = Target(OURS, uvicorn, "benchmarks.site.asgi:view", databases.sqlite)
VIEW_WSGI = Target(OURS, gunicorn, "benchmarks.site.wsgi:application", databases.sqlite)
SDK_APP = Target(SDK, uvicorn, "benchmarks.apps.sdk:app")
SDK_STREAMING = Target(SDK, uvicorn, "benchmarks.apps.sdk:streaming")
SDK_CATALOGUE = Target(SDK, uvicorn, "benchmarks.apps.sdk:catalogue")
FASTMCP_APP = Target(FASTMCP, uvicorn, "benchmarks.apps.fast:app")
FASTMCP_STREAMING = Target(FASTMCP, uvicorn, "benchmarks.apps.fast:streaming")
FASTMCP_CATALOGUE = Target(FASTMCP, uvicorn, "benchmarks.apps.fast:catalogue")
MCPZ_ASGI = Target(MCPZ, uvicorn, "benchmarks.apps.mcpz:asgi", databases.sqlite)
MCPZ_WSGI = Target(MCPZ, gunicorn, "benchmarks.apps.mcpz:wsgi", databases.sqlite)
FLOOR = "floor"
BARE_ASGI = Target(FLOOR, uvicorn, "benchmarks.apps.bare:app")
BARE_STREAMS = Target(FLOOR, uvicorn, "benchmarks.apps.streams:app")
OUR_STREAMS = Target(OURS, uvicorn, "benchmarks.site.queries:counted", databases.sqlite)
OUR_STREAMS_POSTGRES = Target(OURS, uvicorn, "benchmarks.site.queries:counted", databases.postgres)
SDK_STREAMS = Target(SDK, uvicorn, "benchmarks.apps.sdk_streams:app")
BARE_CHANNELS = Target(FLOOR, uvicorn, "benchmarks.apps.bare:channels")
BARE_VIEW_ASGI = Target(FLOOR, uvicorn, "benchmarks.apps.bare_django:asgi")
BARE_VIEW_WSGI = Target(FLOOR, gunicorn, "benchmarks.apps.bare_django:wsgi")


class Servers:
    """The servers and databases of one run; all are gone when the ``with`` block ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._sites: dict[tuple[str, MakeSite], Site] = {}
        self._running: dict[Target, Server | RuntimeError | Unavailable] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def get(self, target: Target) -> Server:
        """Raises ``Unavailable`` or ``RuntimeError`` if it cannot be started; that is tried once."""
        if target not in self._running:
            try:
                self._running[target] = self._stack.enter_context(self._started(target))
            except (RuntimeError, Unavailable) as error:
                self._running[target] = error
        outcome = self._running[target]
        if isinstance(outcome, Server):
            return outcome
        raise outcome

    def site(self, product: str, make: MakeSite) -> Site:
        """A database that the servers of a product share; only one of them is under load at a time."""
        if (product, make) not in self._sites:
            site = self._stack.enter_context(make(python_of(product), PROGRAMS[product]))
            self._sites[product, make] = site
        return self._sites[product, make]

    @contextlib.contextmanager
    def _started(self, target: Target) -> Iterator[Server]:
        site = self.site(target.product, target.site) if target.site else None
        port = free_port()
        command = target.command(python_of(target.product), target.application, port)
        with serving(command, port, site.env if site else {}) as pid:
            yield Server(port, pid, site)
