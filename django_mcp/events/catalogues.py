"""Tells clients that a process serves another catalogue than those before it, or that code has changed it since.

What was announced stands in the database, by digest, so that of many workers one tells it, and during a
rolling restart each catalogue is told once an hour at most.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import Error, connections
from django.utils import timezone

from django_mcp.environment import is_test_run
from django_mcp.events.kinds import Kind
from django_mcp.events.numbering import append_numbered, log_alias
from django_mcp.protocol.versions import LATEST

if TYPE_CHECKING:
    from django_mcp.server.server import Server

logger = logging.getLogger("django_mcp.events")

AT_MOST_EVERY = timedelta(hours=1)
KEPT = timedelta(days=30)

_lock = threading.Lock()
_announced: dict[str, int] = {}  # the version of the registry, by server


def start_serving(server: Server) -> None:
    """Announce the catalogue of this process, once, and again when code has changed it. Never waits."""
    version = server.registry.version
    if _announced.get(server.name) == version or is_test_run():
        return
    with _lock:
        if _announced.get(server.name) == version:
            return
        _announced[server.name] = version
    threading.Thread(target=_announce, args=[server], name="mcp-catalogue", daemon=True).start()


def catalogue_changed(server: Server) -> None:
    """Code has registered or removed something; of interest once the process serves."""
    if server.name in _announced:
        start_serving(server)


def _announce(server: Server) -> None:
    try:
        announce(server)
    except Error as error:  # the next process to start tells it
        logger.warning("The catalogue of %r was not announced: %s", server.name, error)
    finally:
        connections.close_all()


def announce(server: Server) -> list[Kind]:
    """Publish what of the catalogue is new to the database; the kinds of these events."""
    return [kind for kind, digest in digests(server).items() if _is_new(server.name, kind, digest)]


def digests(server: Server) -> dict[Kind, str]:
    """What clients are shown of the three lists, in short. Languages and permissions do not count."""
    registry = server.registry
    lists: dict[Kind, list[Mapping[str, Any]]] = {
        Kind.TOOLS_CHANGED: [registry.tools],
        Kind.PROMPTS_CHANGED: [registry.prompts],
        Kind.RESOURCES_CHANGED: [registry.resources, registry.templates],
    }
    return {kind: _digest(one for part in parts for one in part.values()) for kind, parts in lists.items()}


def _digest(primitives: Iterable[Any]) -> str:
    definitions = [one.to_wire(LATEST) for one in primitives]
    return hashlib.sha256(json.dumps(definitions, default=str, sort_keys=True).encode()).hexdigest()


def _is_new(server: str, kind: Kind, digest: str) -> bool:
    from django_mcp.models import Catalogue

    rows = Catalogue.objects.using(log_alias()).filter(server=server, kind=kind)
    latest = rows.order_by("-announced", "-pk").first()
    now = timezone.now()
    if latest is None:  # the first one ever: nobody has seen another
        rows.get_or_create(server=server, kind=kind, digest=digest, defaults={"announced": now})
        return False
    if latest.digest == digest or rows.filter(digest=digest, announced__gt=now - AT_MOST_EVERY).exists():
        return False

    def note(seq: int) -> None:
        rows.update_or_create(server=server, kind=kind, digest=digest, defaults={"announced": now})
        rows.filter(announced__lt=now - KEPT).delete()

    append_numbered({"kind": kind, "server": server}, note)
    return True
