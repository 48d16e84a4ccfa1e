"""Runs the official suites' scenarios against the fixture site: python -m tests.conformance.suite

The suites exit with 0 on a warning, and on a scenario that was skipped. Here a run has passed only if its
checks.json holds at least one success and neither a failure nor a warning (S261).
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.clients.node import Node, installed_node

from .scenarios import RUNS, Run
from .served import served

LIMIT = 120


def main() -> int:
    options = _options()
    runs = [run for run in RUNS if options.only in run.scenario and options.revision in run.revision]
    node = installed_node()
    with contextlib.ExitStack() as stack:
        url = options.url
        if not url:
            url = stack.enter_context(served(options.server, options.workers, "--door", options.door)).url
        with ThreadPoolExecutor(options.jobs) as pool:
            faults = list(pool.map(lambda run: _faults(node, run, url), runs))
    for run, found in zip(runs, faults, strict=True):
        print(f"{'FAIL' if found else 'ok  '} {run.suite} {run.revision} {run.scenario}")
        for fault in found:
            print(f"     {fault}")
    failed = sum(1 for found in faults if found)
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed or not runs else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a site that is served already")
    parser.add_argument("--server", default="uvicorn")
    parser.add_argument("--door", default="consumer")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time")
    parser.add_argument("--only", default="", help="part of a scenario's name")
    parser.add_argument("--revision", default="", help="part of a revision")
    return parser.parse_args()


def _faults(node: Node, run: Run, url: str) -> list[str]:
    script = node.package(f"conformance-{run.suite}", "dist/index.js")
    with tempfile.TemporaryDirectory() as folder:
        command = node.command(script, *run.arguments(url, folder))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return [f"no end within {LIMIT} seconds"]
        reports = list(Path(folder).glob("server-*/checks.json"))
        if not reports:
            return [f"no checks.json: {(done.stdout + done.stderr).strip()[-500:]}"]
        checks = [check for report in reports for check in json.loads(report.read_text())]
    return _judge(checks)


def _judge(checks: list[dict[str, str]]) -> list[str]:
    bad = [check for check in checks if check["status"] in {"FAILURE", "WARNING"}]
    if not bad and not any(check["status"] == "SUCCESS" for check in checks):
        return ["nothing was checked"]
    return [f"{each['status']} {each['id']}: {each.get('errorMessage', '')}" for each in bad]


if __name__ == "__main__":
    sys.exit(main())
