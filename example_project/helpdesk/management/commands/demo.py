"""The whole site in one command: database, data, accounts, server, and how to connect."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_mcp.models import AccessToken
from example_project.helpdesk.connecting import client_lines

ADMIN = "admin"
AGENT = "agent"
TOKEN_NAME = "demo"  # noqa: S105  a name, not a token
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  what a user may ask for


class Command(BaseCommand):
    help = "Serves the help desk with its data, and prints how to connect. Runs again without harm."
    # The tables that some checks look for are about to be made.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="the address to listen on; name those that others use in HELPDESK_HOSTS (default: 127.0.0.1)",
        )

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        started = time.monotonic()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("seed", stdout=self.stdout)
        token = new_token(agent())
        passwords = {user.get_username(): new_password(user) for user in (administrator(), agent())}

        def announce() -> None:
            self._announce(address_of(host, port), token, passwords, time.monotonic() - started)

        with suppress(KeyboardInterrupt):  # Ctrl-C before the server listens to signals itself
            serve(host, port, announce)

    def _announce(self, site: str, token: str, passwords: dict[str, str], seconds: float) -> None:
        url = f"{site}/mcp"
        lines = [
            f"Served after {seconds:.1f} seconds. Stop with Ctrl-C.",
            "",
            f"MCP endpoint: {url}",
            f"Token: {token}",
            f"Admin: {site}/admin/ as {ADMIN} with the password {passwords[ADMIN]}",
            f"Agent, for pages on which tools ask: log in as {AGENT} with the password {passwords[AGENT]}",
        ]
        for client, line in client_lines(url, token):
            lines += ["", f"{client}:", f"  {line}"]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def new_token(user: User) -> str:
    """A token that takes the place of the one of the last run."""
    AccessToken.objects.filter(user=user, name=TOKEN_NAME).delete()
    _token, value = AccessToken.objects.issue(user, name=TOKEN_NAME)
    return value


def administrator() -> User:
    """A superuser, who is made if there is none of this name."""
    user, _is_new = User.objects.get_or_create(username=ADMIN, defaults={"email": "admin@veloworks.example"})
    user.is_staff = user.is_superuser = user.is_active = True
    user.save()
    return user


def agent() -> User:
    """The user whose token clients get."""
    return User.objects.get(username=AGENT)


def new_password(user: User) -> str:
    password = secrets.token_urlsafe(9)
    user.set_password(password)
    user.save()
    return password


def address_of(host: str, port: int) -> str:
    """Where a client on this machine finds the site."""
    name = "127.0.0.1" if host in EVERY_ADDRESS else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def serve(host: str, port: int, announce: Callable[[], None]) -> None:
    """Serve until a signal; ``announce`` is called once clients can connect."""
    # Both claim things for the whole process: Twisted's reactor, and the application with its endpoints.
    from daphne.endpoints import build_endpoint_description_strings
    from daphne.server import Server

    from example_project.asgi import application

    pages: Any = application  # the handler asks for one of Django's, and only calls it
    server = Server(
        application=ASGIStaticFilesHandler(pages),
        endpoints=build_endpoint_description_strings(host=host, port=port),
        ready_callable=announce,
    )
    server.run()
    if server.abort_start:
        raise CommandError(f"Cannot listen on {host} port {port}, which may be in use. Try another one: --port 8001.")
