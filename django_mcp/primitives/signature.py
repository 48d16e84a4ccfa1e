"""The signature of a function and what its annotations mean, read once at registration."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Injected
from django_mcp.primitives.functions import innermost, read_parameter_descriptions
from django_mcp.protocol.errors import ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument: its resolved annotation, its default or ``ABSENT``, and what the docstring says of it."""

    name: str
    annotation: Any
    default: Any = ABSENT
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The arguments of a function, the parameter that takes the context, if there is one, and what it returns.

    ``returns`` is the resolved annotation. One that cannot be resolved counts as none, since nothing depends on it.
    """

    parameters: tuple[Parameter, ...]
    context_name: str | None
    takes_any: bool = False
    returns: Any = inspect.Parameter.empty

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    def with_context(self, kwargs: dict[str, Any], context: Any) -> dict[str, Any]:
        if self.context_name is not None:
            kwargs[self.context_name] = context
        return kwargs


def read_signature(function: Callable[..., Any], origin: str, *, may_take_any: bool = False) -> Signature:
    """The signature, or ``InvalidPrimitive`` for a parameter that no client could fill."""
    parameters: list[Parameter] = []
    context_name: str | None = None
    takes_any = False
    descriptions = read_parameter_descriptions(function)
    signature = _read(function, origin)
    for parameter in _own_parameters(function, signature):
        if parameter.kind is parameter.VAR_KEYWORD and may_take_any:
            takes_any = True
            continue
        _check_kind(parameter, origin)
        annotation = _Annotation.of(parameter, function)
        if annotation.is_context:
            if context_name is not None:
                raise InvalidPrimitive(
                    f"{origin} takes the context twice, as {context_name} and as {parameter.name}. It is "
                    "given once: drop one of the two parameters."
                )
            context_name = parameter.name
            continue
        parameters.append(_read_parameter(parameter, annotation, descriptions.get(parameter.name), origin))
    return Signature(
        parameters=tuple(parameters),
        context_name=context_name,
        takes_any=takes_any,
        returns=_read_return(signature.return_annotation, function),
    )


def _read(function: Callable[..., Any], origin: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:
        raise InvalidPrimitive(
            f"{origin} has no signature that Python could read. Clients are told about arguments by the "
            "signature: wrap it in a function written with def."
        ) from None


def _own_parameters(function: Callable[..., Any], signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """The parameters that are still open: what a ``partial`` filled in is none of the client's business."""
    filled = getattr(function, "keywords", {})
    return (parameter for parameter in signature.parameters.values() if parameter.name not in filled)


def _check_kind(parameter: inspect.Parameter, origin: str) -> None:
    name = parameter.name
    if parameter.kind is parameter.VAR_KEYWORD:
        raise InvalidPrimitive(
            f"{origin} takes **{name}. Clients are told every argument by name and type: write the "
            "parameters out, or give a schema of your own with input_schema={...}."
        )
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise InvalidPrimitive(f"{origin} takes *{name}. Arguments arrive by name: write {name}: list[str] instead.")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise InvalidPrimitive(
            f"{origin} takes {name} by position only. Arguments arrive by name: remove the / from the signature."
        )
    if name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise InvalidPrimitive(
            f"{origin} takes {name}, so it is a method without its object. Functions and bound methods "
            "can be registered: put it in a Toolset and write @Toolset.tool above it, or register it from "
            "outside the class, as in tool(TheClass().the_method)."
        )


@dataclass(frozen=True, slots=True)
class _Annotation:
    """The annotation of a parameter, or the error that evaluating it raised."""

    parameter: inspect.Parameter
    resolved: Any = None
    error: Exception | None = None

    @classmethod
    def of(cls, parameter: inspect.Parameter, function: Callable[..., Any]) -> _Annotation:
        try:
            return cls(parameter, resolve_annotation(parameter.annotation, function))
        except Exception as error:  # noqa: BLE001 - evaluating an annotation may raise anything
            return cls(parameter, error=error)

    @property
    def is_context(self) -> bool:
        """Whether the parameter takes the context: by its annotation, or by its name where it has none."""
        parameter = self.parameter
        if parameter.name == "server_context":
            return True
        if parameter.annotation is parameter.empty:
            return parameter.name == "context"
        if self.error is not None:
            return _last_word(parameter.annotation) in {kind.__name__ for kind in _kinds_of(Injected)}
        return any(_is_injected(typing.get_origin(choice) or choice) for choice in members(self.resolved))


def is_context(parameter: inspect.Parameter, function: Callable[..., Any]) -> bool:
    """Whether the parameter takes the context."""
    return _Annotation.of(parameter, function).is_context


def _is_injected(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Injected)


def _kinds_of(base: type) -> Iterator[type[Any]]:
    kinds: list[type[Any]] = base.__subclasses__()
    for kind in kinds:
        yield kind
        yield from _kinds_of(kind)


def _last_word(annotation: Any) -> str:
    """``"mcp.Context | None"`` as ``"Context"``, for names imported under TYPE_CHECKING alone."""
    text = re.sub(r"\bNone\b|\bOptional\[|\[\w+\]", "", str(annotation)).strip(" |]")
    return text.rpartition(".")[2]


def members(annotation: Any) -> Iterator[Any]:
    """The annotation itself, or the members of a union, without ``Annotated`` around them."""
    while typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for choice in typing.get_args(annotation):
            yield from members(choice)
    else:
        yield annotation


def _read_parameter(
    parameter: inspect.Parameter, annotation: _Annotation, description: str | None, origin: str
) -> Parameter:
    if annotation.error is not None:
        raise InvalidPrimitive(
            f"{origin} annotates {parameter.name} with {parameter.annotation!r}, which cannot be "
            f"resolved ({annotation.error}). Annotations are read while the site runs: import the name at the top of "
            "the module, outside TYPE_CHECKING."
        ) from annotation.error
    return Parameter(
        name=parameter.name,
        annotation=Any if parameter.annotation is parameter.empty else annotation.resolved,
        default=ABSENT if parameter.default is parameter.empty else parameter.default,
        description=description,
    )


def resolve_annotation(annotation: Any, function: Callable[..., Any]) -> Any:
    """The annotation with the names in texts looked up where the function was written."""
    if _is_resolved(annotation):
        return annotation
    inner = innermost(function)
    code = getattr(inner, "__call__", None) if not hasattr(inner, "__globals__") else inner  # noqa: B004
    code = getattr(code, "__func__", code)

    def holder() -> None: ...

    holder.__annotations__ = {"it": annotation}
    hints = typing.get_type_hints(holder, getattr(code, "__globals__", {}), _enclosing(code), include_extras=True)
    return hints["it"]


def _is_resolved(annotation: Any) -> bool:
    """Whether there is no name in it that has to be looked up: ``list[int]`` and not ``list["Ticket"]``."""
    origin = typing.get_origin(annotation)
    if origin is None:
        return isinstance(annotation, type) or annotation is Any
    if origin is Annotated:
        return _is_resolved(typing.get_args(annotation)[0])
    return origin is Literal or all(map(_is_resolved, typing.get_args(annotation)))


def _enclosing(function: Any) -> Mapping[str, Any]:
    """The variables of the functions around this one, as far as it uses them."""
    return inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}


def _read_return(annotation: Any, function: Callable[..., Any]) -> Any:
    try:
        return resolve_annotation(annotation, function)
    except Exception:  # noqa: BLE001 - evaluating an annotation may raise anything
        return inspect.Parameter.empty


def is_annotation(value: Any) -> bool:
    """Whether an option that may be a schema is a type instead."""
    return isinstance(value, type) or typing.get_origin(value) is not None


def mentions(annotation: Any, kinds: tuple[type, ...]) -> bool:
    """Whether one of the classes is in the annotation, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, kinds):
        return True
    return any(mentions(part, kinds) for part in typing.get_args(annotation))
