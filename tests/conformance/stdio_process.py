"""manage.py mcp_stdio as a client starts it: a child process and its pipes."""

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
SETTINGS = "tests.conformance.settings"


class StdioProcess:
    """What the process writes is read all the time, so that it never waits for us."""

    def __init__(self, *options: str, settings: str = SETTINGS, **environment: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.environment = {"DATABASE_URL": f"sqlite:///{self._folder.name}/db.sqlite3", **os.environ, **environment}
        self._settings = settings
        self._options = options
        self._ids = itertools.count(1)
        self.lines: list[bytes] = []
        self._answers: queue.Queue[Any] = queue.Queue()
        self._errors = bytearray()
        self._readers: list[threading.Thread] = []

    def manage(self, *arguments: str) -> None:
        """Run another command on the same database first."""
        command = [sys.executable, "-m", "django", *arguments, "--settings", self._settings]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True, timeout=120, stdout=sys.stderr)

    def __enter__(self) -> "StdioProcess":
        command = [sys.executable, "-m", "django", "mcp_stdio", *self._options, "--settings", self._settings]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdin=pipe, stdout=pipe, stderr=pipe)
        self._readers = [threading.Thread(target=each, daemon=True) for each in (self._read_out, self._read_err)]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(LIMIT)
        for reader in self._readers:
            reader.join(LIMIT)
        if not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        self._folder.cleanup()

    @property
    def stdin(self) -> Any:
        return self.process.stdin

    @property
    def errors(self) -> str:
        """What it wrote to standard error so far; all of it once the process has ended."""
        if self.process.poll() is not None:
            self._readers[1].join(LIMIT)
        return self._errors.decode()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self.lines.append(line)
                self._answers.put(json.loads(line))
        self._answers.put(None)

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                self._errors += line

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, *messages: Any) -> None:
        self.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def receive(self, limit: float = LIMIT) -> Any:
        """The next message, or None where the process has closed its output."""
        return self._answers.get(timeout=limit)

    def request(self, method: str, params: Any = None, id: Any = None, modern: bool = False) -> dict[str, Any]:
        params = dict(params or {})
        if modern:
            params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": next(self._ids) if id is None else id, "method": method, "params": params}

    def ask(self, method: str, params: Any = None, id: Any = None, modern: bool = False) -> Any:
        """The answer to a request, where nothing else is on its way."""
        request = self.request(method, params, id, modern)
        self.send(request)
        answer = self.receive()
        assert answer["id"] == request["id"], answer
        return answer

    def call(self, name: str, arguments: Any = None, modern: bool = False) -> str:
        result = self.ask("tools/call", {"name": name, "arguments": arguments or {}}, modern=modern)["result"]
        text: str = result["content"][0]["text"]
        return text

    def initialize(self, version: str = "2025-11-25") -> Any:
        client = {"name": "process", "version": "1"}
        return self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})

    def close(self) -> int:
        """End its input; its exit code."""
        self.stdin.close()
        return self.wait()

    def wait(self, limit: float = LIMIT) -> int:
        return self.process.wait(limit)
