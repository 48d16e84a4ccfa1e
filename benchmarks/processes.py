"""Processes that are measured: kept on a core, in a session of their own, ended with all they started."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROC = Path("/proc")
SERVER_CORE, LOAD_CORE = "0", "1"
START_LIMIT = 40
END_LIMIT = 10


def pinned_to(core: str) -> list[str]:
    """The words before a command that keep it on one core, where there are two and taskset to choose."""
    able = shutil.which("taskset") and len(os.sched_getaffinity(0)) > 1
    return ["taskset", "--cpu-list", core] if able else []


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """As deployed: without the checks of development mode, which slow asyncio down."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONDEVMODE", "PYTHONASYNCIODEBUG"}}
    return {**kept, **(more or {})}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def serving(command: list[str], port: int, env: Mapping[str, str]) -> Iterator[int]:
    """The process id of a server that listens on ``port``. What it writes is thrown away, unless it does not start.

    Raises ``RuntimeError`` with the end of what it wrote if nothing listens within ``START_LIMIT`` seconds.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*pinned_to(SERVER_CORE), *command],
            cwd=ROOT,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            if not _listens(port, process):
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise RuntimeError(f"{' '.join(command)} does not listen on port {port}. It said:\n{said[-2000:]}")
            yield process.pid
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads its session, and whatever is left of its group."""
    if process.poll() is None:
        process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_LIMIT)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=START_LIMIT).close()
            return True
        time.sleep(0.05)
    return False


def cpu_seconds(session: int, proc: Path = PROC) -> float | None:
    """User and system time that the processes of a session have used, those included that they have waited for.

    ``None`` where the system has no /proc.
    """
    ticks, found = 0, False
    for stat in proc.glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        # The name of a program may have spaces and brackets; the fields are counted from behind it.
        fields = text.rpartition(")")[2].split()
        if int(fields[3]) == session:
            found = True
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK") if found else None
