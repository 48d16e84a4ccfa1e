"""A fresh server, and what a site puts around its calls, forgotten after each test."""

import logging

import pytest

from django_mcp import MCPServer
from django_mcp.servers import _servers
from tests.server import around


@pytest.fixture
def desk():
    """A server of its own for each test; its middleware and the like are set by ``set_around``."""
    fresh = MCPServer("desk", settings={})
    yield fresh
    del _servers["desk"]


@pytest.fixture
def set_around(settings):
    def set_keys(**keys):
        settings.DJANGO_MCP = {"AUTHENTICATION": "django_mcp.auth.AllowAny", **keys}

    return set_keys


@pytest.fixture
def seen():
    around.seen.clear()
    yield around.seen
    around.seen.clear()


@pytest.fixture
def records(caplog):
    """The records of the log of calls."""
    caplog.set_level(logging.INFO, "django_mcp.calls")
    return lambda: [record for record in caplog.records if record.name == "django_mcp.calls"]
