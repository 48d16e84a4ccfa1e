"""Autodiscovery: the ``mcp`` module of each installed app, all or nothing per module."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.apps.registry import Apps
from django.conf import settings
from django.db import router
from django.utils.module_loading import module_has_submodule

from django_mcp import inventory
from django_mcp.servers import all_servers, forget_servers
from django_mcp.switches import switchboard

MODULE = "mcp"


def autodiscover() -> None:
    """Import every app's ``mcp.py``, in the order of ``INSTALLED_APPS``.

    A module that somebody imported before counts as discovered: its decorators ran then. What a
    failing module registered is taken back, and its error is raised again with the app named in a note.
    """
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, MODULE):
            _import_module(config)


def load_urlconf() -> None:
    """Import the site's URLconf, since a server may be made where it is mounted instead of in an ``mcp.py``."""
    if (urlconf := getattr(settings, "ROOT_URLCONF", None)) is not None:
        import_module(urlconf)


def record_after_migrate(using: str, apps: Apps = apps, **kwargs: Any) -> None:
    """For ``post_migrate``: make and mark the rows of what is registered.

    Not of what URLconfs register, whose import may need tables that are still missing.
    """
    try:
        # As of the migration that was reached, which may be one without the table.
        model = apps.get_model("django_mcp", "RegisteredPrimitive")
    except LookupError:
        return
    if using == router.db_for_write(model) and router.allow_migrate_model(using, model):
        switchboard.forget()  # flush ends with this signal, too, and tells nobody which rows it took
        for server in all_servers():
            inventory.sync(server, model._default_manager.using(using).all())


def _import_module(config: AppConfig) -> None:
    name = f"{config.name}.{MODULE}"
    servers = all_servers()
    before = [server.registry.snapshot() for server in servers]
    try:
        import_module(name)
    except BaseException as error:
        forget_servers(servers)
        for server, snapshot in zip(servers, before, strict=True):
            server.registry.restore(snapshot)
        error.add_note(f"django_mcp could not import {name}, the MCP module of the app {config.label!r}.")
        raise
