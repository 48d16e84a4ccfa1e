"""Servers are counted with all their children, and none is left behind."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from subprocess import PIPE
from typing import Any

import pytest

from benchmarks.processes import cpu_seconds, end, free_port, serving

TICK = 1 / os.sysconf("SC_CLK_TCK")
WITH_CHILD = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
BUSY = "import os, time\nwhile time.process_time() < 0.05: pass\nos.write(1, b'.')\ntime.sleep(60)"
WORKER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def stat(pid, session, *, user=0, system=0, waited_user=0, waited_system=0, name="python"):
    """A line of /proc/PID/stat; what the numbers mean is in proc(5)."""
    before = f"{pid} ({name}) S 1 {pid} {session} 0 -1 4194304 100 0 0 0"
    return f"{before} {user} {system} {waited_user} {waited_system} 20 0 1 0 5000 0 0\n"


def proc(tmp_path, *lines):
    for line in lines:
        folder = tmp_path / line.split()[0]
        folder.mkdir()
        (folder / "stat").write_text(line)
    return tmp_path


def test_the_cpu_time_of_a_server_is_that_of_its_whole_session(tmp_path):
    folder = proc(
        tmp_path,
        stat(10, 10, user=100, system=20, waited_user=7, waited_system=3, name="gunicorn: master"),
        stat(11, 10, user=1000, system=200, name="worker) (1"),
        stat(12, 12, user=5000),
    )
    assert cpu_seconds(10, folder) == pytest.approx(1330 * TICK)


def test_no_process_has_no_cpu_time(tmp_path):
    (tmp_path / "99").mkdir()
    (tmp_path / "99" / "stat").symlink_to(tmp_path / "gone")
    assert cpu_seconds(10, proc(tmp_path, stat(12, 12))) is None


def test_the_time_of_a_worker_is_found_in_the_system():
    with started(WORKER) as process:
        assert process.stdout.read(1) == b"."
        assert (cpu_seconds(process.pid) or 0) >= 0.05 - TICK


@contextlib.contextmanager
def started(code) -> Iterator[Any]:
    with subprocess.Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE, start_new_session=True) as process:
        try:
            yield process
        finally:
            end(process)


def test_children_end_with_their_server():
    with started(WITH_CHILD) as process:
        child = int(process.stdout.readline())
    limit = time.monotonic() + 5
    while is_running(child) and time.monotonic() < limit:
        os.sched_yield()
    assert not is_running(child)


def is_running(pid):
    """A child that nobody has waited for yet is over all the same."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_server_that_does_not_start_says_why():
    command = [sys.executable, "-c", "raise SystemExit('no such application')"]
    with pytest.raises(RuntimeError, match=r"does not listen on port \d+. It said:\nno such application"):
        serving(command, free_port(), {}).__enter__()


def test_a_server_is_there_inside_the_block_and_gone_after_it():
    port = free_port()
    with serving([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)], port, {}) as pid:
        assert is_running(pid)
    assert not is_running(pid)
