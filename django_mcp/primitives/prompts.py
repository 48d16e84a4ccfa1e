"""Prompts: messages a user may start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from pydantic.fields import FieldInfo

from django_mcp.exceptions import InvalidArguments, InvalidOutput, InvalidPrimitive
from django_mcp.primitives.arguments import TypedArguments
from django_mcp.primitives.base import (
    Icon,
    Invocation,
    Permission,
    Primitive,
    Visible,
    checked_label,
    read_common,
)
from django_mcp.primitives.completion import Completer, read_completers
from django_mcp.primitives.faults import bounded, shown, shown_name
from django_mcp.primitives.functions import read_name
from django_mcp.primitives.jsonable import JSONDefault
from django_mcp.primitives.messages import PromptResult, to_prompt_result
from django_mcp.primitives.questions import raise_if_input_required
from django_mcp.primitives.signature import Signature, read_signature
from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.versions import Revision

# A template's name and its values to a text.
Render = Callable[[str, Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """What clients are told about one argument (PRM-02)."""

    name: str
    title: Any = None
    description: Any = None
    required: bool = False

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {"name": self.name}
        if self.title is not None and revision.has_titles:
            wire["title"] = str(self.title)
        if self.description is not None:
            wire["description"] = str(self.description)
        wire["required"] = self.required
        return wire


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptDefinition(Primitive):
    """A function that writes messages. Its arguments are texts on the wire (PRM-09)."""

    arguments: tuple[PromptArgument, ...] = field(default=(), compare=False)
    complete: Mapping[str, Completer] = field(compare=False)
    typed: TypedArguments = field(compare=False)
    signature: Signature = field(compare=False)
    template_name: str | None = None

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: Any = None,
        description: Any = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Collection[str] = (),
        permission: Permission = None,
        visible: Visible = None,
        complete: Mapping[str, Any] | None = None,
        template_name: str | None = None,
    ) -> Self:
        """Read the function; everything that is wrong with it is an ``InvalidPrimitive`` now."""
        common = read_common(
            function,
            kind="prompt",
            title=title,
            description=description,
            icons=icons,
            meta=meta,
            tags=tags,
            permission=permission,
            visible=visible,
        )
        origin = common["origin"]
        signature = read_signature(function, origin)
        typed = TypedArguments(signature, origin)
        return cls(
            name=checked_label(read_name(function) if name is None else name, "prompt", origin),
            arguments=_read_arguments(typed.schema),
            complete=read_completers(complete, signature, origin),
            typed=typed,
            signature=signature,
            template_name=_checked_template_name(template_name, origin),
            **common,
        )

    @property
    def argument_names(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.arguments)

    def _texts(self) -> list[Any]:
        return [*Primitive._texts(self), *([one.title, one.description] for one in self.arguments)]

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it."""
        wire = self._head(revision)
        if self.arguments:
            wire["arguments"] = [argument.to_wire(revision) for argument in self.arguments]
        wire.update(self._tail(revision))
        return wire

    def prepare(self, arguments: dict[str, Any], context: Any, default: JSONDefault, render: Render) -> Invocation:
        """The call with its texts converted, or ``InvalidArguments`` (PRM-04, BL-079)."""
        wrong = [
            f"{shown_name(name)}: must be a string, not {shown(value)}"
            for name, value in arguments.items()
            if not isinstance(value, str)
        ]
        if wrong:
            raise InvalidArguments(*bounded(wrong))
        bound = self.typed.bind(arguments)
        finish = partial(self._finish, default=default)
        if self.template_name is not None:
            finish = partial(self._render, arguments=dict(bound), default=default, render=render)
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(bound, context),
            is_async=self.is_async,
            finish=finish,
        )

    def _finish(self, value: Any, default: JSONDefault) -> PromptResult:
        raise_if_input_required(value)
        return to_prompt_result(value, default, description=self.description)

    def _render(self, value: Any, arguments: dict[str, Any], default: JSONDefault, render: Render) -> PromptResult:
        """One message of the user: the template, filled with the arguments and what the function returned."""
        if not isinstance(value, Mapping | None):
            raise InvalidOutput(
                f"The prompt {self.name} has a template and returned a value of type {type(value).__name__}. It "
                "returns a dict with what the template shows, or None."
            )
        template_name = self.template_name
        assert template_name is not None  # noqa: S101 - see prepare
        defaults = {
            one.name: one.default
            for one in self.signature.parameters
            if one.default is not ABSENT and not isinstance(one.default, FieldInfo)
        }
        return self._finish(render(template_name, {**defaults, **arguments, **(value or {})}), default)


def _checked_template_name(name: Any, origin: str) -> str | None:
    if name is None or (isinstance(name, str) and name.strip()):
        return name
    raise InvalidPrimitive(
        f"{origin} was given template_name={name!r}. It is the name of a Django template: write "
        'template_name="helpdesk/prompts/triage.md".'
    )


def _read_arguments(schema: Mapping[str, Any]) -> tuple[PromptArgument, ...]:
    required = schema.get("required", ())
    return tuple(
        PromptArgument(
            name=name,
            title=declared.get("title"),
            description=declared.get("description"),
            required=name in required,
        )
        for name, declared in schema["properties"].items()
    )
