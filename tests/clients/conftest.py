"""What the tests install, or are skipped without, and the sites that their clients talk to."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.conformance.served import served

from .contract import OLD_PYTHON
from .drivers import Command, Site
from .node import installed_node
from .test_stdio_clients import SITE
from .venvs import installed_python


@pytest.fixture(scope="session")
def node() -> None:
    try:
        installed_node()
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"Node and its packages cannot be installed here: {error}")


@pytest.fixture(scope="session")
def old_python() -> None:
    try:
        for version in OLD_PYTHON:
            installed_python(version)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"Old releases of the Python SDK cannot be installed here: {error}")


@pytest.fixture(scope="module")
def http_sites() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield {door: stack.enter_context(served("uvicorn", 1, "--door", door)).url for door in ("consumer", "view")}


@pytest.fixture(scope="module")
def stdio_site(tmp_path_factory) -> Command:
    """With a database of its own, since nothing has migrated the one that the site would find."""
    env = {**SITE.env, "DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('stdio') / 'db.sqlite3'}"}
    migrate = [SITE.command, *SITE.args[:-1], "migrate", "--verbosity=0"]
    subprocess.run(migrate, env=env, cwd=SITE.cwd, check=True, timeout=120)
    return replace(SITE, env=env)


@pytest.fixture(params=["consumer", "view", "stdio"])
def site(request) -> Site:
    if request.param == "stdio":
        command: Command = request.getfixturevalue("stdio_site")
        return command
    url: str = request.getfixturevalue("http_sites")[request.param]
    return url
