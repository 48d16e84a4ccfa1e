"""A fresh server behind the endpoint of the suite, and somebody who asks it."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import override_settings

from django_mcp import MCPServer
from django_mcp.auth import Authentication
from django_mcp.server.call import Caller
from django_mcp.servers import _servers
from tests.wire.client import WireClient
from tests.wire.doors import consumer


class WhoeverAsks(Authentication):
    """Everybody is ``user``, which a test may change."""

    uses_database = False
    user = AnonymousUser()

    def authenticate(self, request):
        return Caller(user=self.user, principal=self.principal_for(self.user))


@pytest.fixture
def path_params():
    return {}


@pytest.fixture
def server(monkeypatch, db, path_params):
    fresh = MCPServer("fresh")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, path_params))
    yield fresh
    del _servers["fresh"]


@pytest.fixture
def caller(server):
    """Set ``caller.user`` to be somebody else."""
    found = WhoeverAsks()
    with override_settings(DJANGO_MCP={"AUTHENTICATION": found}):
        yield found


@pytest.fixture
def client(caller):
    return WireClient(consumer())


@pytest.fixture
def staff():
    return User.objects.create(username="staffer", is_staff=True)


@pytest.fixture(params=["modern", "2025-11-25"])
def era(request):
    return request.param
