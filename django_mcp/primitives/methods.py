"""Custom methods and notifications: what a site adds to the protocol itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.arguments import TypedArguments
from django_mcp.primitives.base import Invocation, Permission, Primitive, read_common
from django_mcp.primitives.jsonable import JSONDefault, to_jsonable
from django_mcp.primitives.signature import Signature, read_signature
from django_mcp.protocol.methods import METHODS, NOTIFICATION_PREFIX, NOTIFICATIONS, OPEN_NOTIFICATIONS
from django_mcp.protocol.versions import Revision

# What a header can carry as it is, since modern clients repeat the name in Mcp-Method (MH-09).
NAME = re.compile(r"[!-~]{1,128}")
# JSON-RPC 2.0 keeps names with this prefix for itself.
RESERVED_PREFIX = "rpc."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomMethod(Primitive):
    """A function that answers a method of the site's own.

    Its parameters are members of ``params``, or all of it where the only one is called ``params``.
    """

    typed: TypedArguments = field(compare=False)
    signature: Signature = field(compare=False)

    kind = "method"

    @classmethod
    def from_function(cls, name: str, function: Callable[..., Any], *, permission: Permission = None) -> Self:
        """Read the function; everything that is wrong with it or its name is an ``InvalidPrimitive`` now."""
        common = read_common(function, kind=cls.kind, permission=permission)
        origin = common["origin"]
        signature = read_signature(function, origin)
        _check_names(signature, origin)
        return cls(
            name=cls.checked_name(name, origin),
            typed=TypedArguments(signature, origin),
            signature=signature,
            **common,
        )

    @classmethod
    def checked_name(cls, name: Any, origin: str) -> str:
        """The name, if the protocol leaves it to the site (S197)."""
        text = _checked_text(name, "method", "example/do", origin)
        if text.startswith(NOTIFICATION_PREFIX):
            raise InvalidPrimitive(
                f"{origin} was given {text!r} as a method. Names that begin with {NOTIFICATION_PREFIX} are "
                f'notifications, which get no answer: write @server.notification("{text}").'
            )
        if text in METHODS or text.startswith(RESERVED_PREFIX):
            raise InvalidPrimitive(
                f"{origin} was given {text!r} as a method, which belongs to the protocol. Methods of a site have "
                'names of their own: write one with a prefix, such as @server.method("example/do").'
            )
        return text

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """Nothing: clients learn of custom methods from ``extensions`` and ``experimental`` alone."""
        return {}

    def prepare(self, params: dict[str, Any], context: Any, default: JSONDefault) -> Invocation:
        """The call with its params converted, or ``InvalidArguments``. Unknown members are let be (RPC-28)."""
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(self.typed.bind(self._chosen(params)), context),
            is_async=self.is_async,
            finish=partial(self._finish, default=default),
        )

    def _chosen(self, params: dict[str, Any]) -> dict[str, Any]:
        names = self.signature.names
        if names == ("params",):
            return {"params": {name: value for name, value in params.items() if name != "_meta"}}
        return {name: params[name] for name in names if name in params}

    def _finish(self, value: Any, default: JSONDefault) -> dict[str, Any]:
        """The result, which is an object (RPC-04); ``None`` stands for an empty one."""
        result = {} if value is None else to_jsonable(value, default)
        if not isinstance(result, dict):
            raise InvalidOutput(
                f"{self.origin} returned {type(value).__name__}. The result of a method is an object: return a dict."
            )
        return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomNotification(CustomMethod):
    """A function that takes a notification of the site's own, or that roots changed. Nobody gets what it returns."""

    kind = "notification"

    @classmethod
    def checked_name(cls, name: Any, origin: str) -> str:
        text = _checked_text(name, "notification", "notifications/example/done", origin)
        if not text.startswith(NOTIFICATION_PREFIX):
            raise InvalidPrimitive(
                f"{origin} was given {text!r} as a notification. Their names begin with {NOTIFICATION_PREFIX}: "
                f'write @server.notification("{NOTIFICATION_PREFIX}{text}").'
            )
        if text in NOTIFICATIONS - OPEN_NOTIFICATIONS:
            raise InvalidPrimitive(
                f"{origin} was given {text!r} as a notification, which belongs to the protocol. Write a name "
                'of your own, such as @server.notification("notifications/example/done").'
            )
        return text

    def _finish(self, value: Any, default: JSONDefault) -> dict[str, Any]:
        return {}


def _checked_text(name: Any, kind: str, example: str, origin: str) -> str:
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise InvalidPrimitive(
        f"{origin} was given {name!r} as a {kind}. A name has 1 to 128 printable ASCII characters and no "
        f'spaces: write @server.{kind}("{example}").'
    )


def _check_names(signature: Signature, origin: str) -> None:
    if "params" in signature.names and len(signature.names) > 1:
        raise InvalidPrimitive(
            f"{origin} takes params and other parameters as well. params stands for all members of the request: "
            "keep params alone, or write its members out as parameters."
        )
