"""``on_subscribe`` and ``on_unsubscribe``: functions of the site that every subscription has to pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.functions import is_async, is_same_code, read_origin
from django_mcp.primitives.jsonable import JSONDefault, to_jsonable
from django_mcp.primitives.meta import checked_meta
from django_mcp.primitives.signature import Signature, read_signature
from django_mcp.protocol.errors import ABSENT

URI = "uri"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionHandler:
    """A function that refuses by raising, and whose dict goes into ``_meta`` of the answer (S116)."""

    function: Callable[..., Any]
    is_async: bool
    signature: Signature
    origin: str

    @classmethod
    def from_function(
        cls, function: Any, option: str, *, variables: Collection[str] = (), optional: Collection[str] = ()
    ) -> Self:
        """``variables`` are what it may take beside the URI and the context, those ``optional`` with a default."""
        if isinstance(function, type) or not callable(function):
            raise InvalidPrimitive(
                f"{option} was given {function!r}. It is a function of the URI and the context, as it likes: "
                f"write def {option}(uri, context)."
            )
        origin, _ = read_origin(function)
        signature = read_signature(function, origin)
        known = (URI, *variables)
        if unknown := [name for name in signature.names if name not in known]:
            raise InvalidPrimitive(
                f"{origin} takes {unknown[0]} as {option}. It is given {', '.join(known)} and the context, as it "
                "likes: use these names."
            )
        if lacking := [one.name for one in signature.parameters if one.default is ABSENT and one.name in optional]:
            raise InvalidPrimitive(
                f"{origin} takes {lacking[0]} as {option}, which a URI may leave out: write {lacking[0]}=None."
            )
        return cls(function=function, is_async=is_async(function), signature=signature, origin=origin)

    def prepare(self, uri: str, variables: Mapping[str, Any], context: Any, default: JSONDefault) -> Invocation:
        """The call, whose value is what goes into ``_meta``."""
        given = {URI: uri, **variables}
        kwargs = {name: given[name] for name in self.signature.names if name in given}
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(kwargs, context),
            is_async=self.is_async,
            finish=partial(self._finish, default=default),
        )

    def is_same(self, other: SubscriptionHandler) -> bool:
        return is_same_code(self.function, other.function)

    def _finish(self, value: Any, default: JSONDefault) -> dict[str, Any]:
        """Only what can be meant is taken: ``False`` might have been a refusal."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InvalidOutput(
                f"{self.origin} returned a value of type {type(value).__name__}. It returns None or a dict for _meta, "
                "and raises an exception to refuse."
            )
        try:
            meta = checked_meta(value, self.origin)
        except InvalidPrimitive as error:
            raise InvalidOutput(str(error)) from None
        found: dict[str, Any] = to_jsonable(dict(meta), default)
        return found


def read_handlers(
    on_subscribe: Any, on_unsubscribe: Any, *, variables: Collection[str] = (), optional: Collection[str] = ()
) -> dict[str, Any]:
    """The options of a resource by their names, none or one each; raises ``InvalidPrimitive`` for no function."""
    given = {"on_subscribe": on_subscribe, "on_unsubscribe": on_unsubscribe}
    return {
        option: (SubscriptionHandler.from_function(function, option, variables=variables, optional=optional),)
        for option, function in given.items()
        if function is not None
    }
