"""Serve one client over standard input and output, as desktop clients start their servers."""

from __future__ import annotations

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_mcp.management.asking import find_server
from django_mcp.transports.stdio_streams import take_over


class Command(BaseCommand):
    help = "Serves an MCP client over standard input and output. All other output goes to standard error."
    # Their findings are for whoever runs the site, and a client waits for its first answer.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", help="what the user logs in with (default: what anonymous may see)")
        parser.add_argument("--server", default="default", help="the name of the server (default: default)")

    def handle(self, *, user: str | None, server: str, **options: Any) -> None:
        channel = take_over()
        # Models cannot be imported before the apps are ready, and ``help`` imports every command.
        from django_mcp.transports.stdio_identity import UnusableUser
        from django_mcp.transports.stdio_process import serve

        try:
            asyncio.run(serve(find_server(server), user, channel))
        except UnusableUser as error:
            raise CommandError(*error.args) from None
