"""Pages of lists: one or several sources after each other, each of which knows how to go on after an entry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from django_mcp.primitives.base import Primitive
from django_mcp.primitives.outline import Outline
from django_mcp.protocol.errors import invalid_params
from django_mcp.protocol.pagination import decode_cursor, encode_cursor, invalid_cursor
from django_mcp.registry import Kind
from django_mcp.server.call import Call
from django_mcp.server.catalogue import Viewer
from django_mcp.server.icons import complete_icons

ROWS = 100  # entries a page has where nothing says otherwise and rows of the database are among them


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list as the wire shows it, and the ``position`` to go on after: any JSON."""

    position: Any
    wire: dict[str, Any]


class Source(Protocol):
    """Where entries come from. ``key`` tells the sources of one list apart, in cursors."""

    key: str

    async def take(self, position: Any, count: int | None) -> list[Entry]:
        """At most ``count`` entries (``None``: all) after the position (``None``: from the beginning).

        Raises ``ProtocolError`` -32602 for a position that is not there any more.
        """


async def list_page(call: Call, kind: Kind, result_key: str, more: Sequence[Source] | None = None) -> dict[str, Any]:
    """One page of a list: the registered primitives, then ``more`` (PAG-01..06).

    ``None`` means that there is no more for anybody, an empty list that there is none for this caller.
    """
    outline: Outline[Primitive] = call.server.registry.snapshot().outline(kind)
    sources = [Registered(call, outline), *(more or ())]
    size = call.server.listing_page_size() or (ROWS if more else None)
    entries, last = await _page(sources, _read_cursor(call), size)
    result: dict[str, Any] = {result_key: [entry.wire for entry in entries]}
    complete_icons(result[result_key], call.source)
    if last is not None:
        services = call.server.services
        result["nextCursor"] = encode_cursor(services.sealer, call.request.method, call.caller.principal, last)
    is_personal = any(key in outline for key in call.server.services.switches.for_groups(call, kind))
    is_shared = more is None and not outline.is_guarded and not is_personal
    if not is_shared or varies(call, is_translated=outline.is_translated):
        # Not everybody sees the same list, whatever the server promises (CACHE-07).
        result.update(replace(call.server.cache, scope="private").to_wire(call.revision))
    return result


def varies(call: Call, *, is_translated: bool) -> bool:
    """Whether another caller may get another answer: in another language, or under another path (CACHE-04)."""
    return bool(call.source.path_params) or (is_translated and call.server.services.has_languages())


class Registered:
    """The registered primitives of a kind that the caller may see."""

    key = ""

    def __init__(self, call: Call, outline: Outline[Primitive]) -> None:
        self._call = call
        self._outline = outline

    async def take(self, position: Any, count: int | None) -> list[Entry]:
        shown = await self._seen(self._start(position), count)
        with self._call.server.services.activate(self._call.locale):
            return [Entry(one.key, self._wire(one)) for one in shown]

    def _wire(self, primitive: Primitive) -> dict[str, Any]:
        wire = self._outline.to_wire(primitive, self._call.revision)
        # Icons are completed for the one who asks.
        return {**wire} if "icons" in wire else wire

    def _start(self, position: Any) -> int:
        if position is None:
            return 0
        start = self._outline.place_after(position) if isinstance(position, str) else None
        if start is None:
            raise invalid_cursor()
        return start

    async def _seen(self, first: int, count: int | None) -> list[Primitive]:
        """No more of them are asked about than the page needs."""
        viewer, everything = Viewer(self._call), self._outline.primitives
        if count is None:
            return await viewer.among(everything[first:])
        shown: list[Primitive] = []
        for start in range(first, len(everything), count):
            shown += await viewer.among(everything[start : start + count])
            if len(shown) >= count:
                break
        return shown[:count]


async def _page(sources: Sequence[Source], after: str | None, size: int | None) -> tuple[list[Entry], str | None]:
    """The entries of the page, and the text of the cursor that goes on after them if there are more."""
    first, position = (0, None) if after is None else _read_place(sources, after)
    found: list[tuple[Source, Entry]] = []
    for source in sources[first:]:
        count = None if size is None else size + 1 - len(found)
        found += [(source, entry) for entry in await source.take(position, count)]
        position = None
        if size is not None and len(found) > size:
            source, entry = found[size - 1]
            return [entry for _, entry in found[:size]], json.dumps([source.key, entry.position])
    return [entry for _, entry in found], None


def _read_place(sources: Sequence[Source], after: str) -> tuple[int, Any]:
    """The source that a cursor of ours names, and the position in it."""
    try:
        key, position = json.loads(after)
    except (TypeError, ValueError):  # another version of ours has signed it
        raise invalid_cursor() from None
    for place, source in enumerate(sources):
        if source.key == key:
            return place, position
    raise invalid_cursor()


def _read_cursor(call: Call) -> str | None:
    cursor = call.params.get("cursor")
    if cursor is None:
        return None
    if not isinstance(cursor, str):
        raise invalid_params("cursor must be a string")
    return decode_cursor(call.server.services.sealer, call.request.method, call.caller.principal, cursor)
