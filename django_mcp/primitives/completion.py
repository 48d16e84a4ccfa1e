"""Completers: suggestions for one argument of a prompt or one variable of a resource template."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Literal, Self

from django_mcp.exceptions import InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Invocation
from django_mcp.primitives.functions import is_async, read_origin
from django_mcp.primitives.jsonable import JSONDefault, to_jsonable
from django_mcp.primitives.signature import Signature, members, read_signature

MAX_VALUES = 100

# Each makes sources that only it knows into functions or choices, and leaves others as they are.
ADAPTERS: list[Callable[[Any], Any]] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionResult:
    """At most a hundred suggestions, and how many there are in all, where that is known (CMP-04)."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool = False

    def to_wire(self) -> dict[str, Any]:
        completion: dict[str, Any] = {"values": list(self.values)}
        if self.total is not None:
            completion["total"] = self.total
        completion["hasMore"] = self.has_more
        return {"completion": completion}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completer:
    """A function of what was typed, of the values chosen before, and of the context."""

    function: Callable[..., Any]
    is_async: bool
    signature: Signature

    @classmethod
    def from_source(cls, source: Any, *, argument: str, origin: str) -> Self:
        """From a function, an enum or the choices themselves."""
        for adapt in ADAPTERS:
            source = adapt(source)
        if isinstance(source, cls):
            return source
        if isinstance(source, type) and issubclass(source, Enum):
            return cls.from_choices([member.value for member in source])
        if callable(source):
            return cls.from_function(source)
        if isinstance(source, Collection) and not isinstance(source, str | bytes):
            return cls.from_choices(source)
        raise InvalidPrimitive(
            f"{origin} was given {source!r} to complete {argument}. Allowed are a list of texts, an enum, a function, "
            f'a field of a model or its rows: write complete={{"{argument}": ["first", "second"]}}.'
        )

    @classmethod
    def from_choices(cls, choices: Iterable[Any]) -> Self:
        """From the values themselves: texts, or what becomes one by ``str()``."""
        texts = tuple(_text(choice) for choice in choices)

        async def complete(value: str) -> list[str]:
            return _matching(texts, value)

        return cls.from_function(complete)

    @classmethod
    def from_function(cls, function: Any) -> Self:
        """From ``function(value)``, which may take the context and ``arguments`` too."""
        if isinstance(function, type) or not callable(function) or inspect.isasyncgenfunction(function):
            raise InvalidPrimitive(
                f"A completer was given as {function!r}. It is a list of texts, an Enum, a Literal or a function of "
                'the text typed so far: write complete={"name": lambda value: [...]}.'
            )
        origin, _ = read_origin(function)
        signature = read_signature(function, origin)
        names = signature.names
        if not names or names[0] == "arguments" or names[1:] not in ((), ("arguments",)):
            raise InvalidPrimitive(
                f"{origin} completes an argument and takes {', '.join(names) or 'nothing'}. It is called with "
                f"the text typed so far and, if it likes, the values chosen before and the context: write "
                "def function(value, arguments, context)."
            )
        return cls(function=function, is_async=is_async(function), signature=signature)

    def prepare(self, value: str, arguments: Mapping[str, str], context: Any, default: JSONDefault) -> Invocation:
        """The call for the text typed so far, ``value``, and the values chosen before, ``arguments``."""
        names = self.signature.names
        kwargs: dict[str, Any] = {names[0]: value}
        if len(names) > 1:
            kwargs["arguments"] = dict(arguments)
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(kwargs, context),
            is_async=self.is_async,
            finish=partial(to_completion, default=default),
        )


def to_completion(returned: Any, default: JSONDefault) -> CompletionResult:
    """What a completer returned, cut to what may be sent."""
    if not isinstance(returned, CompletionResult):
        returned = CompletionResult(values=() if returned is None else returned)
    values, total = _cut(returned.values, default)
    return CompletionResult(
        values=values[:MAX_VALUES],
        # Who knows of more has not given all, so the number of those given is no total.
        total=returned.total if returned.has_more or returned.total is not None else total,
        has_more=returned.has_more or len(values) > MAX_VALUES,
    )


def _cut(returned: Any, default: JSONDefault) -> tuple[list[str], int | None]:
    """One value more than may be sent, so that the cut shows, and the total where it costs nothing."""
    if isinstance(returned, str | bytes) or not isinstance(returned, Iterable):
        raise InvalidOutput(
            f"A completer returned a value of type {type(returned).__name__}. It returns a list of texts."
        )
    values = [_text(to_jsonable(value, default)) for value in islice(returned, MAX_VALUES + 1)]
    if len(values) <= MAX_VALUES:
        return values, len(values)
    return values, len(returned) if isinstance(returned, list | tuple) else None


def _text(value: Any) -> str:
    """As it would be typed into a form or a URI."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


def _matching(choices: Sequence[str], value: str) -> list[str]:
    """Those that begin with the text, then those that contain it (CMP-05)."""
    wanted = value.casefold()
    folded = [(choice, choice.casefold()) for choice in choices]
    begin = [choice for choice, text in folded if text.startswith(wanted)]
    contain = [choice for choice, text in folded if wanted in text and not text.startswith(wanted)]
    return begin + contain


def read_completers(given: Mapping[str, Any] | None, signature: Signature, origin: str) -> dict[str, Completer]:
    """The completers the author gave, and those the annotations imply."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise InvalidPrimitive(
            f"{origin} was given complete={given!r}. It maps arguments to completers: write "
            'complete={"color": ["red", "green"]}.'
        )
    if unknown := [name for name in given if name not in signature.names]:
        raise InvalidPrimitive(
            f"{origin} was given a completer for {unknown[0]!r}. Its arguments are "
            f"{', '.join(signature.names) or 'none'}: name one of them in complete={{...}}."
        )
    completers: dict[str, Completer] = {}
    for parameter in signature.parameters:
        if parameter.name in given:
            completers[parameter.name] = Completer.from_source(
                given[parameter.name], argument=parameter.name, origin=origin
            )
        elif choices := read_choices(parameter.annotation):
            completers[parameter.name] = Completer.from_choices(choices)
    return completers


def read_choices(annotation: Any) -> list[Any]:
    """The values of a Literal, an enum or a boolean; empty if other values fit, too."""
    choices: list[Any] = []
    for member in members(annotation):
        if typing.get_origin(member) is Literal:
            choices += typing.get_args(member)
        elif member is bool:
            choices += (True, False)
        elif isinstance(member, type) and issubclass(member, Enum):
            choices += [choice.value for choice in member]
        elif member is not type(None):
            return []
    return [choice for choice in choices if choice is not None]
