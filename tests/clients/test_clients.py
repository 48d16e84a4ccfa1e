"""Real clients of both eras get exactly what the fixture contract promises, through every door.

How the current ones fare under gunicorn is the business of test_gunicorn.py.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.conformance.served import served

from . import drivers
from .contract import MODES, OLD_PYTHON, OLD_TYPESCRIPT, check, check_inspector, check_old, check_typescript
from .inspector import inspector

pytestmark = pytest.mark.integration

URL = Callable[[str, str], str]


@pytest.fixture(scope="session")
def url_of() -> Iterator[URL]:
    """Gives the site's URL under a server and behind a door, which is started once for all tests."""
    urls: dict[tuple[str, str], str] = {}
    with ExitStack() as stack:

        def url(server: str, door: str) -> str:
            if (server, door) not in urls:
                urls[server, door] = stack.enter_context(served(server, 1, "--door", door)).url
            return urls[server, door]

        yield url


@pytest.fixture(params=["daphne-consumer", "uvicorn-consumer", "uvicorn-view"])
def url(request, url_of):
    return url_of(*request.param.split("-"))


# The doors differ more than the servers, so what is slow or old meets one server.
each_door = pytest.mark.parametrize("url", ["uvicorn-consumer", "uvicorn-view", "gunicorn-view"], indirect=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("driver", [drivers.python_sdk, drivers.fastmcp_client])
def test_python_client_gets_what_the_contract_promises(url, driver, mode):
    check(driver(url, mode), mode)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("package", "mode"), [("sdk", "legacy"), *(("client", mode) for mode in MODES)])
def test_typescript_client_gets_what_the_contract_promises(url, package, mode):
    check_typescript(drivers.typescript(package, url, mode), package, mode)


@each_door
@pytest.mark.usefixtures("old_python")
@pytest.mark.parametrize(("version", "revision"), OLD_PYTHON.items())
def test_old_python_client_gets_what_its_revision_knows(url, version, revision):
    check_old(drivers.old_python_sdk(version, url), revision)


@each_door
@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("package", "revision"), OLD_TYPESCRIPT.items())
def test_old_typescript_client_gets_what_its_revision_knows(url, package, revision):
    check_old(drivers.typescript(package, url, "legacy"), revision)


@each_door
@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("mode", MODES)
def test_inspector_gets_what_the_contract_promises(url, mode):
    check_inspector(inspector(url, mode), mode)
