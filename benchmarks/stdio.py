"""A client over standard input and output: from the start of a process to its first answer, then one call at a time."""

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from typing import IO, cast

from .processes import END_LIMIT, LOAD_CORE, ROOT, SERVER_CORE, START_LIMIT, cpu_seconds, end, environment, pinned_to
from .requests import FIRST_ID, Call

WARM_UP = 200


def first_answer(command: list[str], env: Mapping[str, str], call: Call) -> tuple[float, float | None]:
    """Seconds from the start of the process to its first answer, and those of CPU time."""
    began = time.perf_counter()
    with _talk(command, env, call, START_LIMIT) as client:
        client.check()
        return time.perf_counter() - began, cpu_seconds(client.process.pid)


def calls_in_turn(
    command: list[str], env: Mapping[str, str], call: Call, seconds: float
) -> tuple[int, float, float | None]:
    """How many calls were answered, in how many seconds, and with how many of CPU time.

    Each call waits for the answer to the one before.
    """
    with _talk(command, env, call, START_LIMIT + seconds) as client:
        client.check()
        for _ in range(WARM_UP):
            client.ask()
        before = cpu_seconds(client.process.pid)
        calls = 0
        began = time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            client.ask()
            calls += 1
        after = cpu_seconds(client.process.pid)
        client.check()
        return calls, passed, None if before is None or after is None else after - before


class _Client:
    """Asks the same call again and again, with a new id."""

    def __init__(self, process: "subprocess.Popen[bytes]", call: Call) -> None:
        self.process = process
        self._to_server = cast(IO[bytes], process.stdin)
        self._from_server = cast(IO[bytes], process.stdout)
        self._call = call
        self._before, self._after = (part.encode() for part in call.around_id)
        self._id = FIRST_ID

    def ask(self) -> bytes:
        self._id += 1
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and has said why
            self._to_server.write(b"%b%d%b\n" % (self._before, self._id, self._after))
            self._to_server.flush()
        answer = self._from_server.readline()
        if not answer:
            raise RuntimeError(f"The server ended with {self.process.wait(END_LIMIT)} instead of an answer.")
        return answer

    def check(self) -> None:
        answer = self.ask()
        if not self._call.is_right_answer(json.loads(answer), self._id):
            raise RuntimeError(f"{answer[:300]!r} was the answer to {self._call.body!r}.")


@contextlib.contextmanager
def _talk(command: list[str], env: Mapping[str, str], call: Call, limit: float) -> Iterator[_Client]:
    """A server on its core and a client on the load's, for ``limit`` seconds at most."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*pinned_to(SERVER_CORE), *command],
            cwd=ROOT,
            env=environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        watch = threading.Timer(limit, process.kill)
        watch.start()
        try:
            with _on_load_core():
                yield _Client(process, call)
        except (OSError, RuntimeError, ValueError) as error:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()
            raise RuntimeError(f"{error} {' '.join(command)} said:\n{said[-2000:]}") from error
        finally:
            watch.cancel()
            end(process)
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    cast(IO[bytes], pipe).close()


@contextlib.contextmanager
def _on_load_core() -> Iterator[None]:
    """This process is the client: it keeps off the server's core as wrk does."""
    before = os.sched_getaffinity(0)
    if pinned_to(LOAD_CORE):
        os.sched_setaffinity(0, {int(LOAD_CORE)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
