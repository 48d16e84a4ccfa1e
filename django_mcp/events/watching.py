"""Models drive live data: what is saved, deleted or linked is told to whoever has subscribed, after the commit.

Only models that some resource watches have receivers, since Django deletes others without loading them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from asgiref.sync import sync_to_async
from django.apps import apps
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from django_mcp.events.kinds import Kind
from django_mcp.events.log import append_after
from django_mcp.events.publishing import checked_uri

if TYPE_CHECKING:
    from django_mcp.server.server import Server

logger = logging.getLogger("django_mcp.events")

_UID = "django_mcp.events.watching"
_servers: WeakSet[Server] = WeakSet()


def follow(server: Server) -> None:
    """Listen to the models that the resources of a server watch, once the models are loaded."""
    _servers.add(server)
    if apps.models_ready:
        for model in _models_of(server):
            _connect(model)


def follow_all() -> None:
    """For what was registered before the models were loaded."""
    for server in list(_servers):
        follow(server)


def notify_objects_updated(objects: Iterable[Any]) -> None:
    """Tell the subscribers of the resources that watch these objects.

    For what Django changes without signals: ``bulk_create()``, ``bulk_update()`` and ``update()``.
    """
    for obj in objects:
        _publish(obj, obj._state.db)


async def anotify_objects_updated(objects: Iterable[Any]) -> None:
    """``notify_objects_updated`` for async code."""
    await sync_to_async(notify_objects_updated)(objects)


def _models_of(server: Server) -> Iterator[type[Model]]:
    for _, models in _watches(server):
        yield from models


def _watches(server: Server) -> Iterator[tuple[Any, tuple[type[Model], ...]]]:
    registry = server.registry
    for primitive in (*registry.resources.values(), *registry.templates.values()):
        if primitive.watch is not None:
            yield primitive, tuple(map(_resolved, primitive.watch.models))


def _resolved(model: Any) -> type[Model]:
    found: type[Model] = apps.get_model(model) if isinstance(model, str) else model
    return found


def _connect(model: type[Model]) -> None:
    """To the model and those that inherit from it, whose objects are its own too."""
    for one in (model, *_descendants(model)):
        post_save.connect(_saved, sender=one, dispatch_uid=_UID)
        post_delete.connect(_deleted, sender=one, dispatch_uid=_UID)
        for relation in one._meta.many_to_many:
            m2m_changed.connect(_linked, sender=relation.remote_field.through, dispatch_uid=_UID)


def _descendants(model: type[Model]) -> Iterator[type[Model]]:
    for one in model.__subclasses__():
        yield one
        yield from _descendants(one)


def _saved(instance: Any, using: str, raw: bool = False, **_kwargs: Any) -> None:
    if not raw:  # of a fixture, whose other rows may not be there yet
        _publish(instance, using)


def _deleted(instance: Any, using: str, **_kwargs: Any) -> None:
    _publish(instance, using)


def _linked(
    sender: Any, instance: Any, action: str, reverse: bool, model: Any, pk_set: Any, using: str, **_kwargs: Any
) -> None:
    """Either side may be watched. What is cleared from the other side is known beforehand only."""
    if action.startswith("post_"):
        _publish(instance, using)
    if pk_set and action in ("post_add", "post_remove"):
        others = model._base_manager.using(using).filter(pk__in=pk_set)
    elif action == "pre_clear":
        others = _linked_to(sender, instance, model, using)
    else:
        return
    for other in others:
        _publish(other, using)


def _linked_to(through: Any, instance: Any, model: Any, using: str) -> Iterable[Any]:
    """The objects on the other side of the links that are going to be cleared."""
    ours = next(
        field for field in through._meta.fields if field.is_relation and isinstance(instance, field.related_model)
    )
    theirs = next(field for field in through._meta.fields if field.is_relation and field is not ours)
    keys = through._base_manager.using(using).filter(**{ours.name: instance}).values(theirs.attname)
    return model._base_manager.using(using).filter(pk__in=keys)  # type: ignore[no-any-return]


def _publish(obj: Any, using: str) -> None:
    for server in list(_servers):
        for primitive in _watching(server, type(obj)):
            for uri in _uris(primitive, obj):
                append_after(using, Kind.RESOURCE_UPDATED, uri=uri, server=server.name)


@dataclass(frozen=True, slots=True)
class _Index:
    """The resources of a server by the model of an object, as of one version of its registry."""

    version: int
    by_model: dict[type, tuple[Any, ...]] = field(default_factory=dict)


_indexes: WeakKeyDictionary[Server, _Index] = WeakKeyDictionary()


def _watching(server: Server, model: type) -> tuple[Any, ...]:
    """The resources that watch objects of this class, which a save must not look for among all there are."""
    index = _indexes.get(server)
    if index is None or index.version != server.registry.version:
        index = _indexes[server] = _Index(server.registry.version)
    found = index.by_model.get(model)
    if found is None:
        found = tuple(primitive for primitive, models in _watches(server) if issubclass(model, models))
        index.by_model[model] = found
    return found


def _uris(primitive: Any, obj: Any) -> list[str]:
    try:
        return [checked_uri(uri) for uri in primitive.watch.uris(obj)]
    except Exception:  # the data is saved whatever becomes of the news
        logger.exception("uri_for of %s failed for %r", primitive.origin, obj)
        return []
