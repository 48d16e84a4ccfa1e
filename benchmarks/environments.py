"""Virtual environments of the peers, made once from PyPI and kept in the cache."""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .processes import ROOT

SDK = "mcp==2.3.0"
FASTMCP = "fastmcp==4.2.3"
MCPZ = "django-mcpz==1.2.0"

# What is installed beside each peer, in the version that is here.
SERVERS = {SDK: ("uvicorn",), FASTMCP: ("uvicorn",), MCPZ: ("django", "gunicorn", "uvicorn")}
REPORTED = ("asgiref", "channels", "daphne", "django", "gunicorn", "httptools", "pydantic", "uvicorn", "uvloop")


class Unavailable(Exception):
    """Something that a row needs is not to be had here; the text says what, for the report."""


def cache_folder() -> Path:
    return Path(os.environ.get("DJANGO_MCP_BENCHMARK_CACHE") or ROOT / ".cache" / "benchmarks")


def accelerators() -> list[str]:
    return [name for name in ("httptools", "uvloop") if importlib.util.find_spec(name)]


def python_with(peer: str) -> str:
    """The interpreter of an environment with nothing but ``peer`` and the servers as they are here.

    Raises ``Unavailable`` if it cannot be installed; that is tried once.
    """
    outcome = _made(peer)
    if isinstance(outcome, Unavailable):
        raise outcome
    return str(outcome)


@cache
def _made(peer: str) -> Path | Unavailable:
    wanted = [peer, *(f"{name}=={importlib.metadata.version(name)}" for name in (*SERVERS[peer], *accelerators()))]
    key = hashlib.sha256(" ".join([sys.version, *wanted]).encode()).hexdigest()[:16]
    folder = cache_folder() / f"{peer.partition('==')[0]}-{key}"
    if not folder.exists():
        try:
            _install(wanted, folder)
        except (subprocess.SubprocessError, OSError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip()
            return Unavailable(f"could not be installed: {said.splitlines()[-1]}")
    return folder / "bin" / "python"


def _install(wanted: Sequence[str], folder: Path) -> None:
    """Under another name until it is whole; another run may make the same one meanwhile."""
    half = folder.with_name(f"half-{folder.name}-{os.getpid()}")
    try:
        _run([sys.executable, "-m", "venv", str(half)])
        _run([str(half / "bin" / "python"), "-m", "pip", "install", "-qq", *wanted])
        if not folder.exists():
            half.rename(folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=300, capture_output=True, text=True)


_VERSIONS = """
import importlib.metadata, json
print(json.dumps({each.name.lower(): each.version for each in importlib.metadata.distributions()}))
"""


def versions(python: str) -> dict[str, str]:
    """The versions of what matters in the environment of an interpreter."""
    run = subprocess.run([python, "-c", _VERSIONS], check=True, capture_output=True, text=True, timeout=60)
    found = json.loads(run.stdout)
    names = {*REPORTED, *(peer.partition("==")[0] for peer in SERVERS)}
    return {name: found[name] for name in sorted(names & found.keys())}
