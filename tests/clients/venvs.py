"""Environments with old releases of the Python SDK, which cannot be installed beside the current one."""

import sys
import venv
from pathlib import Path

from .cache import filled, locked_cache, run


def installed_python(version: str) -> Path:
    """The interpreter that imports this release of ``mcp``."""
    with locked_cache() as cache:
        folder = cache / f"mcp-{version}-python-{sys.version_info.major}.{sys.version_info.minor}"
        if not folder.exists():
            with filled(folder) as half:
                venv.create(half, symlinks=True)
                # Releases up to 1.16 break with a later pydantic.
                wanted = [f"mcp=={version}", "pydantic<2.12"]
                pip = [sys.executable, "-m", "pip", "--python", str(half / "bin" / "python")]
                run([*pip, "install", "-qq", *wanted])
    return folder / "bin" / "python"
