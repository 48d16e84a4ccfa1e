"""Readers: functions that are asked for a URI which no other function answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.contents import ContentsWriter, ReadResult
from django_mcp.primitives.functions import check_callable, is_async, is_same_code, read_origin
from django_mcp.primitives.jsonable import JSONDefault
from django_mcp.primitives.signature import Signature, read_signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A function of a URI, and of the context. It returns ``None`` for a URI that is not its own."""

    function: Callable[..., Any]
    is_async: bool
    signature: Signature

    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Self:
        check_callable(function, "read_resource")
        origin, _ = read_origin(function)
        signature = read_signature(function, origin)
        if len(signature.names) != 1:
            raise InvalidPrimitive(
                f"{origin} reads resources and takes {', '.join(signature.names) or 'nothing'}. It is called with "
                "the URI and, if it likes, the context: write def read(uri, context)."
            )
        return cls(function=function, is_async=is_async(function), signature=signature)

    def prepare(self, uri: str, writer: ContentsWriter, context: Any, default: JSONDefault) -> Invocation:
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context({self.signature.names[0]: uri}, context),
            is_async=self.is_async,
            finish=partial(_finish, uri=uri, writer=writer, default=default),
        )

    def is_same(self, other: Reader) -> bool:
        return is_same_code(self.function, other.function)


def _finish(value: Any, *, uri: str, writer: ContentsWriter, default: JSONDefault) -> ReadResult | None:
    return None if value is None else writer.to_result(value, uri=uri, default=default)
