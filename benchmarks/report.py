"""What a run has found, as JSON and as Markdown, and the place of the latter in the documentation."""

import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .environments import FASTMCP, MCPZ, SDK, python_with, versions
from .load import CONNECTIONS, generator
from .probes import MILLISECONDS
from .processes import LOAD_CORE, ROOT, pinned_to
from .rows import Row
from .targets import FLOOR, OURS, THREADS, uvicorn_options

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
LABELS = {
    OURS: OURS,
    SDK: SDK.replace("mcp==", "Python SDK "),
    FASTMCP: FASTMCP.replace("fastmcp==", "FastMCP "),
    MCPZ: MCPZ.replace("==", " "),
    FLOOR: "floor",
}
NOTHING = "-"


def as_json(rows: Iterable[Row], rounds: int, seconds: float) -> dict[str, Any]:
    rows = list(rows)
    peers = {row.product for row in rows if row.samples} & {SDK, FASTMCP, MCPZ}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "versions": {
            OURS: versions(sys.executable),
            **{LABELS[peer]: versions(python_with(peer)) for peer in sorted(peers)},
        },
        "uvicorn": " ".join(uvicorn_options()),
        "pinned": bool(pinned_to(LOAD_CORE)),
        "load": generator(),
        "connections": CONNECTIONS,
        "rounds": rounds,
        "seconds": seconds,
        "rows": [_row_as_json(row) for row in rows],
    }


def _row_as_json(row: Row) -> dict[str, Any]:
    named = {"name": row.name, "group": row.group, "server": LABELS[row.product], "how": row.how}
    if row.absent or row.probe is None:
        return {**named, "absent": row.absent}
    return {
        **named,
        "unit": row.probe.unit,
        "rounds": [round(sample.value, 1) for sample in row.samples],
        "median": round(row.median, 1),
        "spread": round(row.spread, 3),
        "cpu_microseconds": [None if sample.cpu is None else round(sample.cpu, 1) for sample in row.samples],
    }


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The name of the processor, as far as the system tells."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def as_markdown(rows: Iterable[Row], report: dict[str, Any]) -> str:
    """One table for what is counted in calls, one for what is counted in milliseconds, and how it was measured."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    timed = {
        title for title, lines in groups.items() if any(row.probe and row.probe.unit == MILLISECONDS for row in lines)
    }
    parts = []
    for unit, titles in (("calls/s", groups.keys() - timed), ("ms", timed)):
        if titles:
            parts.append(_table(unit, [lines for title, lines in groups.items() if title in titles]))
    return "\n".join([*parts, _how(report)])


def _table(unit: str, groups: list[list[Row]]) -> str:
    cpu = "CPU µs a call" if unit == "calls/s" else "CPU ms"
    lines = [
        f"| what is asked | server | {unit} | spread | {cpu} | ours is | by CPU |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for group in groups:
        for index, row in enumerate(group):
            title = "" if index else group[0].group
            lines.append(f"| {title} | " + " | ".join(_cells(row, group, unit)) + " |")
    return "\n".join([*lines, ""])


def _cells(row: Row, group: list[Row], unit: str) -> list[str]:
    server = f"{LABELS[row.product]}, {row.how}" if row.how else LABELS[row.product]
    if row.absent:
        return [f"{LABELS[row.product]}: {row.absent}", NOTHING, "", "", "", ""]
    cpu = row.cpu if unit == "calls/s" or row.cpu is None else row.cpu / 1e3
    used = NOTHING if cpu is None else f"{cpu:,.0f}"
    return [server, f"{row.median:,.0f}", f"±{row.spread:.0%}", used, *compared(row, group)]


def compared(row: Row, group: list[Row]) -> tuple[str, str]:
    """How many times as fast the first of ours in the group is, and how many times less CPU it takes."""
    ours = next((each for each in group if each.product == OURS and each.samples), None)
    if ours is None or row.product == OURS:
        return "", ""
    # Fewer milliseconds are better, more calls a second are.
    is_time = row.probe is not None and row.probe.unit == MILLISECONDS
    faster = row.median / ours.median if is_time else ours.median / row.median
    return _times(faster), "" if row.cpu is None or not ours.cpu else _times(row.cpu / ours.cpu)


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 1.95 else f"{ratio:.2f}x"


def _how(report: dict[str, Any]) -> str:
    own = report["versions"][OURS]
    there = ", ".join(f"{name} {own[name]}" for name in ("django", "uvicorn", "daphne", "gunicorn") if name in own)
    cores = "a core for each side" if report["pinned"] else "cores not pinned"
    sentences = [
        f"Medians of {report['rounds']} rounds of {report['seconds']:g} s, "
        f"{report['connections']} connections of {report['load']}.",
        f"Python {report['python']}, {there};",
        f"uvicorn {report['uvicorn']}, one worker; gunicorn with one worker of {THREADS} threads.",
        f"{report['processor']}, {cores}.",
    ]
    return "\n".join([*sentences, ""])


def write_page(table: str, page: Path = PAGE) -> None:
    """Put the table between the marks on the page. Raises ``ValueError`` if they are not there, in order, once."""
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{page.name} needs one line {BEGIN!r} and, below it, one line {END!r}.")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{table.strip()}\n\n{END}{after}")
