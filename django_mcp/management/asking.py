"""What the commands share that ask a server as a client would."""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_mcp.discovery import load_urlconf
from django_mcp.servers import MCPServer, all_servers, get_server


def find_server(name: str) -> MCPServer:
    """The server of this name, which may be made where it is mounted instead of in an ``mcp.py``."""
    if name not in {server.name for server in all_servers()}:
        load_urlconf()
    try:
        return get_server(name)
    except LookupError as error:
        raise CommandError(*error.args) from None


class AskingCommand(BaseCommand):
    """A command that is a client. Errors of the server go to standard error in plain words, with exit code 1."""

    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", help="what the user logs in with (default: what anonymous may see)")
        parser.add_argument("--server", default="default", help="the name of the server (default: default)")

    def ask(self, options: dict[str, Any], method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The result, or ``None`` for a method that the server does not have."""
        return async_to_sync(_ask)(find_server(options["server"]), options["user"], method, params)

    def write_json(self, value: Any) -> None:
        self.stdout.write(json.dumps(value, ensure_ascii=False, indent=2))


async def _ask(server: MCPServer, user: str | None, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    # Models cannot be imported before the apps are ready, and ``help`` imports every command.
    from django_mcp.protocol.errors import METHOD_NOT_FOUND
    from django_mcp.transports.in_process import Conversation, MCPError
    from django_mcp.transports.stdio_identity import UnusableUser, open_identity

    try:
        return await Conversation(server, await open_identity(user)).request(method, params)
    except UnusableUser as error:
        raise CommandError(*error.args) from None
    except MCPError as error:
        if error.code == METHOD_NOT_FOUND:
            return None
        raise CommandError(str(error)) from None
