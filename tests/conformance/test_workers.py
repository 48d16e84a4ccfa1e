"""Any of several workers serves any request of a session, and one that dies takes no session with it.

Runs on the database of DATABASE_URL, on SQLite without it.
"""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from . import wire
from .served import served

pytestmark = pytest.mark.integration

LEGACY = "2025-11-25"
WORKERS = 4
SESSIONS = 20
CALLS = 500
AT_ONCE = 8


@pytest.mark.parametrize("server", ["daphne", "uvicorn"])
def test_five_hundred_calls_of_twenty_sessions_all_get_their_own_answer(server):
    """W11: no session belongs to a worker."""
    with served(server, WORKERS) as site, ThreadPoolExecutor(AT_ONCE) as pool:
        clients = list(pool.map(wire.open_session, [site.port] * SESSIONS))

        def called(number):
            return wire.echo_region(clients[number % SESSIONS], LEGACY, f"region-{number}")

        texts = list(pool.map(called, range(CALLS)))
    assert texts == [f"region=region-{number}" for number in range(CALLS)]


@pytest.mark.parametrize("server", ["daphne", "uvicorn"])
def test_session_outlives_the_worker_that_opened_it(server):
    """W1: what it consists of is in the database."""
    with served(server, WORKERS) as site:
        client = wire.open_session(site.port)
        workers = _workers_of(site.process.pid, server)
        assert len(workers) == WORKERS
        # All but one, so that the worker that opened the session is probably among them.
        for worker in workers[:-1]:
            os.kill(worker, signal.SIGKILL)
        for number in range(WORKERS * 5):
            assert wire.echo_region(client, LEGACY, str(number)) == f"region={number}"


def test_a_switch_of_another_process_reaches_every_worker_within_a_second(tmp_path):
    database = os.environ.get("DATABASE_URL", f"sqlite:///{tmp_path}/db.sqlite3")
    with served("uvicorn", WORKERS, DATABASE_URL=database) as site, ThreadPoolExecutor(AT_ONCE) as pool:
        clients = list(pool.map(wire.open_session, [site.port] * SESSIONS))

        def knows(client):
            """Asked on connections of its own, so it may meet any worker."""
            tool = {"name": "test_simple_text", "arguments": {}}
            return ["result" in client.call(era, "tools/call", tool).json for era in (LEGACY, "modern")]

        for on in (False, True):
            _switch(database, "test_simple_text", on)
            switched = time.monotonic()
            while {one for answer in pool.map(knows, clients) for one in answer} != {on}:
                assert time.monotonic() - switched < 60  # a second, and what a busy machine takes


def _switch(database, tool, on):
    code = f"from django_mcp.models import *; RegisteredPrimitive.objects.filter(key={tool!r}).update(enabled={on})"
    command = [sys.executable, str(Path(__file__).with_name("manage.py")), "shell", "--command", code]
    subprocess.run(command, env={**os.environ, "DATABASE_URL": database}, check=True, timeout=120, capture_output=True)


def _workers_of(serve, server):
    """The processes that accept connections: daphne's are ours, uvicorn's are its own children."""
    children = _children(serve)
    if server == "daphne":
        return children
    return [pid for pid in _children(children[0]) if b"spawn_main" in _command(pid)]


def _children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()
