"""The rules of structure that no linter checks: imports in a fresh interpreter, sizes, __all__, migrations."""

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import call_command

import django_mcp

ROOT = Path(__file__).resolve().parents[1]
MAX_FILE = 400
MAX_FUNCTION = 60

ROW_0 = ("exceptions", "protocol")
ROWS_0_TO_3 = (*ROW_0, "primitives", "registry", "server")

# Imports modules below an empty stand-in for the package, whose own __init__ may import anything, and
# prints the top-level packages that came with them and are neither the standard library's nor ours.
FOREIGN_IMPORTS = """
import importlib, json, sys, types
package = types.ModuleType("django_mcp")
package.__path__ = [sys.argv[1]]
sys.modules["django_mcp"] = package
before = set(sys.modules)
for name in sys.argv[2:]:
    importlib.import_module(name)
known = sys.stdlib_module_names | {"django_mcp"}
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(new - known)))
"""

MODELS_WITH_PACKAGE = """
import sys
import django_mcp
print("django_mcp.models" in sys.modules)
"""

MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|Users|work)/\w")
PLAN_WITHOUT_ISSUE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b(?!.*#\d)")


def test_rows_0_to_3_import_neither_django_nor_channels():
    assert not _foreign_imports(ROWS_0_TO_3) & {"channels", "daphne", "django", "rest_framework"}


def test_row_0_imports_the_standard_library_only():
    assert _foreign_imports(ROW_0) == set()


def test_importing_the_package_needs_no_settings_and_no_models():
    assert _fresh_interpreter(MODELS_WITH_PACKAGE).strip() == "False"


def test_no_file_is_too_long():
    lengths = {file: len(file.read_text().splitlines()) for file in _python_files()}
    assert {_name(file): lines for file, lines in lengths.items() if lines > MAX_FILE} == {}


def test_no_function_is_too_long():
    lengths = {}
    for file in _python_files():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                lengths[f"{_name(file)}:{node.name}"] = (node.end_lineno or first) - first + 1
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION} == {}


def test_all_is_sorted_and_complete():
    packages = [module for module in _imported_packages() if hasattr(module, "__all__")]
    assert django_mcp in packages
    for module in packages:
        exported = module.__all__
        assert list(exported) == sorted(exported, key=_place_in_all), module.__name__
        public = {name for name, value in vars(module).items() if _is_public(name, value)}
        assert public <= set(exported), module.__name__
        assert all(hasattr(module, name) for name in exported), module.__name__


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", "django_mcp", "helpdesk", check=True, dry_run=True, verbosity=0)


def test_nothing_is_fetched_from_anywhere():
    """SEC-09, SEC-10, AUTH-13: there is no HTTP client to pass tokens on or follow URLs with."""
    clients = {"aiohttp", "ftplib", "http.client", "httpx", "requests", "urllib.request", "urllib3"}
    imported = set()
    for file in (ROOT / "django_mcp").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert "urllib.parse" in imported
    assert not clients & imported


def test_no_file_names_a_path_of_one_machine():
    assert _lines_with(MACHINE_PATH) == []


def test_every_open_end_names_its_issue():
    assert _lines_with(PLAN_WITHOUT_ISSUE) == []


def _foreign_imports(rows):
    names = [module for module in _module_names() if module.split(".")[1] in rows]
    return set(json.loads(_fresh_interpreter(FOREIGN_IMPORTS, str(ROOT / "django_mcp"), *names)))


def _fresh_interpreter(code, *arguments):
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def _module_names():
    """Every module of the package, found without importing one."""
    files = sorted((ROOT / "django_mcp").rglob("*.py"))
    paths = [file.relative_to(ROOT).with_suffix("").parts for file in files]
    return [".".join(parts).removesuffix(".__init__") for parts in paths if parts != ("django_mcp", "__init__")]


def _imported_packages():
    found = pkgutil.walk_packages(django_mcp.__path__, "django_mcp.")
    return [django_mcp, *(importlib.import_module(info.name) for info in found if info.ispkg)]


def _is_public(name, value):
    return not name.startswith("_") and name != "annotations" and not isinstance(value, ModuleType)


def _place_in_all(name):
    """The order of ruff's RUF022: constants, classes, the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _python_files():
    folders = (ROOT / name for name in ("django_mcp", "example_project", "tests", "benchmarks"))
    files = [file for folder in folders for file in folder.rglob("*.py")]
    return sorted(file for file in files if "migrations" not in file.parts)


def _text_files():
    named = ("*.md", "*.toml", "*.ini", "*.yaml", ".ci/*", "docs/**/*.md", "tests/**/*.mjs", "tests/**/*.json")
    files = [file for pattern in named for file in ROOT.glob(pattern) if file.is_file()]
    return [*_python_files(), *files]


def _lines_with(pattern):
    return [
        f"{_name(file)}:{number}: {line.strip()}"
        for file in _text_files()
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def _name(file):
    return str(file.relative_to(ROOT))
