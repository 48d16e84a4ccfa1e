"""The registry: what a server offers, in the order of registration."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, cast

from django_mcp.exceptions import AlreadyRegistered, InvalidPrimitive, NotRegistered
from django_mcp.primitives.base import Primitive
from django_mcp.primitives.functions import is_same_code
from django_mcp.primitives.methods import CustomMethod, CustomNotification
from django_mcp.primitives.outline import Outline
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.readers import Reader
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.subscribing import SubscriptionHandler
from django_mcp.primitives.tools import ToolDefinition

P = TypeVar("P", bound=Primitive)


class Kind(StrEnum):
    """What can be registered; the value is the word for it in messages."""

    TOOL = "tool"
    PROMPT = "prompt"
    RESOURCE = "resource"
    TEMPLATE = "resource template"

    @property
    def primitive(self) -> type[Primitive]:
        return _CLASSES[self]

    @property
    def key(self) -> str:
        """The word for what a primitive of this kind is registered under."""
        return "name" if self in (Kind.TOOL, Kind.PROMPT) else "URI"

    @classmethod
    def of(cls, primitive: Any) -> Kind:
        """The kind of a primitive; raises ``InvalidPrimitive`` for anything else."""
        for kind, primitive_class in _CLASSES.items():
            if isinstance(primitive, primitive_class):
                return kind
        raise InvalidPrimitive(
            f"{primitive!r} cannot be registered. Allowed are tools, prompts, resources and resource "
            "templates: write @register above a class, or @tool above a function."
        )


_CLASSES: dict[Kind, type[Primitive]] = {
    Kind.TOOL: ToolDefinition,
    Kind.PROMPT: PromptDefinition,
    Kind.RESOURCE: ResourceDefinition,
    Kind.TEMPLATE: ResourceTemplateDefinition,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that was registered at one moment. Never changed, only replaced."""

    tools: Mapping[str, ToolDefinition] = field(default_factory=dict)
    prompts: Mapping[str, PromptDefinition] = field(default_factory=dict)
    resources: Mapping[str, ResourceDefinition] = field(default_factory=dict)
    templates: Mapping[str, ResourceTemplateDefinition] = field(default_factory=dict)
    methods: Mapping[str, CustomMethod] = field(default_factory=dict)
    notifications: Mapping[str, CustomNotification] = field(default_factory=dict)
    readers: tuple[Reader, ...] = ()
    on_subscribe: tuple[SubscriptionHandler, ...] = ()
    on_unsubscribe: tuple[SubscriptionHandler, ...] = ()
    instructions: tuple[Any, ...] = ()
    _outlines: dict[Kind, Outline[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def outline(self, kind: Kind) -> Outline[Any]:
        """The primitives of a kind as lists show them; made when it is first asked for."""
        found = self._outlines.get(kind)
        if found is None:
            found = self._outlines[kind] = Outline(self.of(kind))
        return found

    def of(self, kind: Kind) -> Mapping[str, Primitive]:
        return cast(Mapping[str, Primitive], getattr(self, _FIELDS[kind]))

    def having(self, kind: Kind, primitives: dict[str, Primitive]) -> Snapshot:
        """``primitives`` is the caller's to give away."""
        change: dict[str, Any] = {_FIELDS[kind]: MappingProxyType(primitives)}
        return replace(self, **change)


_FIELDS = dict(zip(Kind, ("tools", "prompts", "resources", "templates"), strict=True))


class Registry:
    """Primitives by kind and name or URI. Readers need no lock: every change makes new mappings.

    ``on_change`` is called after each of them.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self._on_change = on_change
        self._lock = threading.RLock()
        self._state = Snapshot()
        self._version = 0

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._version

    @property
    def tools(self) -> Mapping[str, ToolDefinition]:
        return self._state.tools

    @property
    def prompts(self) -> Mapping[str, PromptDefinition]:
        return self._state.prompts

    @property
    def resources(self) -> Mapping[str, ResourceDefinition]:
        return self._state.resources

    @property
    def templates(self) -> Mapping[str, ResourceTemplateDefinition]:
        return self._state.templates

    @property
    def has_completers(self) -> bool:
        state = self._state
        return any(prompt.complete for prompt in state.prompts.values()) or any(
            template.complete for template in state.templates.values()
        )

    @property
    def readers(self) -> tuple[Reader, ...]:
        return self._state.readers

    @property
    def on_subscribe(self) -> tuple[SubscriptionHandler, ...]:
        return self._state.on_subscribe

    @property
    def on_unsubscribe(self) -> tuple[SubscriptionHandler, ...]:
        return self._state.on_unsubscribe

    @property
    def instructions(self) -> tuple[Any, ...]:
        return self._state.instructions

    def register(self, primitive: P, *others: Primitive) -> P:
        """Add primitives, all or none. The same one once more changes nothing, as when a module runs twice.

        Raises ``AlreadyRegistered`` if a name or URI belongs to another one.
        """
        with self._lock:
            state = self._state
            everything: tuple[Primitive, ...] = (primitive, *others)
            for one in everything:
                state = _having(state, one)
            if state is not self._state:
                self._replace(state)
        return primitive

    def add_reader(self, reader: Reader) -> None:
        """Ask it after those that are there; the same one once more changes nothing."""
        with self._lock:
            if not any(map(reader.is_same, self._state.readers)):
                self._replace(replace(self._state, readers=(*self._state.readers, reader)))

    def add_subscription_handler(self, option: str, handler: SubscriptionHandler) -> None:
        """``option`` is ``on_subscribe`` or ``on_unsubscribe``; the same handler once more changes nothing."""
        with self._lock:
            handlers: tuple[SubscriptionHandler, ...] = getattr(self._state, option)
            if not any(map(handler.is_same, handlers)):
                change: dict[str, Any] = {option: (*handlers, handler)}
                self._replace(replace(self._state, **change))

    def add_instructions(self, text: Any) -> None:
        with self._lock:
            if text not in self._state.instructions:
                self._replace(replace(self._state, instructions=(*self._state.instructions, text)))

    def register_method(self, method: CustomMethod) -> None:
        """Add a custom method or notification. Raises ``AlreadyRegistered`` if another one has its name."""
        mapping = "notifications" if isinstance(method, CustomNotification) else "methods"
        with self._lock:
            registered: Mapping[str, CustomMethod] = getattr(self._state, mapping)
            existing = registered.get(method.name)
            if existing is None:
                change: dict[str, Any] = {mapping: MappingProxyType({**registered, method.name: method})}
                self._replace(replace(self._state, **change))
            elif not _is_same(existing, method):
                raise AlreadyRegistered(
                    f"The {method.kind} {method.name!r} is answered by {_where(existing)} and again by "
                    f"{_where(method)}. Each has one handler: change one of the two names."
                )

    def unregister(self, kind: Kind, key: str) -> None:
        """Remove a primitive. Raises ``NotRegistered``, which names similar ones."""
        with self._lock:
            registered = dict(self._state.of(kind))
            if registered.pop(key, None) is None:
                close = difflib.get_close_matches(key, registered, n=3)
                known = ", ".join(close or registered) or "nothing"
                raise NotRegistered(f"There is no {kind} {key!r}. Registered: {known}. Use one of these.")
            self._replace(self._state.having(kind, registered))

    def find_tool(self, name: str) -> ToolDefinition | None:
        return self._state.tools.get(name)

    def find_prompt(self, name: str) -> PromptDefinition | None:
        return self._state.prompts.get(name)

    def find_method(self, name: str) -> CustomMethod | None:
        return self._state.methods.get(name)

    def find_notification(self, name: str) -> CustomNotification | None:
        return self._state.notifications.get(name)

    def find_resource(self, uri: str) -> tuple[ResourceDefinition | ResourceTemplateDefinition, dict[str, str]] | None:
        """What is behind the URI: the resource of this very URI, or the first template that fits."""
        return next(self.find_resources(uri), None)

    def find_resources(
        self, uri: str
    ) -> Iterator[tuple[ResourceDefinition | ResourceTemplateDefinition, dict[str, str]]]:
        """Everything that the URI may stand for, the resource of this very URI first."""
        state = self._state
        if (resource := state.resources.get(uri)) is not None:
            yield resource, {}
        for template in state.templates.values():
            if (variables := template.match(uri)) is not None:
                yield template, variables

    def snapshot(self) -> Snapshot:
        """What is registered now, to come back to with ``restore``."""
        return self._state

    def restore(self, snapshot: Snapshot) -> None:
        """Undo everything since the snapshot, such as a module that failed half-way."""
        with self._lock:
            if self._state is not snapshot:
                self._replace(snapshot)

    @contextmanager
    def override(self) -> Iterator[Registry]:
        """For tests: what is registered and unregistered inside the block is undone at its end."""
        before = self.snapshot()
        try:
            yield self
        finally:
            self.restore(before)

    def _replace(self, state: Snapshot) -> None:
        self._state = state
        self._version += 1
        self._on_change()


def _having(state: Snapshot, primitive: Primitive) -> Snapshot:
    kind = Kind.of(primitive)
    registered = state.of(kind)
    existing = registered.get(primitive.key)
    if existing is None:
        return state.having(kind, {**registered, primitive.key: primitive})
    if not _is_same(existing, primitive):
        raise AlreadyRegistered(
            f"The {kind} {primitive.key!r} is registered by {_where(existing)} and again by "
            f"{_where(primitive)}. Every {kind} has its own {kind.key}: change one of the two."
        )
    return state


def _is_same(one: Primitive, other: Primitive) -> bool:
    """Whether both are the same function with the same options, even if its module ran twice."""
    if type(one) is not type(other) or not is_same_code(one.function, other.function):
        return False
    return all(_is_equal(getattr(one, item.name), getattr(other, item.name)) for item in fields(one) if item.compare)


def _is_equal(one: Any, other: Any) -> bool:
    return one == other or is_same_code(one, other)


def _where(primitive: Primitive) -> str:
    return f"{primitive.origin} ({primitive.place})" if primitive.place else primitive.origin
