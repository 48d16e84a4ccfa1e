"""Who the client of a process is, and what the process keeps open for it."""

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.db.backends.signals import connection_created
from django.test import override_settings

from django_mcp.running import close_lanes
from django_mcp.transports.stdio_identity import NamedUser, find_user

from .client import LIMIT, talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("name", [None, "ann"])
def test_nobody_is_asked_for_a_token(name):
    """STD-13: who started the process says who its user is, whatever HTTP clients have to show."""
    User.objects.create_user("ann")

    async def steps(client):
        assert await client.call("whoami") == (name or "AnonymousUser")
        assert (await client.initialize())["result"]
        assert "result" in await client.legacy("tools/list")

    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken"}):
        talk(steps, identity=NamedUser(find_user(name)) if name else None)


def test_no_request_finds_the_connection_of_one_long_ago(monkeypatch):
    """STD-16: as long as the process lives, each request opens and closes its own if the site keeps none."""
    opened = []

    def note(connection, **kwargs):
        opened.append(connection.alias)

    async def steps(client):
        for _ in range(3):
            before = len(opened)
            assert await client.call("count_rows") == "0"
            assert len(opened) > before
            await client.exchange.drain(LIMIT)

    close_lanes(LIMIT)  # some may have kept a connection since an earlier test
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    connection_created.connect(note)
    try:
        talk(steps)
    finally:
        connection_created.disconnect(note)
