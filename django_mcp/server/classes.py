"""Tools, prompts, resources and resource templates written as classes.

A class says with its attributes what a decorator takes as options. It is no record of its own:
``read_class`` makes the very primitive from it that a decorator makes from a function.
Every call gets an object of its own, so nothing an object keeps reaches another call.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, ClassVar, TypeVar, Unpack, overload

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives import prompts, resources, tools
from django_mcp.primitives.base import Icon, Primitive
from django_mcp.primitives.per_call import PerCallMethod, class_doc
from django_mcp.primitives.tools import ToolAnnotations
from django_mcp.protocol.content import Annotations
from django_mcp.protocol.results import CacheHint
from django_mcp.server.context import Context
from django_mcp.server.options import ToolOptions, check_options, option_names

F = TypeVar("F", bound=Callable[..., Any])

MARK = "_django_mcp_tool"
# What belongs to one tool of a toolset and cannot be said for all of them.
OF_ONE_TOOL = frozenset({"name", "title", "description", "input_schema", "output_schema"})
WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|-")


class Declared:
    """What the classes have in common. ``context`` is the call that the object serves."""

    kind: ClassVar[str]
    method: ClassVar[str]
    primitive: ClassVar[Any]

    title: Any
    description: Any
    icons: Sequence[Icon]
    meta: Mapping[str, Any]
    tags: Collection[str]
    # A function in the body of a class looks like a method to type checkers, so these two are left open.
    permission: Any
    visible: Any

    def __init__(self, context: Context) -> None:
        self.context = context


class OfTools(Declared):
    """What can be said for one tool and for several."""

    annotations: ToolAnnotations
    mime_type: str
    max_size: int
    atomic: bool
    timeout: float
    confirm: Any
    invalidates: Sequence[str]
    wait_inline: bool


class Tool(OfTools):
    """A tool as a class: its attributes are the options of ``@tool``, its method ``call`` is the function.

    Without ``name`` it is called as the class is, in lower case: ``SearchTickets`` is ``search_tickets``.
    """

    kind = "tool"
    method = "call"
    primitive = tools.ToolDefinition

    name: str
    input_schema: Any
    output_schema: Any


class Prompt(Declared):
    """A prompt as a class: its method ``get`` writes the messages."""

    kind = "prompt"
    method = "get"
    primitive = prompts.PromptDefinition

    name: str
    complete: Mapping[str, Any]
    template_name: str


class Resource(Declared):
    """A resource as a class: it has a ``uri``, and its method ``read`` gives the contents."""

    kind = "resource"
    method = "read"
    primitive = resources.ResourceDefinition

    name: str
    uri: str
    mime_type: str
    size: int
    annotations: Annotations
    cache: CacheHint
    watch: Any
    uri_for: Any
    on_subscribe: Any
    on_unsubscribe: Any


class ResourceTemplate(Declared):
    """A resource template as a class: ``read`` takes the variables of its ``uri_template``."""

    kind = "resource template"
    method = "read"
    primitive = resources.ResourceTemplateDefinition

    name: str
    uri_template: str
    mime_type: str
    annotations: Annotations
    complete: Mapping[str, Any]
    list_resources: Callable[..., Any]
    cache: CacheHint
    watch: Any
    uri_for: Any
    on_subscribe: Any
    on_unsubscribe: Any


class Toolset(OfTools):
    """Several tools in one class: the methods under ``@Toolset.tool``.

    Attributes of the class are options of all its tools; what a tool says itself comes first.
    """

    kind = "toolset"

    @overload
    @staticmethod
    def tool(function: F, /) -> F: ...

    @overload
    @staticmethod
    def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    @staticmethod
    def tool(function: Any = None, /, **options: Any) -> Any:
        """Make a method a tool: ``@Toolset.tool``, or with the options of ``@tool``."""

        check_options(tools.ToolDefinition, options, "@Toolset.tool")

        def mark(method: F) -> F:
            if not inspect.isfunction(method):
                raise InvalidPrimitive(
                    f"@Toolset.tool was put above {method!r}, which is no method. It stands directly above a def, "
                    'below no other decorator; options have names: write @Toolset.tool(name="find").'
                )
            setattr(method, MARK, options)
            return method

        return mark if function is None else mark(function)


BASES: tuple[type[Declared], ...] = (Tool, Prompt, Resource, ResourceTemplate, Toolset)


def read_class(declared: type[Declared]) -> list[Primitive]:
    """The primitives that a class stands for. Everything that is wrong with it is an ``InvalidPrimitive`` now."""
    origin = f"{declared.__module__}.{declared.__qualname__}"
    if declared in (Declared, OfTools, *BASES):
        raise InvalidPrimitive(
            f"{origin} was registered itself. Subclasses of it are registered: write @register above "
            "class SearchTickets(Tool)."
        )
    _check_init(declared, origin)
    if issubclass(declared, Toolset):
        return [_read_method(declared, name, options, origin) for name, options in _marked(declared, origin)]
    options = _options(declared, declared.primitive, origin)
    _check_required(declared, options, origin)
    function = _function(declared, declared.method, origin)
    method = PerCallMethod(
        declared,
        function,
        qualname=declared.__qualname__,
        name=_snake(declared.__name__),
        doc=class_doc(declared, function),
    )
    return [_built(declared.primitive, method, options)]


def _built(primitive: Any, method: PerCallMethod, options: dict[str, Any]) -> Primitive:
    built: Primitive = primitive.from_function(method, **options)
    return built


def _read_method(declared: type[Toolset], name: str, options: dict[str, Any], origin: str) -> Primitive:
    common = _options(declared, tools.ToolDefinition, origin)
    if own := sorted(OF_ONE_TOOL.intersection(common)):
        raise InvalidPrimitive(
            f"{origin} sets {own[0]} for all its tools. It belongs to one of them: "
            f"write @Toolset.tool({own[0]}=...) above the method."
        )
    function = _function(declared, name, origin)
    qualname = f"{declared.__qualname__}.{name}"
    method = PerCallMethod(declared, function, qualname=qualname, name=name, doc=function.__doc__)
    return _built(tools.ToolDefinition, method, {**common, **options})


def _marked(declared: type[Toolset], origin: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names and options of the tools, base classes first. A method that is overridden keeps its options."""
    found: dict[str, dict[str, Any]] = {}
    for base in reversed(declared.__mro__):
        for name, value in vars(base).items():
            if (options := getattr(value, MARK, None)) is not None:
                found[name] = options
            elif value is None:
                found.pop(name, None)
    if not found:
        raise InvalidPrimitive(f"{origin} has no tools. Its tools are methods: write @Toolset.tool above each of them.")
    yield from found.items()


def _options(declared: type[Declared], primitive: Any, origin: str) -> dict[str, Any]:
    names = option_names(primitive)
    _check_spelling(declared, names, origin)
    return {name: getattr(declared, name) for name in names if hasattr(declared, name)}


def _check_spelling(declared: type[Declared], names: Sequence[str], origin: str) -> None:
    """An attribute that is almost an option was meant to be one."""
    for base in takewhile(lambda base: base.__module__ != __name__, declared.__mro__):
        for attribute, value in vars(base).items():
            if attribute.startswith("_") or attribute in names or callable(value):
                continue
            if close := difflib.get_close_matches(attribute, names, n=1, cutoff=0.8):
                raise InvalidPrimitive(
                    f"{origin} sets {attribute}, which is no option of a {declared.kind}. "
                    f"Options are {', '.join(names)}: write {close[0]}, or give it another name."
                )


def _check_required(declared: type[Declared], options: dict[str, Any], origin: str) -> None:
    for name, example in (("uri", "help://opening-hours"), ("uri_template", "ticket://{pk}")):
        if name in option_names(declared.primitive) and name not in options:
            raise InvalidPrimitive(
                f'{origin} has no {name}. A {declared.kind} is found by it: write {name} = "{example}" in the class.'
            )


def _check_init(declared: type[Declared], origin: str) -> None:
    if missing := sorted(getattr(declared, "__abstractmethods__", ())):
        raise InvalidPrimitive(
            f"{origin} is abstract: it has no {missing[0]} yet. Every call gets an object of its own: register "
            f"the subclasses that have one, or write {missing[0]} in the class."
        )
    try:
        inspect.signature(declared).bind(None)
    except TypeError:
        raise InvalidPrimitive(
            f"{origin} cannot be made from a context alone. Every call gets an object of its own: "
            "write def __init__(self, context), or leave it out."
        ) from None


def _function(declared: type[Declared], name: str, origin: str) -> Callable[..., Any]:
    found = inspect.getattr_static(declared, name, None)
    if inspect.isfunction(found):
        return found
    if found is None:
        raise InvalidPrimitive(
            f"{origin} has no method {name}. It is what a {declared.kind} does: "
            f"write def {name}(self, ...) in the class."
        )
    raise InvalidPrimitive(
        f"{origin}.{name} is a {type(found).__name__}. It is called on an object of the call: "
        f"write def {name}(self, ...), without a decorator that changes it."
    )


def _snake(name: str) -> str:
    """``HTMLParserTool`` as ``html_parser_tool`` (S55)."""
    return WORD.sub("_", name).lower()
