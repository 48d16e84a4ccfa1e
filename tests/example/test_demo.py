"""manage.py demo, without the server."""

import json
import shlex
import sys
from datetime import UTC, datetime
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.test import TestCase

from django_mcp.models import AccessToken
from example_project.helpdesk.management.commands.demo import address_of
from example_project.helpdesk.seeding import fill


class Server:
    """What daphne's does without its reactor: say that it is ready, and return at a signal."""

    abort_start = False

    def __init__(self, *, application, endpoints, ready_callable):
        assert callable(application)
        assert endpoints == ["tcp:port=8123:interface=127.0.0.1"]
        self.run = ready_callable


class BusyServer(Server):
    abort_start = True


class InterruptedServer(Server):
    def __init__(self, **options):
        super().__init__(**options)
        self.run = self.interrupt

    def interrupt(self):
        raise KeyboardInterrupt


def demo(server=Server):
    """The lines it prints, without the blanks around them."""
    out = StringIO()
    # The real module installs Twisted's reactor for the whole process.
    with patch.dict(sys.modules, {"daphne.server": SimpleNamespace(Server=server)}):
        call_command("demo", "--port", "8123", stdout=out)
    return [line.strip() for line in out.getvalue().splitlines()]


def value_of(lines, label):
    [line] = [line for line in lines if line.startswith(label)]
    return line.removeprefix(label).strip()


class DemoTests(TestCase):
    """On a desk that has a few tickets, which the command leaves alone."""

    @classmethod
    def setUpTestData(cls):
        fill(datetime(2026, 9, 1, 12, tzinfo=UTC), tickets=5)

    def test_it_prints_what_a_client_needs(self):
        lines = demo()
        assert value_of(lines, "MCP endpoint:") == "http://127.0.0.1:8123/mcp"
        token = AccessToken.objects.find(value_of(lines, "Token:"))
        assert token is not None
        assert token.user.username == "agent"
        admin, password = value_of(lines, "Admin: http://127.0.0.1:8123/admin/ as").split(" with the password ")
        user = authenticate(username=admin, password=password)
        assert user is not None
        assert user.is_superuser
        agent, password = value_of(lines, "Agent, for pages on which tools ask: log in as").split(" with the password ")
        assert authenticate(username=agent, password=password) == token.user

    def test_each_client_gets_its_line(self):
        lines = demo()
        bearer = f"Bearer {value_of(lines, 'Token:')}"
        following = dict(pairwise(lines))
        assert following["Claude Code:"].startswith(
            "claude mcp add --transport http helpdesk http://127.0.0.1:8123/mcp"
        )
        assert f'--header "Authorization: {bearer}"' in following["Inspector:"]
        for client, key in (
            ("VS Code, in .vscode/mcp.json:", "servers"),
            ("Cursor, in .cursor/mcp.json:", "mcpServers"),
        ):
            entry = json.loads(following[client])[key]["helpdesk"]
            assert entry["url"] == "http://127.0.0.1:8123/mcp"
            assert entry["headers"] == {"Authorization": bearer}
        python, manage, *arguments = shlex.split(following["Any client that starts its server itself:"])
        assert python == sys.executable
        assert Path(manage).is_absolute()
        assert Path(manage).is_file()
        assert arguments == ["mcp_stdio", "--user", "agent"]

    def test_a_second_run_has_a_new_token_in_place_of_the_old_one(self):
        first, second = (value_of(demo(), "Token:") for _ in range(2))
        assert AccessToken.objects.find(first) is None
        assert AccessToken.objects.find(second) is not None

    def test_a_port_that_is_in_use_is_an_error(self):
        with pytest.raises(CommandError, match="port 8123, which may be in use"):
            demo(BusyServer)

    def test_an_interrupt_at_the_start_is_no_error(self):
        assert "MCP endpoint" not in "\n".join(demo(InterruptedServer))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),  # noqa: S104  what a user may ask for
        ("::", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("desk.example", "http://desk.example:8000"),
    ],
)
def test_the_address_is_one_that_clients_can_open(host, address):
    assert address_of(host, 8000) == address
