"""The app configurations: with autodiscovery of every app's ``mcp.py``, or without."""

from __future__ import annotations

import sys
from types import ModuleType

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from django_mcp import discovery
from django_mcp.transports.stdio_streams import take_over


class SimpleMCPConfig(AppConfig):
    """Registers nothing by itself: the site imports what it wants to offer."""

    name = "django_mcp"
    label = "django_mcp"
    verbose_name = _("Model Context Protocol")
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, app_name: str, app_module: ModuleType) -> None:
        # The first code of ours that Django's start-up calls: before any model, ready() or system check.
        if sys.argv[1:2] == ["mcp_stdio"]:
            take_over()
        super().__init__(app_name, app_module)

    def ready(self) -> None:
        # Reads the servers, which import models of Django's.
        from channels.layers import get_channel_layer

        from django_mcp.checks import register_checks
        from django_mcp.events import doorbells
        from django_mcp.events.access import watch_access
        from django_mcp.events.watching import follow_all

        register_checks()
        watch_access()
        follow_all()
        doorbells.find_layer = get_channel_layer
        post_migrate.connect(discovery.record_after_migrate, sender=self)


class MCPConfig(SimpleMCPConfig):
    """The default: imports the ``mcp`` module of each installed app."""

    default = True

    def ready(self) -> None:
        super().ready()
        discovery.autodiscover()
