"""What a client of ``subscriptions/listen`` or ``resources/subscribe`` asks to hear of, and what it may."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django_mcp.exceptions import InvalidArguments, ResourceNotFound
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.subscribing import SubscriptionHandler
from django_mcp.protocol.errors import ProtocolError, invalid_params, resource_not_found
from django_mcp.server.call import Call
from django_mcp.server.catalogue import Viewer
from django_mcp.server.failures import reported, tell_reporter
from django_mcp.server.params import read_object, read_string
from django_mcp.server.uris import is_uri

# What is behind a URI, and the variables that a template reads from it.
Found = tuple[ResourceDefinition | ResourceTemplateDefinition, dict[str, str]]

MAX_URIS = 1000
LISTS = ("tools", "prompts", "resources")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a stream carries: the lists whose changes it tells, and the resources whose updates."""

    lists: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lists or self.uris)

    def to_wire(self) -> dict[str, Any]:
        """The honoured subset, as the acknowledgement names it (SUB-02)."""
        wire: dict[str, Any] = {f"{name}ListChanged": True for name in self.lists}
        if self.uris:
            wire["resourceSubscriptions"] = list(self.uris)
        return wire


async def honoured(call: Call) -> Filter:
    """What of a listen request is served: lists that exist, and resources that the user may see and follow (SUB-13).

    Raises ``ProtocolError`` -32602 for a filter that is missing or malformed (SUB-01).
    """
    wanted = read_object(call, "notifications")
    lists = tuple([name for name in LISTS if _flag(wanted, f"{name}ListChanged") and _has(call.server, name)])
    viewer = Viewer(call)
    visible = await _visible(viewer, _uris(wanted))
    return Filter(lists=lists, uris=tuple([uri for uri, found in visible.items() if await _may(viewer, uri, found)]))


async def resources_subscribe(call: Call) -> dict[str, Any]:
    """RES-09, RES-15: what the user cannot read is as unknown as what is not there."""
    uri, viewer = read_string(call, "uri"), Viewer(call)
    found = (await _visible(viewer, [uri])).get(uri)
    if found is None:
        raise resource_not_found(uri, call.revision.era)
    answer = await _subscribing(viewer, uri, found)
    await call.sessions.subscribe(_session(call), uri)
    return answer


async def resources_unsubscribe(call: Call) -> dict[str, Any]:
    """Nobody is asked about what the user cannot read any more."""
    uri, viewer = read_string(call, "uri"), Viewer(call)
    answer: dict[str, Any] = {}
    if (found := (await _visible(viewer, [uri])).get(uri)) is not None:
        answer = await _agreed(viewer, uri, found, (*found[0].on_unsubscribe, *call.server.registry.on_unsubscribe))
    await call.sessions.unsubscribe(_session(call), uri)
    return answer


async def _may(viewer: Viewer, uri: str, found: Found) -> bool:
    """Whether no handler refuses. What they would say has no place in an acknowledgement of many URIs."""
    try:
        await _subscribing(viewer, uri, found)
    except ProtocolError as error:
        await tell_reporter(error, await viewer.context())
        return False
    return True


async def _subscribing(viewer: Viewer, uri: str, found: Found) -> dict[str, Any]:
    return await _agreed(viewer, uri, found, (*found[0].on_subscribe, *viewer.call.server.registry.on_subscribe))


async def _agreed(viewer: Viewer, uri: str, found: Found, handlers: Sequence[SubscriptionHandler]) -> dict[str, Any]:
    """The answer where no handler refuses. Of what two say under one name in ``_meta`` the first one's counts."""
    meta: dict[str, Any] = {}
    if handlers:
        errors, era = viewer.call.server.services.errors, viewer.call.revision.era
        with reported(errors, f"Subscription to {uri[:200]!r}"):
            try:
                for handler in handlers:
                    meta = {**await _asked(viewer, uri, found, handler), **meta}
            except Exception as error:
                if isinstance(error, ResourceNotFound) or errors.is_missing(error):
                    raise resource_not_found(uri, era) from None
                raise
    return {"_meta": meta} if meta else {}


async def _asked(viewer: Viewer, uri: str, found: Found, handler: SubscriptionHandler) -> dict[str, Any]:
    resource, variables = found
    services, context = viewer.call.server.services, await viewer.context()
    try:
        given = resource.bound(variables)
    except InvalidArguments:  # as it is for whoever reads it
        raise ResourceNotFound from None
    invocation = handler.prepare(uri, given, context, services.jsonable)
    meta: dict[str, Any] = await services.runner.run(invocation, viewer.call.locale, context)
    return meta


def _session(call: Call) -> Any:
    assert call.session is not None  # noqa: S101 - every legacy door refuses a request that has none
    return call.session


def offered_lists(server: Any) -> tuple[str, ...]:
    """The lists of a server that may change (X24): a legacy client was told of no others."""
    return tuple([name for name in LISTS if _has(server, name)])


def _has(server: Any, name: str) -> bool:
    return bool(getattr(server, f"has_{name}"))


def _flag(wanted: dict[str, Any], field: str) -> bool:
    value = wanted.get(field, False)
    if not isinstance(value, bool):
        raise invalid_params(f"notifications.{field} must be true or false")
    return value


def _uris(wanted: dict[str, Any]) -> list[str]:
    uris = wanted.get("resourceSubscriptions", [])
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise invalid_params("notifications.resourceSubscriptions must be a list of strings")
    if len(uris) > MAX_URIS:
        raise invalid_params(f"notifications.resourceSubscriptions has more than {MAX_URIS} entries")
    return list(dict.fromkeys(uris))


async def _visible(viewer: Viewer, uris: list[str]) -> dict[str, Found]:
    """What is behind each URI, where the caller may read it (RES-15)."""
    registry = viewer.call.server.registry
    found = {uri: one for uri in uris if is_uri(uri) and (one := registry.find_resource(uri)) is not None}
    allowed = {id(one) for one in await viewer.among({id(one): one for one, _ in found.values()}.values())}
    return {uri: behind for uri, behind in found.items() if id(behind[0]) in allowed}
