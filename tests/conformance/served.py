"""A served fixture site for the length of a with block: its own port, its own SQLite file."""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

MANAGE = Path(__file__).with_name("manage.py")
START_LIMIT = 120
STOP_LIMIT = 60


class Site:
    """Where a served site answers, the process that serves it, and the file with its standard error."""

    def __init__(self, port: int, process: subprocess.Popen[str], errors: Path) -> None:
        self.port = port
        self.process = process
        self.errors = errors
        self.url = f"http://127.0.0.1:{port}/mcp"


@contextlib.contextmanager
def served(server: str = "uvicorn", workers: int = 1, *options: str, **variables: str) -> Iterator[Site]:
    """Serves the site on a free port, and leaves no process behind.

    The options are those of ``manage.py serve``, the variables go into its environment.
    """
    port = free_port()
    command = [sys.executable, str(MANAGE), "serve", "--port", str(port)]
    command += ["--server", server, "--workers", str(workers), *options]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "db.sqlite3").write_bytes(_migrated())
        environment = {"DATABASE_URL": f"sqlite:///{folder}/db.sqlite3", **os.environ, **variables}
        errors = Path(folder, "errors")
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
            )
        assert process.stdout is not None
        lines: queue.Queue[str] = queue.Queue()
        reader = threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            _await_ready(lines)
            yield Site(port, process, errors)
        finally:
            _stop(process)
            reader.join(STOP_LIMIT)
            sys.stderr.write(errors.read_text())


@cache
def _migrated() -> bytes:
    """A new database of the site, which takes a second to make."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "db.sqlite3")
        environment = {**os.environ, "DATABASE_URL": f"sqlite:///{file}"}
        command = [sys.executable, str(MANAGE), "migrate", "--verbosity", "0"]
        subprocess.run(command, env=environment, check=True, timeout=START_LIMIT, stdout=sys.stderr)
        return file.read_bytes()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_ready(lines: queue.Queue[str]) -> None:
    line = lines.get(timeout=START_LIMIT)
    while not line.startswith("ready"):
        if not line:
            raise RuntimeError("The fixture site did not start; what it said is above.")
        line = lines.get(timeout=START_LIMIT)


def _read_lines(stream: IO[str], lines: queue.Queue[str]) -> None:
    """Reads to the end, so that a server that talks never blocks on a full pipe."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put("")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_LIMIT)
    # The group has only this process's descendants in it; usually nobody is left.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_LIMIT)
