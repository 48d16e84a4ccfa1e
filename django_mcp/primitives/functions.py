"""What can be told about a function without calling it: where it is, what it says, whether it awaits."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import docstring_parser

from django_mcp.exceptions import InvalidPrimitive

# Where a docstring stops to speak to the reader: Google and numpy sections, reST fields, doctests.
SECTION = re.compile(
    r"^(?:(?:Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|See Also):?\s*$"
    r"|:(?:param|type|returns?|rtype|raises)\b|>>> )",
    re.MULTILINE,
)


def check_callable(function: Any, kind: str) -> None:
    """Refuse what is no function that can be called once and gives one answer."""
    name = getattr(function, "__qualname__", None) or repr(function)
    if isinstance(function, classmethod | staticmethod):
        raise InvalidPrimitive(
            f"@{kind} was put above @{type(function).__name__}. It takes functions and bound methods: "
            f"register the method from outside the class, as in {kind}(TheClass.the_method)."
        )
    if isinstance(function, type) or not callable(function):
        raise InvalidPrimitive(
            f"@{kind} was given {name}, which is no function. It takes functions, bound methods and "
            f"objects with __call__: write @{kind} above a def, or @register above a class such as "
            "SearchTickets(Tool)."
        )
    if inspect.isasyncgenfunction(_unwrapped_partial(function)):
        raise InvalidPrimitive(
            f"{name} is an async generator. An async function returns its answer at once: "
            "collect the items in a list and return it."
        )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives an awaitable."""
    target = _unwrapped_partial(function)
    return any(
        inspect.iscoroutinefunction(candidate)
        # How asgiref marks coroutine functions before Python 3.12.
        or getattr(candidate, "_is_coroutine", None) is not None
        for candidate in (target, getattr(target, "__call__", None))  # noqa: B004
    )


def takes_one(function: Callable[..., Any]) -> bool:
    """Whether it can be called with one value; what Python cannot tell counts as yes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True


def innermost(function: Callable[..., Any]) -> Any:
    """The function the site's author wrote, below partials and well-behaved decorators."""
    target = inspect.unwrap(_unwrapped_partial(function))
    return getattr(target, "__func__", target)


def _unwrapped_partial(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def read_name(function: Callable[..., Any]) -> str:
    inner = innermost(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def read_origin(function: Callable[..., Any]) -> tuple[str, str]:
    """``("shop.mcp.create_item", "/site/shop/mcp.py:12")``; the place is empty where nothing knows it."""
    inner = innermost(function)
    qualname = getattr(inner, "__qualname__", type(inner).__qualname__)
    code = getattr(inner, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return f"{inner.__module__}.{qualname}", place


def read_description(function: Callable[..., Any]) -> str | None:
    """The docstring up to its first section about parameters, results or errors."""
    inner = innermost(function)
    text = inspect.getdoc(inner)
    if text is None:
        return None
    if section := SECTION.search(text):
        text = text[: section.start()]
    return text.strip() or None


def read_parameter_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says about each parameter: Google, numpy and reST styles are read."""
    text = inspect.getdoc(innermost(function))
    if text is None or SECTION.search(text) is None:
        return {}
    try:
        params = docstring_parser.parse(text, _style(text)).params
    except docstring_parser.ParseError:  # a list of parameters that follows no style
        return {}
    return {name.strip(): one.description for one in params if one.description for name in one.arg_name.split(",")}


def _style(text: str) -> docstring_parser.DocstringStyle:
    """Trying one style is four times as fast as trying all."""
    if re.search(r"^:(?:param|type)\b", text, re.MULTILINE):
        return docstring_parser.DocstringStyle.REST
    if re.search(r"^-{3,}\s*$", text, re.MULTILINE):
        return docstring_parser.DocstringStyle.NUMPYDOC
    return docstring_parser.DocstringStyle.GOOGLE


def is_same_code(one: Any, other: Any) -> bool:
    """Whether two functions are the same lines of the same file, as after a second import.

    Bound methods, and functions that closed over something, may differ although their code does not.
    """
    if one is other or one == other:
        return True
    if not inspect.isfunction(one) or not inspect.isfunction(other) or one.__closure__ or other.__closure__:
        return False
    code, other_code = one.__code__, other.__code__
    return (code.co_filename, code.co_firstlineno, code.co_qualname) == (
        other_code.co_filename,
        other_code.co_firstlineno,
        other_code.co_qualname,
    )
