"""Who may see what.

What a user may never do does not exist for them: it is missing from lists and answered as unknown,
with the same bytes.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from django_mcp.primitives.base import Permission, Primitive
from django_mcp.primitives.permissions import is_allowed
from django_mcp.server.call import Call
from django_mcp.server.context import Context

P = TypeVar("P", bound=Primitive)

logger = logging.getLogger("django_mcp.server")

# In this order: what the user may not do is not asked whether it would be shown.
_CONDITIONS: tuple[Callable[[Primitive], Permission], ...] = (attrgetter("permission"), attrgetter("visible"))


async def open_context(call: Call) -> Context:
    """The context of a call, filled by the site's context processors."""
    context = call.context or Context(call)
    context.fill(await call.server.services.context_values(context))
    return context


class Viewer:
    """What the caller of one request may see. Each condition is asked once, in one hop to the site's code."""

    def __init__(self, call: Call, context: Context | None = None) -> None:
        self.call = call
        self._context = context
        self._verdicts: dict[Any, bool] = {}

    async def context(self) -> Context:
        """The context of the call, opened when the first condition asks for it."""
        if self._context is None:
            self._context = await open_context(self.call)
        return self._context

    async def among(self, primitives: Iterable[P]) -> list[P]:
        """Those primitives that the caller may use, in their order."""
        seen = await self.call.server.services.switches.switched_on(self.call, list(primitives))
        if not any(one.is_guarded for one in seen):
            return seen
        for condition in _CONDITIONS:
            seen = await self._fulfilling(condition, seen)
        return seen

    async def _fulfilling(self, condition: Callable[[Primitive], Permission], primitives: list[P]) -> list[P]:
        keys = [_key(condition(one)) for one in primitives]
        asked = {key: condition(one) for key, one in zip(keys, primitives, strict=True) if key not in self._verdicts}
        asked.pop(None, None)
        if asked:
            context = await self.context()
            answers = await self.call.server.services.runner.call(_ask, asked, context)
            for key, answer in answers.items():
                self._verdicts[key] = await _settled(asked[key], answer)
        return [one for key, one in zip(keys, primitives, strict=True) if key is None or self._verdicts[key]]


async def permitted(call: Call, primitives: Iterable[P], context: Context | None = None) -> list[P]:
    """Those primitives that the caller may use, in their order."""
    return await Viewer(call, context).among(primitives)


async def find_permitted(call: Call, primitive: P | None, context: Context) -> P | None:
    """The primitive, or ``None`` where the caller may not know of it."""
    return primitive if primitive is not None and await permitted(call, [primitive], context) else None


def _key(condition: Permission) -> Any:
    """What tells conditions apart: an object need not have a hash, such as that of a dataclass."""
    try:
        hash(condition)
    except TypeError:
        return id(condition)
    return condition


def _ask(asked: Mapping[Any, Permission], context: Context) -> dict[Any, Any]:
    return {key: _ask_one(condition, context) for key, condition in asked.items()}


def _ask_one(condition: Permission, context: Context) -> Any:
    try:
        return is_allowed(condition, context)
    except Exception:  # a broken condition closes the door instead of failing the whole list
        logger.exception("Permission %r failed and counts as refused", condition)
        return False


async def _settled(condition: Permission, answer: Any) -> bool:
    try:
        return bool(await answer if inspect.isawaitable(answer) else answer)
    except Exception:  # as above
        logger.exception("Permission %r failed and counts as refused", condition)
        return False
