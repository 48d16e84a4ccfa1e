"""Real clients of both eras start the fixture site themselves, and get over stdio what they get over HTTP."""

import os
import sys
from pathlib import Path

import pytest

from . import drivers
from .contract import MODES, OLD_PYTHON, OLD_TYPESCRIPT, check, check_inspector, check_old, check_typescript
from .inspector import inspector

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
# Clients hand on a few variables only, so what the site needs is spelled out.
SITE = drivers.Command(
    command=sys.executable,
    args=[str(ROOT / "tests" / "conformance" / "manage.py"), "mcp_stdio"],
    env={"PATH": os.environ["PATH"], "PYTHONWARNINGS": "default"},
    cwd=str(ROOT),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("driver", [drivers.python_sdk, drivers.fastmcp_client])
def test_python_client_gets_what_the_contract_promises(driver, mode):
    check(driver(SITE, mode), mode)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("package", "mode"), [("sdk", "legacy"), *(("client", mode) for mode in MODES)])
def test_typescript_client_gets_what_the_contract_promises(package, mode):
    check_typescript(drivers.typescript(package, SITE, mode), package, mode)


@pytest.mark.usefixtures("old_python")
@pytest.mark.parametrize(("version", "revision"), OLD_PYTHON.items())
def test_old_python_client_gets_what_its_revision_knows(version, revision):
    check_old(drivers.old_python_sdk(version, SITE), revision)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize(("package", "revision"), OLD_TYPESCRIPT.items())
def test_old_typescript_client_gets_what_its_revision_knows(package, revision):
    check_old(drivers.typescript(package, SITE, "legacy"), revision)


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("mode", MODES)
def test_inspector_gets_what_the_contract_promises(mode):
    check_inspector(inspector(SITE, mode), mode)
