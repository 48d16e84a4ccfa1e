"""The folder where Node, its packages and old Python clients are installed, once for all runs.

It is $DJANGO_MCP_NODE_CACHE, or .cache/node in the clone.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALL_LIMIT = 300


@contextlib.contextmanager
def locked_cache() -> Iterator[Path]:
    """Two runs at a time install one after the other."""
    cache = Path(os.environ.get("DJANGO_MCP_NODE_CACHE") or ROOT / ".cache" / "node")
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield cache


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name when all of it is there."""
    half = folder.parent / f"{folder.name}.half"
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    yield half
    half.rename(folder)


def run(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, timeout=INSTALL_LIMIT)
