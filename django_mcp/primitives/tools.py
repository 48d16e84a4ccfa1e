"""Tools: functions a model may call."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from django_mcp.exceptions import ErrorResult, InvalidPrimitive, ToolError
from django_mcp.primitives.arguments import Arguments, TypedArguments, VerbatimArguments
from django_mcp.primitives.base import (
    Icon,
    Invocation,
    Permission,
    Primitive,
    Visible,
    check_flag,
    checked_mime_type,
    read_common,
)
from django_mcp.primitives.functions import read_name
from django_mcp.primitives.headers import read_header_params
from django_mcp.primitives.jsonable import JSONDefault, resolve_texts
from django_mcp.primitives.outputs import Output, ToContent, no_content, read_output
from django_mcp.primitives.questions import raise_if_input_required
from django_mcp.primitives.signature import Signature, is_annotation, read_signature
from django_mcp.primitives.watching import expand, read_invalidates
from django_mcp.primitives.whole import WholeArguments
from django_mcp.protocol.content import ToolResult
from django_mcp.protocol.headers import HeaderParam
from django_mcp.protocol.jsonrpc import encode
from django_mcp.protocol.uri_templates import UriTemplate
from django_mcp.protocol.versions import LATEST, Revision

_WRITES = {"read_only_hint": False, "open_world_hint": False}
NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """Hints about what a tool does to its world (TOOL-20). What is None is left unsaid."""

    title: Any = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None

    def __post_init__(self) -> None:
        for option in ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"):
            check_flag(getattr(self, option), option, "ToolAnnotations")

    @classmethod
    def reads(cls, **changes: Any) -> Self:
        """It looks and changes nothing. As with all four, the site is its whole world, and ``changes`` win."""
        return cls(**{"read_only_hint": True, "open_world_hint": False, **changes})

    @classmethod
    def adds(cls, **changes: Any) -> Self:
        """Every call adds something."""
        return cls(**{**_WRITES, "destructive_hint": False, "idempotent_hint": False, **changes})

    @classmethod
    def sets(cls, **changes: Any) -> Self:
        """It puts something into a state; twice is the same as once."""
        return cls(**{**_WRITES, "destructive_hint": False, "idempotent_hint": True, **changes})

    @classmethod
    def deletes(cls, **changes: Any) -> Self:
        """What it takes away is gone."""
        return cls(**{**_WRITES, "destructive_hint": True, "idempotent_hint": False, **changes})

    def to_wire(self) -> dict[str, Any]:
        wire = {
            "title": None if self.title is None else str(self.title),
            "readOnlyHint": self.read_only_hint,
            "destructiveHint": self.destructive_hint,
            "idempotentHint": self.idempotent_hint,
            "openWorldHint": self.open_world_hint,
        }
        return {key: value for key, value in wire.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolDefinition(Primitive):
    """A function with the schemas of what it takes and gives."""

    annotations: ToolAnnotations | None = None
    atomic: bool | None = None
    timeout: float | None = None
    confirm: Any = None
    max_size: int | None = None
    header_params: tuple[HeaderParam, ...] = ()
    invalidates: tuple[UriTemplate, ...] = field(default=(), compare=False)
    wait_inline: bool = False
    arguments: Arguments
    output: Output
    signature: Signature = field(compare=False)

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: Any = None,
        description: Any = None,
        icons: Sequence[Icon] = (),
        annotations: ToolAnnotations | None = None,
        meta: Mapping[str, Any] | None = None,
        tags: Collection[str] = (),
        permission: Permission = None,
        visible: Visible = None,
        input_schema: Any = None,
        output_schema: Any = None,
        mime_type: str | None = None,
        max_size: int | None = None,
        atomic: bool | None = None,
        timeout: float | None = None,
        confirm: Any = None,
        invalidates: Sequence[str] = (),
        wait_inline: bool | None = None,
    ) -> Self:
        """Read the function; everything that is wrong with it is an ``InvalidPrimitive`` now.

        ``input_schema`` and ``output_schema`` are JSON Schemas or types; ``mime_type`` is that of returned
        bytes, ``max_size`` the bytes a result may have as JSON. ``wait_inline``: the function waits in place.
        """
        common = read_common(
            function,
            kind="tool",
            title=title,
            description=description,
            icons=icons,
            meta=meta,
            tags=tags,
            permission=permission,
            visible=visible,
        )
        origin = common["origin"]
        signature = read_signature(function, origin, may_take_any=input_schema is not None)
        arguments = _read_arguments(input_schema, signature, origin)
        check_flag(atomic, "atomic", origin)
        checked_annotations = _checked_annotations(annotations, origin)
        return cls(
            name=_checked_name(read_name(function) if name is None else name, origin),
            annotations=checked_annotations,
            confirm=_checked_confirm(confirm, checked_annotations, origin),
            atomic=atomic,
            timeout=_checked_timeout(timeout, origin),
            max_size=_checked_max_size(max_size, origin),
            header_params=read_header_params(arguments.schema, origin),
            invalidates=read_invalidates(invalidates, signature.names, origin),
            wait_inline=_checked_inline(wait_inline, common["is_async"], atomic, origin),
            arguments=arguments,
            output=read_output(signature.returns, output_schema, checked_mime_type(mime_type, origin), origin),
            signature=signature,
            **common,
        )

    @property
    def is_single_use(self) -> bool:
        """Whether a person's answers must not run it twice (MRTR-08)."""
        hints = self.annotations
        return self.confirm is not None or bool(hints and hints.destructive_hint and not hints.idempotent_hint)

    @property
    def input_schema(self) -> dict[str, Any]:
        return self.arguments.schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        return self.output.schema

    def _texts(self) -> list[Any]:
        title = None if self.annotations is None else self.annotations.title
        return [*Primitive._texts(self), title, self.arguments.schema, self.output.schema]

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it (TOOL-05, TOOL-10, TOOL-20, TOOL-21)."""
        wire = self._head(revision)
        wire["inputSchema"] = resolve_texts(self.arguments.schema)
        if (output_schema := self.output.wire_schema(revision)) is not None:
            wire["outputSchema"] = output_schema
        if self.annotations is not None and revision.has_annotations:
            wire["annotations"] = self.annotations.to_wire()
        wire.update(self._tail(revision))
        return wire

    def prepare(
        self,
        arguments: dict[str, Any],
        context: Any,
        default: JSONDefault,
        to_content: ToContent = no_content,
        max_size: int | None = None,
    ) -> Invocation:
        """The call with its arguments converted, or ``InvalidArguments``.

        ``to_content`` writes values that are content by themselves, ``max_size`` is for a tool without its own.
        """
        bound = self.arguments.bind(arguments)
        finish = partial(
            self._finish,
            default=default,
            to_content=to_content,
            context=context,
            max_size=max_size if self.max_size is None else self.max_size,
        )
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(bound, context),
            is_async=self.is_async,
            finish=partial(self._finish_and_publish, finish, bound, context) if self.invalidates else finish,
            atomic=self.atomic,
            timeout=self.timeout,
            wait_inline=self.wait_inline,
        )

    def _finish_and_publish(
        self, finish: Callable[[Any], ToolResult], bound: Mapping[str, Any], context: Any, value: Any
    ) -> ToolResult:
        """As part of the call: what it did not change, it does not tell."""
        result = finish(value)
        for template in self.invalidates:
            values = {name: bound.get(name) for name in template.variables}
            if None not in values.values():  # left out by the client
                context.notify_resource_updated(expand(template, values))
        return result

    def _finish(
        self, value: Any, default: JSONDefault, to_content: ToContent, context: Any, max_size: int | None
    ) -> ToolResult:
        """The result to send. Raises ``InvalidOutput``, and ``ErrorResult`` for one that reports an error."""
        raise_if_input_required(value)
        result = self.output.to_result(value, default, to_content, context)
        if result.is_error:
            raise ErrorResult(result)
        if max_size is not None and (size := len(encode(result.to_wire(LATEST)))) > max_size:
            raise ToolError(
                f"The result has {size} bytes, and at most {max_size} are sent. Ask for less, for instance with a "
                "narrower search or a lower limit."
            )
        return result


def _read_arguments(input_schema: Any, signature: Signature, origin: str) -> Arguments:
    if input_schema is None:
        return TypedArguments(signature, origin)
    if is_annotation(input_schema):
        return WholeArguments(input_schema, signature, origin)
    return VerbatimArguments(input_schema, signature, origin)


def _checked_name(name: Any, origin: str) -> str:
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise InvalidPrimitive(
        f"{origin} is named {name!r} as a tool. A name has 1 to 128 letters (A-Z, a-z), digits, "
        'underscores, hyphens and dots: write @tool(name="create_order").'
    )


def _checked_annotations(annotations: Any, origin: str) -> ToolAnnotations | None:
    if annotations is None or isinstance(annotations, ToolAnnotations):
        return annotations
    raise InvalidPrimitive(
        f"{origin} was given annotations={annotations!r}. They are a ToolAnnotations object: write "
        "annotations=ToolAnnotations(read_only_hint=True)."
    )


def _checked_confirm(confirm: Any, annotations: ToolAnnotations | None, origin: str) -> Any:
    if confirm is None or confirm is False:
        return None
    if annotations is not None and annotations.read_only_hint:
        raise InvalidPrimitive(
            f"{origin} was given confirm={confirm!r} and read_only_hint=True. What changes nothing needs no "
            "confirmation: drop one of the two."
        )
    if confirm is True or (not isinstance(confirm, int | float) and str(confirm).strip()):
        return confirm
    raise InvalidPrimitive(
        f"{origin} was given confirm={confirm!r}. It is True or the question to put: write "
        'confirm="Delete the order for good?".'
    )


def _checked_inline(wait_inline: bool | None, is_async: bool, atomic: bool | None, origin: str) -> bool:
    """Neither a thread nor a transaction waits for a person."""
    check_flag(wait_inline, "wait_inline", origin)
    if not wait_inline:
        return False
    if not is_async:
        raise InvalidPrimitive(
            f"{origin} was given wait_inline=True. Only an async function can wait where it stands: write async def, "
            "or leave it out."
        )
    if atomic:
        raise InvalidPrimitive(
            f"{origin} was given wait_inline=True and atomic=True. No transaction waits for a person: drop one of the "
            "two."
        )
    return True


def _checked_max_size(size: Any, origin: str) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size > 0):
        return size
    raise InvalidPrimitive(
        f"{origin} was given max_size={size!r}. It is a number of bytes above 0: write max_size=100_000."
    )


def _checked_timeout(timeout: Any, origin: str) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0:
        return timeout
    raise InvalidPrimitive(
        f"{origin} was given timeout={timeout!r}. It is a number of seconds above 0: write timeout=30."
    )
