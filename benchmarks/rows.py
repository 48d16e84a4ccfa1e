"""The rows of the table: what is asked of which server. A row that a product cannot have says why."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from . import targets
from .environments import FASTMCP, MCPZ, SDK
from .probes import HTTP, Probe, Sample, Stdio, StdioStart
from .requests import Call, legacy_call, legacy_stream, modern_call, modern_list, modern_stream
from .targets import FLOOR, OURS, Server


@dataclass(slots=True)
class Row:
    """One line of the table. ``absent`` says why it has no numbers."""

    name: str
    group: str
    product: str
    how: str
    probe: Probe | None = None
    absent: str = ""
    samples: list[Sample] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(sample.value for sample in self.samples)

    @property
    def spread(self) -> float:
        """Half the distance between the best and the worst round, as a share of the median."""
        values = [sample.value for sample in self.samples]
        return (max(values) - min(values)) / 2 / self.median

    @property
    def cpu(self) -> float | None:
        known = [sample.cpu for sample in self.samples if sample.cpu is not None]
        return statistics.median(known) if known else None


def select(rows: Iterable[Row], patterns: Sequence[str]) -> list[Row]:
    """The rows whose name contains one of the patterns, or fits it where it has wildcards.

    Raises ``ValueError`` for a pattern that no row fits.
    """
    rows = list(rows)
    chosen: set[str] = set()
    for pattern in patterns:
        wild = pattern if any(char in pattern for char in "*?[") else f"*{pattern}*"
        found = {row.name for row in rows if fnmatchcase(row.name, wild)}
        if not found:
            names = "\n".join(row.name for row in rows)
            raise ValueError(f"No row fits {pattern!r}. The rows are:\n{names}")
        chosen |= found
    return [row for row in rows if row.name in chosen]


# Each line that this app is built to win or to hold, with one peer and one floor.
QUICK = (
    "modern-async/ours/uvicorn",
    "modern-async/sdk",
    "modern-async/floor/asgi",
    "modern-sync/ours/uvicorn",
    "modern-sync/sdk",
    "legacy/ours/sqlite",
    "legacy/sdk",
    "wsgi/ours/sync",
    "stdio/ours",
)


def all_rows() -> list[Row]:
    """The whole table, from the top; in each group ours is first, and the others are compared with it."""
    return [*_modern_async(), *_modern_sync(), *_token(), *_legacy(), *_streams(), *_wsgi(), *_lists(), *_stdio()]


def _group(slug: str, title: str, *lines: tuple[str, str, str, Probe | str]) -> list[Row]:
    """A line is the rest of the name, the product, how it is served, and the probe or why there is none."""
    rows = []
    for name, product, how, probe in lines:
        row = Row(f"{slug}/{name}", title, product, how)
        if isinstance(probe, str):
            row.absent = probe
        else:
            row.probe = probe
        rows.append(row)
    return rows


def _async(server: Server) -> Call:
    return modern_call("add_async")


def _async_view(server: Server) -> Call:
    return modern_call("add_async", "/async")


def _sync(server: Server) -> Call:
    return modern_call("add_sync")


def _async_with_token(server: Server) -> Call:
    return modern_call("add_async", "/token", server.token)


def _sync_with_token(server: Server) -> Call:
    return modern_call("add_sync", "/token", server.token)


def _in_session(server: Server) -> Call:
    return legacy_call("add_async", server.port)


def _reporting(server: Server) -> Call:
    return modern_stream()


def _legacy_reporting(server: Server) -> Call:
    return legacy_stream(server.port)


def _listed(server: Server) -> Call:
    return modern_list()


def _modern_async() -> list[Row]:
    return _group(
        "modern-async",
        "modern, async tool",
        ("ours/uvicorn", OURS, "consumer, uvicorn", HTTP(targets.CONSUMER, _async)),
        ("ours/daphne", OURS, "consumer, daphne", HTTP(targets.CONSUMER_DAPHNE, _async)),
        ("ours/view", OURS, "view, uvicorn", HTTP(targets.VIEW_ASGI, _async)),
        ("sdk", SDK, "uvicorn", HTTP(targets.SDK_APP, _async)),
        ("fastmcp", FASTMCP, "uvicorn", HTTP(targets.FASTMCP_APP, _async)),
        ("mcpz", MCPZ, "", "all its tools are sync"),
        ("floor/asgi", FLOOR, "ASGI application, uvicorn", HTTP(targets.BARE_ASGI, _async)),
        ("floor/channels", FLOOR, "Channels consumer, uvicorn", HTTP(targets.BARE_CHANNELS, _async)),
        ("floor/view", FLOOR, "async Django view, uvicorn", HTTP(targets.BARE_VIEW_ASGI, _async_view)),
    )


def _modern_sync() -> list[Row]:
    return _group(
        "modern-sync",
        "modern, sync tool",
        ("ours/uvicorn", OURS, "consumer, uvicorn", HTTP(targets.CONSUMER, _sync)),
        ("ours/view", OURS, "view, uvicorn", HTTP(targets.VIEW_ASGI, _sync)),
        ("sdk", SDK, "uvicorn", HTTP(targets.SDK_APP, _sync)),
        ("fastmcp", FASTMCP, "uvicorn", HTTP(targets.FASTMCP_APP, _sync)),
        ("mcpz", MCPZ, "view, uvicorn", HTTP(targets.MCPZ_ASGI, _sync)),
        ("floor/view", FLOOR, "sync Django view, uvicorn", HTTP(targets.BARE_VIEW_ASGI, _sync)),
    )


def _token() -> list[Row]:
    no_tokens = "keeps no tokens in a database"
    return _group(
        "modern-token",
        "modern, async tool, bearer token in the database",
        ("ours", OURS, "consumer, uvicorn", HTTP(targets.CONSUMER, _async_with_token)),
        ("sdk", SDK, "", no_tokens),
        ("fastmcp", FASTMCP, "", no_tokens),
        ("mcpz", MCPZ, "", "all its tools are sync; see WSGI"),
    )


def _legacy() -> list[Row]:
    return _group(
        "legacy",
        "legacy, async tool in a session",
        ("ours/sqlite", OURS, "session in SQLite, uvicorn", HTTP(targets.CONSUMER, _in_session)),
        ("ours/postgres", OURS, "session in PostgreSQL, uvicorn", HTTP(targets.CONSUMER_POSTGRES, _in_session)),
        ("sdk", SDK, "session in memory, uvicorn", HTTP(targets.SDK_APP, _in_session)),
        ("fastmcp", FASTMCP, "session in memory, uvicorn", HTTP(targets.FASTMCP_APP, _in_session)),
        ("mcpz", MCPZ, "", "has no sessions"),
    )


def _streams() -> list[Row]:
    """What a client could come back to is written down, and nothing of the modern era is."""
    modern = _group(
        "modern-stream",
        "modern, a call that reports progress",
        ("ours", OURS, "consumer, uvicorn", HTTP(targets.CONSUMER, _reporting)),
        ("sdk", SDK, "uvicorn", HTTP(targets.SDK_STREAMING, _reporting)),
        ("fastmcp", FASTMCP, "uvicorn", HTTP(targets.FASTMCP_STREAMING, _reporting)),
        ("mcpz", MCPZ, "", "has no streams"),
    )
    return modern + _group(
        "legacy-stream",
        "legacy, a call that reports progress",
        ("ours/sqlite", OURS, "stream kept in SQLite, uvicorn", HTTP(targets.CONSUMER, _legacy_reporting)),
        (
            "ours/postgres",
            OURS,
            "stream kept in PostgreSQL, uvicorn",
            HTTP(targets.CONSUMER_POSTGRES, _legacy_reporting),
        ),
        ("sdk", SDK, "stream not kept, uvicorn", HTTP(targets.SDK_STREAMING, _legacy_reporting)),
        ("fastmcp", FASTMCP, "stream not kept, uvicorn", HTTP(targets.FASTMCP_STREAMING, _legacy_reporting)),
        ("mcpz", MCPZ, "", "has no streams"),
    )


def _wsgi() -> list[Row]:
    only_asgi = "runs under ASGI only"
    open_rows = _group(
        "wsgi",
        "modern, WSGI",
        ("ours/sync", OURS, "view, sync tool, gunicorn", HTTP(targets.VIEW_WSGI, _sync)),
        ("ours/async", OURS, "view, async tool, gunicorn", HTTP(targets.VIEW_WSGI, _async)),
        ("sdk", SDK, "", only_asgi),
        ("fastmcp", FASTMCP, "", only_asgi),
        ("mcpz", MCPZ, "view, sync tool, gunicorn", HTTP(targets.MCPZ_WSGI, _sync)),
        ("floor/view", FLOOR, "Django view, gunicorn", HTTP(targets.BARE_VIEW_WSGI, _sync)),
    )
    return open_rows + _group(
        "wsgi-token",
        "modern, WSGI, bearer token in the database",
        ("ours", OURS, "view, sync tool, gunicorn", HTTP(targets.VIEW_WSGI, _sync_with_token)),
        ("mcpz", MCPZ, "view, sync tool, gunicorn", HTTP(targets.MCPZ_WSGI, _sync_with_token)),
    )


def _lists() -> list[Row]:
    under_asgi = _group(
        "list",
        "`tools/list` of 100 tools",
        ("ours", OURS, "consumer, uvicorn", HTTP(targets.CONSUMER, _listed)),
        ("sdk", SDK, "uvicorn", HTTP(targets.SDK_CATALOGUE, _listed)),
        ("fastmcp", FASTMCP, "uvicorn", HTTP(targets.FASTMCP_CATALOGUE, _listed)),
    )
    return under_asgi + _group(
        "list-wsgi",
        "`tools/list` of 100 tools, WSGI",
        ("ours", OURS, "view, gunicorn", HTTP(targets.VIEW_WSGI, _listed)),
        ("mcpz", MCPZ, "view, gunicorn", HTTP(targets.MCPZ_WSGI, _listed)),
    )


def _stdio() -> list[Row]:
    programs = (
        ("ours", OURS, ("-m", "django", "mcp_stdio")),
        ("sdk", SDK, ("-m", "benchmarks.apps.sdk")),
        ("fastmcp", FASTMCP, ("-m", "benchmarks.apps.fast")),
    )
    absent = ("mcpz", MCPZ, "", "has no stdio")
    calls = [(name, product, "one call at a time", Stdio(product, words)) for name, product, words in programs]
    starts = [(name, product, "start to first answer", StdioStart(product, words)) for name, product, words in programs]
    return [
        *_group("stdio", "stdio, async tool", *calls, absent),
        *_group("stdio-start", "stdio, start", *starts, absent),
    ]
