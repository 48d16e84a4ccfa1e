"""The switches of the admin, as this process knows them.

The rows are read at most every ``CACHE_SECONDS`` while requests come in. In between a call costs a look
into memory, and nothing more on a server where nothing is switched off and nothing restricted.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import DatabaseError, Error, connections, router, transaction
from django.db.models import Q
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.dispatch import receiver

from django_mcp import inventory
from django_mcp.conf import mcp_settings
from django_mcp.events.kinds import Kind as Kinds
from django_mcp.events.log import append_after
from django_mcp.events.tail import on
from django_mcp.managers import Recent
from django_mcp.primitives.base import Primitive
from django_mcp.registry import Kind
from django_mcp.running import has_ancestor, run_store, running_loop
from django_mcp.running.threads import after_fork
from django_mcp.server.call import Call, Caller

if TYPE_CHECKING:
    from django_mcp.models import PrimitiveGroup, RegisteredPrimitive

P = TypeVar("P", bound=Primitive)
Key = tuple[str, str]  # kind, and name or URI

logger = logging.getLogger("django_mcp")


@dataclass(frozen=True, slots=True)
class Rules:
    """What is switched off on one server, and what is for some groups only, by their primary keys.

    ``restricted`` are the names or URIs of the latter, by kind.
    """

    off: frozenset[Key]
    groups: Mapping[Key, frozenset[Any]]
    restricted: Mapping[str, frozenset[str]]


Snapshot = Mapping[str, Rules]  # by server; those without a rule are not in it


class Switchboard:
    """Reads the switches and answers from what it has read."""

    def __init__(self) -> None:
        self._recent: Recent[Snapshot] = Recent(1)
        self._groups: Recent[frozenset[Any]] = Recent(1000)
        self._latest: Snapshot | None = None
        self.reset_lock()

    def reset_lock(self) -> None:
        """A forked child has not got the thread that may have held it."""
        self._lock = Lock()

    async def switched_on(self, call: Call, primitives: list[P]) -> list[P]:
        shared = _is_shared()
        if not shared:
            inventory.keep_in_step(call.server)
        known = None if shared else self._remembered()
        rules = (known if known is not None else await self._read_elsewhere()).get(call.server.name)
        if rules is None:
            return primitives
        found = [one for one in primitives if _key(one) not in rules.off]
        wanted = {key: rules.groups[key] for one in found if (key := _key(one)) in rules.groups}
        if not wanted or _passes_everywhere(call.caller.user):
            return found
        own = await self._groups_of(call.caller)
        return [one for one in found if (key := _key(one)) not in wanted or wanted[key] & own]

    def for_groups(self, call: Call, kind: Kind) -> Collection[str]:
        rules = (self._latest or {}).get(call.server.name)
        return () if rules is None else rules.restricted.get(kind.value, ())

    def freshen(self) -> None:
        """Read what is too old, for code that reads other rows of ours at this moment."""
        if not mcp_settings().cache_seconds or self._remembered() is not None or _shares_transaction():
            return
        try:
            self.read()
        except Error as error:
            self._keep(error)

    def read(self) -> Snapshot:
        """What the rows say, or memory if another thread has just read them."""
        if _shares_transaction():
            # That of a test or of a request: nobody else may ever see its rows, and it sees its own at once.
            self._latest = _load()
            return self._latest
        with self._lock:
            known = self._remembered()
            return self._remember(_load()) if known is None else known

    def forget(self) -> None:
        """Let the next request read. For whoever hears that something was changed; from any thread, without I/O."""
        self._recent.clear()
        self._groups.clear()

    async def _read_elsewhere(self) -> Snapshot:
        try:
            return await run_store(self.read)
        except Error as error:  # only here, since the store tries once more on a connection that was lost
            return self._keep(error)

    def _remembered(self) -> Snapshot | None:
        return self._recent.get("", mcp_settings().cache_seconds)

    def _remember(self, snapshot: Snapshot) -> Snapshot:
        self._latest = snapshot
        self._recent.put("", snapshot, _alias())
        return snapshot

    def _keep(self, error: Error) -> Snapshot:
        """Go on with what is known. Who has never read a switch lets nobody pass it."""
        if self._latest is None:
            raise error
        logger.error("The switches could not be read, so those read before stay in force: %s", error)
        return self._remember(self._latest)

    async def _groups_of(self, caller: Caller) -> frozenset[Any]:
        known = None if _is_shared() else self._groups.get(caller.principal, mcp_settings().cache_seconds)
        return await run_store(self._read_groups, caller) if known is None else known

    def _read_groups(self, caller: Caller) -> frozenset[Any]:
        if not getattr(caller.user, "is_authenticated", False) or not hasattr(caller.user, "groups"):
            return frozenset()
        rows = caller.user.groups.values_list("pk", flat=True)
        own = frozenset(rows)
        self._groups.put(caller.principal, own, rows.db)
        return own


switchboard = Switchboard()
after_fork(switchboard.reset_lock)


@cache
def _model() -> type[RegisteredPrimitive]:
    # Models cannot be imported before the apps are ready.
    from django_mcp.models import RegisteredPrimitive

    return RegisteredPrimitive


def _alias() -> str:
    return router.db_for_write(_model())


def _is_shared() -> bool:
    """Whether this call may see rows that nobody else does: under WSGI, where the request has a transaction."""
    return _shares_transaction() if running_loop() is None else has_ancestor()


def _shares_transaction() -> bool:
    return connections[_alias()].in_atomic_block


def _load() -> Snapshot:
    """One query, whatever there is."""
    rows = _model().objects.using(_alias()).filter(Q(enabled=False) | Q(groups__isnull=False))
    try:
        return _snapshot_of(rows.values_list("server", "kind", "key", "enabled", "groups"))
    except DatabaseError:
        if _shares_transaction() or inventory.has_table():
            raise
        # Nobody can have switched anything yet: a client of a site that was not migrated is served all the same.
        return {}


def _snapshot_of(rows: Iterable[tuple[str, str, str, bool, Any]]) -> Snapshot:
    off: dict[str, set[Key]] = {}
    groups: dict[str, dict[Key, set[Any]]] = {}
    restricted: dict[str, dict[str, set[str]]] = {}
    for server, kind, key, enabled, group in rows:
        if not enabled:
            off.setdefault(server, set()).add((kind, key))
        if group is not None:
            groups.setdefault(server, {}).setdefault((kind, key), set()).add(group)
            restricted.setdefault(server, {}).setdefault(kind, set()).add(key)
    return {
        server: Rules(
            frozenset(off.get(server, ())),
            {key: frozenset(group) for key, group in groups.get(server, {}).items()},
            {kind: frozenset(keys) for kind, keys in restricted.get(server, {}).items()},
        )
        for server in {*off, *groups}
    }


def _key(primitive: Primitive) -> Key:
    return Kind.of(primitive).value, primitive.key


def _passes_everywhere(user: Any) -> bool:
    """As with permissions, superusers need not be in a group. A switch that is off holds for them too."""
    return bool(getattr(user, "is_active", False) and getattr(user, "is_superuser", False))


@receiver((post_save, post_delete), sender="django_mcp.RegisteredPrimitive")
@receiver((post_save, post_delete, m2m_changed), sender="django_mcp.PrimitiveGroup")
def _forget(using: str, **kwargs: Any) -> None:
    """At once in this process. Once more after the commit: until then other threads read what was before."""
    switchboard.forget()
    transaction.on_commit(switchboard.forget, using=using)


@receiver((post_save, post_delete), sender="django_mcp.RegisteredPrimitive")
def _tell_switched(instance: RegisteredPrimitive, using: str, created: bool = False, **kwargs: Any) -> None:
    if not created:
        append_after(using, Kinds.CATALOGUE_CHANGED, server=instance.server)
        append_after(using, _LISTS[Kind(instance.kind)], server=instance.server)


@receiver((post_save, post_delete), sender="django_mcp.PrimitiveGroup")
def _tell_restricted(instance: PrimitiveGroup, using: str, **kwargs: Any) -> None:
    _tell_switched(instance.primitive, using)


_LISTS = {
    Kind.TOOL: Kinds.TOOLS_CHANGED,
    Kind.PROMPT: Kinds.PROMPTS_CHANGED,
    Kind.RESOURCE: Kinds.RESOURCES_CHANGED,
    Kind.TEMPLATE: Kinds.RESOURCES_CHANGED,
}
# Another process has switched something, or changed who is in which group.
on(Kinds.CATALOGUE_CHANGED, lambda entry: switchboard.forget())
on(Kinds.ACCESS_CHANGED, lambda entry: switchboard.forget())
