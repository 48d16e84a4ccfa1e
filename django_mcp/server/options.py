"""What decorators and ``define_*`` take, for type checkers and editors too. The primitives check the values."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, TypedDict

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Icon, Permission, Primitive, Visible
from django_mcp.primitives.tools import ToolAnnotations
from django_mcp.protocol.content import Annotations
from django_mcp.protocol.results import CacheHint


class CommonOptions(TypedDict, total=False):
    """What every decorator takes; all of it can be left out."""

    name: str
    title: Any
    description: Any
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    tags: Collection[str]
    permission: Permission
    visible: Visible


class ToolOptions(CommonOptions, total=False):
    annotations: ToolAnnotations
    input_schema: Any
    output_schema: Any
    mime_type: str
    max_size: int
    atomic: bool
    timeout: float
    confirm: Any
    invalidates: Sequence[str]
    wait_inline: bool


class PromptOptions(CommonOptions, total=False):
    complete: Mapping[str, Any]
    template_name: str


class ResourceOptions(CommonOptions, total=False):
    mime_type: str
    size: int
    annotations: Annotations
    cache: CacheHint
    watch: Any
    uri_for: Callable[[Any], Any]
    on_subscribe: Callable[..., Any]
    on_unsubscribe: Callable[..., Any]


class ResourceTemplateOptions(CommonOptions, total=False):
    mime_type: str
    annotations: Annotations
    complete: Mapping[str, Any]
    list_resources: Callable[..., Any]
    cache: CacheHint
    watch: Any
    uri_for: Callable[[Any], Any]
    on_subscribe: Callable[..., Any]
    on_unsubscribe: Callable[..., Any]


# What decorators take by position.
BY_POSITION = ("function", "uri", "uri_template")


@cache
def option_names(primitive: type[Primitive]) -> tuple[str, ...]:
    """What ``from_function`` of the class takes besides the function."""
    builder: Any = primitive
    return tuple(inspect.signature(builder.from_function).parameters)[1:]


def check_options(primitive: type[Primitive], given: Mapping[str, Any], called: str) -> None:
    """Refuse what is no option; ``called`` is the name of what was given it."""
    names = [name for name in option_names(primitive) if name not in BY_POSITION]
    for name, value in given.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
            remedy = f"write {close[0]}=..." if close else "leave it out"
            raise InvalidPrimitive(
                f"{called} was given {name}={value!r}, which is no option of it. "
                f"Options are {', '.join(names)}: {remedy}."
            )
