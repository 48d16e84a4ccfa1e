"""What tells readers that the log has grown. A bell only shortens the wait: every reader looks by itself too.

In this process it is an event of the reader. Other processes hear PostgreSQL's NOTIFY or a channel layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from django.conf import settings

from django_mcp.conf import mcp_settings

CHANNEL = "django_mcp"  # of PostgreSQL, and the group of a channel layer
_IN_MEMORY = "channels.layers.InMemoryChannelLayer"


class Ear(Protocol):
    """Hears other processes, on a thread of its own."""

    @property
    def hears(self) -> bool:
        """Whether it was proved to hear; until then the log is looked at often."""

    def close(self) -> None: ...


# How the default channel layer is found; handed in by the app configuration, which may know Channels.
find_layer: Callable[[], Any] = lambda: None  # noqa: E731 - it is replaced

_listeners: set[Callable[[], None]] = set()


def on_ring(listener: Callable[[], None]) -> Callable[[], None]:
    """Call ``listener`` at every ring in this process; returns what ends that."""
    _listeners.add(listener)
    return lambda: _listeners.discard(listener)


def ring_here() -> None:
    for listener in list(_listeners):
        listener()


def ring() -> None:
    """Tell every process. Never waits and never fails."""
    ring_here()
    if mcp_settings().doorbell == "auto" and has_layer():
        from django_mcp.events.layer_bell import sender

        sender.ring()


def ring_for_rows(connection: Any) -> None:
    """Tell every process to look at rows that are no events. On a thread that may use the connection."""
    announce(connection)
    ring()


def announce(connection: Any) -> None:
    """Tell the readers on PostgreSQL, as part of the transaction that is open, such as the one that numbers events."""
    if connection.vendor == "postgresql" and mcp_settings().doorbell == "auto" and not has_layer():
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")


def open_ear(alias: str, vendor: str) -> Ear:
    """What hears other processes; one that is deaf where there is nothing to hear with."""
    if mcp_settings().doorbell == "auto":
        if has_layer():
            from django_mcp.events.layer_bell import LayerEar

            return LayerEar(ring_here)
        if vendor == "postgresql":
            from django_mcp.events.postgres_bell import PostgresEar

            return PostgresEar(alias, ring_here)
    return Deaf()


class Deaf:
    hears = False

    def close(self) -> None:
        pass


def has_layer() -> bool:
    """Whether the default channel layer reaches other processes."""
    layers = getattr(settings, "CHANNEL_LAYERS", None) or {}
    return bool(layers.get("default", {}).get("BACKEND", _IN_MEMORY) != _IN_MEMORY)
