"""The connection command line of the Inspector: a daemon holds the connection, each command is a process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .drivers import LIMIT, TALKING, Site
from .inspector import entry_of
from .node import installed_node

SCRIPT = "clients/mcpdo/build/mcp-bin.js"


class Mcpdo:
    """One connection of a daemon of its own, which keeps its files in *home*."""

    def __init__(self, home: Path) -> None:
        node = installed_node()
        self._home = home
        self._command = node.command(node.package("@modelcontextprotocol/inspector", SCRIPT), "--format", "json")
        self._environment = {**os.environ, "HOME": str(home), "NO_COLOR": "1", "MCP_INSPECTOR_SECRET_STORE": "memory"}
        self._connection: list[str] = []

    def say(self, *arguments: str) -> str:
        command = [*self._command, *arguments]
        run = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def connect(self, site: Site, era: str) -> str:
        """The era that was agreed upon."""
        config = self._home / "config.json"
        config.write_text(json.dumps({"mcpServers": {"site": entry_of(site)}}))
        said = self.say("--config", str(config), "connect", "site", "--era", era)
        self._connection = ["--connection", "site"]
        return str(json.loads(said)["protocolEra"])

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """The text of the result, once every question has its answer."""
        answer = self._asked("tools/call", name, json.dumps(arguments))
        while pending := answer.get("elicitationPending"):
            names = pending["requestedSchema"]["properties"]
            given = {each: TALKING["answers"][each] for each in names}
            answer = self._asked("elicitation/respond", pending["elicitationId"], json.dumps(given))
        text: str = answer["content"][0]["text"]
        return text

    def set_roots(self, *roots: dict[str, str]) -> None:
        self._asked("roots/set", "--roots-json", json.dumps(roots))

    def logged_by(self, tool: str, first: str, last: str) -> list[str]:
        """What one call logs up to its *last* message, once a call of the tool *first* tells that somebody listens."""
        with self._tail() as heard:
            warmed = self._repeated(lambda: self.call(first, {}), until=heard)
            self.call(tool, {})
            lines = self._repeated(lambda: time.sleep(0.1), until=lambda: heard() if last in heard() else [])
        return [line for line in lines if line != warmed[0]]

    def _repeated(self, step: Callable[[], object], until: Callable[[], list[str]]) -> list[str]:
        end = time.monotonic() + LIMIT
        while not (found := until()):
            assert time.monotonic() < end, "It was not logged"
            step()
        return found

    def stop(self) -> None:
        self.say("daemon", "stop")

    def _asked(self, *arguments: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.say(*arguments, *self._connection))
        return said

    @contextlib.contextmanager
    def _tail(self) -> Iterator[Callable[[], list[str]]]:
        path = self._home / "log"
        command = [*self._command, "logging/tail", *self._connection, "--format", "text"]
        with path.open("w") as out, subprocess.Popen(command, env=self._environment, stdout=out) as process:
            try:
                yield lambda: [line.partition("] ")[2] for line in path.read_text().splitlines()]
            finally:
                process.terminate()
