"""``resources/list``, ``resources/templates/list`` and ``resources/read``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django_mcp.exceptions import InvalidArguments, ResourceNotFound
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.contents import ContentsWriter, ReadResult
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.protocol.content import ResourceLink
from django_mcp.protocol.errors import invalid_params, resource_not_found
from django_mcp.protocol.results import CacheHint
from django_mcp.registry import Kind
from django_mcp.server.call import Call
from django_mcp.server.catalogue import Viewer, find_permitted, open_context
from django_mcp.server.context import Context
from django_mcp.server.failures import reported
from django_mcp.server.listing import Entry, list_page, varies
from django_mcp.server.params import read_string
from django_mcp.server.spending import keeping
from django_mcp.server.uris import is_uri

Readable = ResourceDefinition | ResourceTemplateDefinition


async def resources_list(call: Call) -> dict[str, Any]:
    """The registered resources, then those that templates list for this caller (S106)."""
    templates = [one for one in call.server.registry.templates.values() if one.rows is not None]
    if not templates:
        return await list_page(call, Kind.RESOURCE, "resources")
    viewer = Viewer(call)
    context = await viewer.context()
    sources = [Listed(call, context, template) for template in await viewer.among(templates)]
    return await list_page(call, Kind.RESOURCE, "resources", sources)


class Listed:
    """The resources that one template lists."""

    def __init__(self, call: Call, context: Context, template: ResourceTemplateDefinition) -> None:
        self.key = template.key
        self._call = call
        self._context = context
        self._template = template

    async def take(self, position: Any, count: int | None) -> list[Entry]:
        """One query, unless rows have the URI of a registered resource, which is listed itself."""
        assert count is not None  # noqa: S101 - list_page gives lists of rows a size
        registered = self._call.server.registry.resources
        found: list[Entry] = []
        while True:
            asked = count - len(found)
            pairs = await self._read(position, asked)
            with self._call.server.services.activate(self._call.locale):
                found += [
                    Entry(place, link.to_entry(self._call.revision))
                    for place, link in pairs
                    if link.uri not in registered
                ]
            if len(pairs) < asked or len(found) == count:
                return found
            position, _ = pairs[-1]

    async def _read(self, position: Any, count: int) -> list[tuple[Any, ResourceLink]]:
        services, rows = self._call.server.services, self._template.rows
        assert rows is not None  # noqa: S101 - see resources_list
        with reported(services.errors, f"List of {self._template.name}"):
            invocation = rows.prepare(self._context, position, count, services.read_rows)
            pairs: list[tuple[Any, ResourceLink]] = await services.runner.run(invocation, self._call.locale)
            return pairs


async def resources_templates_list(call: Call) -> dict[str, Any]:
    return await list_page(call, Kind.TEMPLATE, "resourceTemplates")


async def resources_read(call: Call) -> dict[str, Any]:
    """Read one URI. Raises ``ProtocolError``, see ``resource_not_found``; -32603 for what fails in it."""
    uri = read_string(call, "uri")
    if not is_uri(uri):
        raise invalid_params("uri is not a URI", data={"uri": uri})
    context = await open_context(call)
    resource, result = await _answer(call, uri, context)
    if result is None:
        raise resource_not_found(uri, call.revision.era)
    wire = result.to_wire(call.revision)
    if resource is not None and (hint := _cache_hint(call, resource)) is not None:
        wire.update(hint.to_wire(call.revision))
    return wire


async def _answer(call: Call, uri: str, context: Context) -> tuple[Readable | None, ReadResult | None]:
    """The function of the first resource or template that the URI stands for answers.

    Where that one is only listed, or there is none, the readers are asked before the next.
    """
    readers_asked = False
    for resource, variables in call.server.registry.find_resources(uri):
        if await find_permitted(call, resource, context) is None:
            return None, None
        if not resource.is_listed_only:
            with reported(call.server.services.errors, _subject(uri)):
                return resource, await _read(call, uri, resource.prepare, variables, context, resource.mime_type)
        if not readers_asked:
            readers_asked = True
            if (result := await _ask_readers(call, uri, resource.writer, context)) is not None:
                return resource, result
    return None, None if readers_asked else await _ask_readers(call, uri, ContentsWriter(mime_type=None), context)


async def _ask_readers(call: Call, uri: str, writer: ContentsWriter, context: Context) -> ReadResult | None:
    for reader in call.server.registry.readers:
        with reported(call.server.services.errors, _subject(uri)):
            result = await _read(call, uri, reader.prepare, writer, context, writer.mime_type)
        if result is not None:
            return result
    return None


def _cache_hint(call: Call, resource: Readable) -> CacheHint | None:
    """Its own hint, if it has one. What may depend on the caller is never public by the server's (CACHE-04)."""
    if resource.key in call.server.services.switches.for_groups(call, Kind.of(resource)):  # unknown to its author
        return replace(resource.cache or call.server.cache, scope="private")
    if resource.cache is None and (
        resource.is_guarded or resource.signature.context_name is not None or varies(call, is_translated=False)
    ):
        return CacheHint(ttl_ms=call.server.cache.ttl_ms)
    return resource.cache


async def _read(
    call: Call,
    uri: str,
    prepare: Callable[..., Invocation],
    given: Any,
    context: Context,
    mime_type: str | None,
) -> ReadResult | None:
    services = call.server.services
    try:
        invocation = prepare(uri, given, context, services.jsonable)
        with_files = partial(_finish, services.read_files, mime_type, invocation.finish)
        invocation = replace(invocation, finish=with_files)
        result: ReadResult | None = await services.runner.run(keeping(call, invocation), call.locale, context)
        return result
    except (InvalidArguments, ResourceNotFound):
        # A variable that does not fit its annotation names nothing that exists.
        raise resource_not_found(uri, call.revision.era) from None
    except Exception as error:
        if services.errors.is_missing(error):
            raise resource_not_found(uri, call.revision.era) from None
        raise


def _finish(
    read_files: Callable[[Any, str | None], Any], mime_type: str | None, finish: Callable[[Any], Any], value: Any
) -> Any:
    return finish(read_files(value, mime_type))


def _subject(uri: str) -> str:
    """The URI for the log: a client made it up, so neither its line breaks nor all of its length get there."""
    return f"Resource {uri[:200]!r}"
