"""The checks look at every server of the process, so other tests' servers are put aside here."""

import pytest

from django_mcp import MCPServer, default_server, servers


@pytest.fixture(autouse=True)
def only_the_default_server():
    before = servers.all_servers()
    servers.forget_servers((default_server,))
    yield
    servers.forget_servers(before)


@pytest.fixture
def make_server():
    return MCPServer
