"""What a list of primitives needs to know of them, read once for as long as nothing is registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from django_mcp.primitives.base import Primitive
from django_mcp.protocol.versions import Revision

P = TypeVar("P", bound=Primitive)


class Outline(Generic[P]):
    """Primitives in their order, with the place of each, so that a page costs no more than itself.

    What clients are told of one is put together once for each revision, unless it has texts that are
    translated: they are asked each time.
    """

    __slots__ = ("_places", "_translated", "_wires", "is_guarded", "is_translated", "primitives")

    def __init__(self, primitives: Mapping[str, P]) -> None:
        self.primitives = tuple(primitives.values())
        self._places = {key: place for place, key in enumerate(primitives, 1)}
        self.is_guarded = any(one.is_guarded for one in self.primitives)
        self._translated = frozenset(one.key for one in self.primitives if one.is_translated)
        self.is_translated = bool(self._translated)
        self._wires: dict[tuple[str, Revision], dict[str, Any]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def place_after(self, key: str) -> int | None:
        """Where the list goes on after this one, or ``None`` if it is not there any more."""
        return self._places.get(key)

    def to_wire(self, primitive: P, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it. It may be shared: copy what is to be changed."""
        if primitive.key in self._translated:
            return primitive.to_wire(revision)
        wire = self._wires.get((primitive.key, revision))
        if wire is None:
            wire = self._wires[primitive.key, revision] = primitive.to_wire(revision)
        return wire
