"""manage.py serve: the fixture site under an ASGI server, or gunicorn, with as many workers as asked for.

It migrates first, says one line when the site answers, and ends its children when it is ended itself.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connections

ROOT = Path(__file__).resolve().parents[4]
CONSUMER = "tests.conformance.asgi:application"
VIEW = "tests.conformance.view_asgi:application"
VIEW_UNDER_WSGI = "tests.conformance.view_wsgi:application"
HOST = "127.0.0.1"
START_LIMIT = 100
STOP_LIMIT = 15


class Command(BaseCommand):
    help = "Serves the fixture site over HTTP until it is told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=1)
        parser.add_argument("--server", choices=sorted(SERVERS), default="uvicorn")
        parser.add_argument("--door", choices=("consumer", "view"), help="gunicorn has the view only")
        parser.add_argument("--threads", type=int, default=1, help="of each gunicorn worker")

    def handle(self, *, port: int, workers: int, server: str, **options: Any) -> None:
        start = partial(SERVERS[server], _application(server, options["door"]))
        if server == "gunicorn":
            start = partial(start, threads=options["threads"])
        call_command("migrate", verbosity=0, interactive=False)
        connections.close_all()
        signal.signal(signal.SIGTERM, _interrupt)
        children: list[subprocess.Popen[bytes]] = []
        try:
            children += start(port, workers)
            _await_answer(port, children)
            self.stdout.write(f"ready http://{HOST}:{port}/mcp {server} workers={workers}")
            self.stdout.flush()
            for child in children:
                child.wait()
        except KeyboardInterrupt:
            pass
        finally:
            _stop(children)


def _application(server: str, door: str | None) -> str:
    if server == "gunicorn":
        if door == "consumer":
            raise CommandError(
                "gunicorn speaks WSGI, which the consumer does not. Leave --door out, or take another server."
            )
        return VIEW_UNDER_WSGI
    return VIEW if door == "view" else CONSUMER


def _uvicorn(application: str, port: int, workers: int, loop: str = "auto") -> list[subprocess.Popen[bytes]]:
    options = ["--host", HOST, "--port", str(port), "--workers", str(workers), "--loop", loop]
    return [_start("uvicorn", *options, "--log-level", "warning", application)]


def _granian(application: str, port: int, workers: int) -> list[subprocess.Popen[bytes]]:
    options = ["--host", HOST, "--port", str(port), "--workers", str(workers)]
    return [_start("granian", "--interface", "asgi", *options, "--log-level", "warning", application)]


def _gunicorn(
    application: str, port: int, workers: int, *, threads: int = 1, kind: str = "sync"
) -> list[subprocess.Popen[bytes]]:
    """With one thread workers that are not of another kind are sync, with more they are gthread's."""
    options = ["--bind", f"{HOST}:{port}", "--workers", str(workers), "--threads", str(threads), "--worker-class", kind]
    return [_start("gunicorn", *options, "--log-level", "warning", "--graceful-timeout", "5", application)]


def _daphne(application: str, port: int, workers: int) -> list[subprocess.Popen[bytes]]:
    return _sharing(application, port, workers, "daphne", "--verbosity", "0", "--fd", "{fd}")


def _hypercorn(application: str, port: int, workers: int) -> list[subprocess.Popen[bytes]]:
    """Without its own workers: they get no signal, and from Python 3.12 on never end while a stream is open."""
    return _sharing(application, port, workers, "hypercorn", "--workers", "0", "--bind", "fd://{fd}")


def _sharing(application: str, port: int, workers: int, module: str, *options: str) -> list[subprocess.Popen[bytes]]:
    """This process binds, and every child accepts on the descriptor."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
        fd = listener.fileno()
        arguments = [option.format(fd=fd) for option in options]
        return [_start(module, *arguments, application, pass_fds=(fd,)) for _ in range(workers)]


SERVERS: dict[str, Callable[..., list[subprocess.Popen[bytes]]]] = {
    "daphne": _daphne,
    "granian": _granian,
    "gunicorn": _gunicorn,
    "gunicorn-asgi": partial(_gunicorn, kind="asgi"),
    "gunicorn-uvicorn": partial(_gunicorn, kind="uvicorn.workers.UvicornWorker"),
    "hypercorn": _hypercorn,
    "uvicorn": _uvicorn,
    "uvicorn-asyncio": partial(_uvicorn, loop="asyncio"),
}


def _start(module: str, *arguments: str, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=pass_fds)


def _await_answer(port: int, children: list[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end:
        if any(child.poll() is not None for child in children):
            raise CommandError("The server ended while it was starting.")
        connection = http.client.HTTPConnection(HOST, port, timeout=START_LIMIT)
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise CommandError(f"The server did not answer on port {port} within {START_LIMIT} seconds.")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for child in children:
        child.terminate()
    end = time.monotonic() + STOP_LIMIT
    for child in children:
        try:
            child.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
