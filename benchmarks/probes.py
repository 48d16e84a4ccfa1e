"""The ways to measure a row. Each sees that the answers are right, and knows what the server's CPU was busy for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from . import databases
from .load import put_load
from .processes import cpu_seconds
from .requests import Call, modern_call
from .stdio import calls_in_turn, first_answer
from .targets import OURS, Server, Servers, Target, python_of

CALLS, MILLISECONDS = "calls/s", "ms"
WARM_UP = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One round: calls a second or milliseconds, and the microseconds of the server's CPU that one call took."""

    value: float
    cpu: float | None


class Probe(Protocol):
    """How a row is measured."""

    unit: str

    def prepare(self, servers: Servers) -> None:
        """Start what is needed and see that the answer is right."""
        ...

    def check(self) -> None: ...

    def sample(self, seconds: float) -> Sample: ...


class HTTP:
    """Sixteen clients at once."""

    unit = CALLS

    def __init__(self, target: Target, make: Callable[[Server], Call]) -> None:
        self.target = target
        self._make = make

    def prepare(self, servers: Servers) -> None:
        self._server = servers.get(self.target)
        self._call = self._make(self._server)
        self.check()
        put_load(self._call, self._server.port, WARM_UP)

    def check(self) -> None:
        self._call.check(self._server.port)

    def sample(self, seconds: float) -> Sample:
        before = cpu_seconds(self._server.pid)
        calls, passed = put_load(self._call, self._server.port, seconds)
        after = cpu_seconds(self._server.pid)
        return Sample(calls / passed, None if before is None or after is None else (after - before) / calls * 1e6)


class Stdio:
    """One client that starts the server itself; it checks the first and the last answer of each round."""

    unit = CALLS

    def __init__(self, product: str, arguments: Sequence[str]) -> None:
        self._product = product
        self._arguments = arguments
        self._call = modern_call("add_async")

    def prepare(self, servers: Servers) -> None:
        self._command = [python_of(self._product), *self._arguments]
        self._env = servers.site(self._product, databases.sqlite).env if self._product == OURS else {}
        self.check()

    def check(self) -> None:
        first_answer(self._command, self._env, self._call)

    def sample(self, seconds: float) -> Sample:
        calls, passed, cpu = calls_in_turn(self._command, self._env, self._call, seconds)
        return Sample(calls / passed, None if cpu is None else cpu / calls * 1e6)


class StdioStart(Stdio):
    """From the start of the process to its first answer."""

    unit = MILLISECONDS

    def sample(self, seconds: float) -> Sample:
        passed, cpu = first_answer(self._command, self._env, self._call)
        return Sample(passed * 1e3, None if cpu is None else cpu * 1e6)
