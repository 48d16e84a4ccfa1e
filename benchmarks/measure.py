"""Measures ours, its peers and the floors in one run, round by round.

Every round visits every row, so that what the machine does meanwhile meets all of them. Nothing is judged here:
only a wrong answer of ours ends the run.
"""

import argparse
import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .environments import Unavailable, cache_folder
from .report import as_json, as_markdown, write_page
from .rows import QUICK, Row, all_rows, select
from .targets import FLOOR, OURS, Servers

FAILURES = (OSError, RuntimeError, LookupError, ValueError, subprocess.SubprocessError, http.client.HTTPException)
QUICK_ROUNDS, QUICK_SECONDS = 3, 2.0


def main() -> None:
    options = _options()
    # So that the servers end with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Servers() as servers:
        measure(options.rows, servers, options.rounds, options.seconds)
        report = as_json(options.rows, options.rounds, options.seconds)
    table = as_markdown(options.rows, report)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "results.json").write_text(json.dumps(report, indent=2) + "\n")
    (options.output / "results.md").write_text(table)
    if options.write_docs:
        write_page(table)
    print(table)


def _options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a few telling rows, three short rounds; under two minutes"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="rows whose name contains or, with wildcards, fits this"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the rows and measure nothing")
    parser.add_argument("--rounds", type=int, help="7 unless given")
    parser.add_argument("--seconds", type=float, help="how long a round lasts for each row, 3 unless given")
    parser.add_argument("--output", type=Path, default=cache_folder(), help="where results.json and results.md go")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/performance.md as well")
    options = parser.parse_args(arguments)
    if options.write_docs and (options.quick or options.only):
        parser.error("The documentation shows every row: leave --quick and --only out, or --write-docs.")
    for name in ("rounds", "seconds"):
        if (value := getattr(options, name)) is not None and value <= 0:
            parser.error(f"--{name} is {value:g}, but has to be more than 0.")
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else 7)
    options.seconds = options.seconds or (QUICK_SECONDS if options.quick else 3.0)
    try:
        options.rows = _chosen(options)
    except ValueError as error:
        parser.error(str(error))
    if options.list:
        print("\n".join(row.name for row in options.rows))
        parser.exit()
    return options


def _chosen(options: argparse.Namespace) -> list[Row]:
    rows = all_rows()
    if options.quick:
        rows = [row for row in rows if row.name in QUICK]
    return select(rows, options.only) if options.only else rows


def measure(rows: list[Row], servers: Servers, rounds: int, seconds: float) -> None:
    """Fill in the samples of the rows, or why a row has none. Raises what goes wrong in ours and in the floors."""
    began = time.monotonic()
    for row in rows:
        _attempt(row, lambda probe: probe.prepare(servers))
    for number in range(rounds):
        _say(f"round {number + 1} of {rounds}, {time.monotonic() - began:.0f} s")
        # Forwards and backwards in turn, so that no row always follows the same one.
        for row in rows if number % 2 == 0 else reversed(rows):
            sample = _attempt(row, lambda probe: probe.sample(seconds))
            if sample is not None:
                row.samples.append(sample)
    for row in rows:
        _attempt(row, lambda probe: probe.check())
    _say(f"done after {time.monotonic() - began:.0f} s")


def _attempt(row: Row, step: Callable[[Any], Any]) -> Any:
    """A peer that fails is shown as such and does not end the run."""
    if row.absent or row.probe is None:
        return None
    try:
        return step(row.probe)
    except Unavailable as error:
        row.absent = _one_line(error)
    except FAILURES as error:
        if row.product in {OURS, FLOOR}:
            raise RuntimeError(f"{row.name} failed") from error
        row.absent = f"failed: {_one_line(error)}"
    row.samples.clear()
    _say(f"{row.name}: {row.absent}")
    return None


def _one_line(error: Exception) -> str:
    """What fits into a cell of a table."""
    return " ".join(str(error).split()).replace("|", "/")[:200]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
