"""Runs the Python blocks of the README and of the pages in docs/, in the order they are given.

A block in a comment (``<!-- invisible-code-block: python``) checks what the page says about the blocks
before it. ``ask`` and its kin are for these: they send one modern request through Django's test client.
"""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.test import Client, TestCase, override_settings
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser

from django_mcp import all_servers, default_server
from django_mcp.auth import Authentication
from django_mcp.registry import Snapshot
from django_mcp.server.call import Caller
from django_mcp.servers import forget_servers

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = (README, *sorted(DOCS.glob("*.md")))

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def table_rows(page: str) -> list[list[str]]:
    """The cells of every row of every table on a page, code marks taken off, heads included."""
    lines = (DOCS / page).read_text().splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in row] for row in rows]


@contextmanager
def run(page: Path) -> Iterator[dict[str, Any]]:
    """The namespace that the blocks of ``page`` leave; what they registered is there inside the block."""
    document = Document.parse(str(page), PythonCodeBlockParser())
    servers = all_servers()
    with default_server.registry.override() as registry:
        registry.restore(Snapshot())
        try:
            for example in document.examples():
                example.evaluate()
            yield document.namespace
        finally:
            forget_servers(servers)


class _As(Authentication):
    """Everybody is this user."""

    uses_database = False

    def __init__(self, user: Any) -> None:
        self.user = user

    def authenticate(self, request: Any) -> Caller:
        return Caller(user=self.user, principal=self.principal_for(self.user))


def ask(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    user: Any = None,
    path: str = "/mcp",
    urlpatterns: Any = None,
    headers: dict[str, str] | None = None,
    settings: dict[str, Any] | None = None,
    meta: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The answer to one request: a dict with ``result`` or ``error``."""
    params = dict(params or {})
    own = {"MCP-Protocol-Version": REVISION, "Mcp-Method": method}
    if method in NAMED_BY:
        own["Mcp-Name"] = params[NAMED_BY[method]]
    params["_meta"] = {f"{META}protocolVersion": REVISION, f"{META}clientCapabilities": {}, **(meta or {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    overrides: dict[str, Any] = {"DJANGO_MCP": {"AUTHENTICATION": _As(user or AnonymousUser()), **(settings or {})}}
    if urlpatterns is not None:
        overrides["ROOT_URLCONF"] = tuple(urlpatterns)
    with override_settings(**overrides):
        answer = Client().post(path, body, content_type="application/json", headers={**own, **(headers or {})})
    found: dict[str, Any] = answer.json()
    return found


def call(tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """The result of a tool."""
    result: dict[str, Any] = ask("tools/call", {"name": tool, "arguments": arguments or {}}, **options)["result"]
    return result


def text(result: dict[str, Any]) -> str:
    """The one text of a tool's result."""
    [block] = result["content"]
    return str(block["text"])


def listed(kind: str, **options: Any) -> dict[str, dict[str, Any]]:
    """The definitions of ``tools/list`` and its kin, by name."""
    items = next(value for value in ask(f"{kind}/list", **options)["result"].values() if isinstance(value, list))
    return {item["name"]: item for item in items}


def run_test_cases(namespace: dict[str, Any]) -> int:
    """How many tests of the ``TestCase`` classes that a page has written passed; each one has to."""
    classes = [one for one in namespace.values() if isinstance(one, type) and one.__module__ != TestCase.__module__]
    cases = [one for one in classes if issubclass(one, TestCase)]
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    outcome = suite.run(unittest.TestResult())
    assert outcome.wasSuccessful(), outcome.errors + outcome.failures
    return outcome.testsRun
