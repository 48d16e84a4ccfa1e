"""A method of a class as a function that makes the object for each call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.functions import SECTION, check_callable, is_async
from django_mcp.primitives.signature import is_context, resolve_annotation

CONTEXT = "server_context"


class PerCallMethod:
    """Calls ``method`` on a fresh ``owner(context)``. To everybody who looks, it is a function.

    It is told apart by the dotted path of ``owner`` and ``qualname``: two of the same path and the same
    lines are the same, as when a module runs twice.
    """

    def __init__(
        self, owner: type[Any], method: Callable[..., Any], *, qualname: str, name: str, doc: str | None
    ) -> None:
        check_callable(method, "register")
        self.__name__ = name
        self.__module__ = owner.__module__
        self.__qualname__ = qualname
        self.__doc__ = doc
        self.__code__ = method.__code__
        self.__globals__ = method.__globals__
        self._owner = owner
        self._method = method
        self._context_name, self._takes_context, self.__signature__ = _read(method, f"{owner.__module__}.{qualname}")
        # How asgiref marks coroutine functions before Python 3.12, and ``is_async`` knows them.
        self._is_coroutine = True if is_async(method) else None

    def __call__(self, **kwargs: Any) -> Any:
        context = kwargs[self._context_name] if self._takes_context else kwargs.pop(self._context_name)
        return self._method(self._owner(context), **kwargs)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.__module__, self.__qualname__, self.__code__.co_filename, self.__code__.co_firstlineno

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerCallMethod) and self._identity == other._identity

    __hash__ = None  # type: ignore[assignment]  # nothing keeps it in a set


def _read(method: Callable[..., Any], origin: str) -> tuple[str, bool, inspect.Signature]:
    """The parameter for the context, whether it is the method's own, and the signature without ``self``."""
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())
    if not parameters or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise InvalidPrimitive(f"{origin} takes no self. It is called on an object of the call: write self first.")
    parameters = [one.replace(annotation=_resolved(one.annotation, method)) for one in parameters[1:]]
    returned = _resolved(signature.return_annotation, method)
    own = next((one.name for one in parameters if is_context(one, method)), None)
    if own is None:
        parameters.append(inspect.Parameter(CONTEXT, inspect.Parameter.KEYWORD_ONLY))
        parameters.sort(key=lambda one: one.kind)
    return own or CONTEXT, own is not None, inspect.Signature(parameters, return_annotation=returned)


def _resolved(annotation: Any, method: Callable[..., Any]) -> Any:
    """What cannot be resolved is left for the one who reads the parameter, who names it."""
    try:
        return resolve_annotation(annotation, method)
    except Exception:  # noqa: BLE001 - evaluating an annotation may raise anything
        return annotation


def class_doc(owner: type[Any], method: Callable[..., Any]) -> str | None:
    """What the class says, with what its method says of the parameters."""
    own, of_method = owner.__doc__, inspect.getdoc(method)
    if own is None or of_method is None:
        return own or of_method
    section = SECTION.search(of_method)
    return own if section is None else f"{inspect.cleandoc(own)}\n\n{of_method[section.start() :]}"
