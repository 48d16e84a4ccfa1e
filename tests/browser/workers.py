"""Two processes that serve the help desk from one database, each on a port of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tests.conformance.served import free_port
from tests.conformance.wire import client_of
from tests.wire.client import WireClient

LIMIT = 120
PAUSE = threading.Event()  # is never set: between two looks at something


@dataclass(frozen=True)
class Desk:
    """The ports of the workers, the administrator's password and a token of the agent."""

    ports: tuple[int, int]
    password: str
    token: str

    def site(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    def client(self, token: str | None = None) -> WireClient:
        """A client of the worker that the browser does not talk to."""
        client = client_of(self.ports[1])
        client.headers["Authorization"] = f"Bearer {token or self.token}"
        return client


def seconds_until(happens: Callable[[], Any]) -> float:
    """How long it took until it did, looked at every few hundredths of a second."""
    began = monotonic()
    while not happens():
        assert monotonic() - began < LIMIT, "It did not happen"
        PAUSE.wait(0.03)
    return monotonic() - began


@contextmanager
def served(folder: Path) -> Iterator[Desk]:
    environment = {
        **os.environ,
        "HELPDESK_DATABASE": str(folder / "desk.sqlite3"),
        "DJANGO_SETTINGS_MODULE": "example_project.settings",
    }
    prepare = [sys.executable, "-m", "tests.browser.prepare"]
    said = subprocess.run(prepare, env=environment, check=True, timeout=LIMIT, stdout=subprocess.PIPE)
    with ExitStack() as stack:
        first, second = (stack.enter_context(_worker(environment)) for _ in range(2))
        yield Desk((first, second), **json.loads(said.stdout))


@contextmanager
def _worker(environment: dict[str, str]) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "tests.browser.site:application", "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "warning"], env=environment)
    try:
        seconds_until(lambda: process.poll() is not None or _answers(port))
        assert process.poll() is None, "The worker did not start; what it said is above"
        yield port
    finally:
        process.terminate()
        process.wait(LIMIT)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
