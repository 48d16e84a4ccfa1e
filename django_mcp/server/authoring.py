"""What an app's ``mcp.py`` calls: decorators, ``define_*`` and ``register``.

Every decorator returns the function unchanged, so it stays callable and testable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Unpack, overload

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Permission, Primitive
from django_mcp.primitives.listed import Listed
from django_mcp.primitives.methods import CustomMethod, CustomNotification
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.readers import Reader
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.subscribing import SubscriptionHandler
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.registry import Registry
from django_mcp.server.classes import Declared, read_class
from django_mcp.server.options import (
    PromptOptions,
    ResourceOptions,
    ResourceTemplateOptions,
    ToolOptions,
    check_options,
)

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R", bound=Primitive | type[Declared])


class Authoring:
    """What an app's ``mcp.py`` calls. ``Server`` is the only subclass.

    Everything raises ``InvalidPrimitive`` for what cannot be published, and ``AlreadyRegistered`` for a
    name or URI that is taken. What raises has registered nothing.
    """

    registry: Registry

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register a function as a tool: ``@tool`` or ``@tool(name=..., permission=...)``."""
        return self._decorated(ToolDefinition, "@tool", function, options)

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(self, function: None = None, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Register a function as a prompt; ``complete`` maps argument names to completers."""
        return self._decorated(PromptDefinition, "@prompt", function, options)

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Register a function as the resource with this URI: ``@resource("help://opening-hours")``."""
        _require_text(uri, "@resource", "help://opening-hours")
        return self._decorator(ResourceDefinition, "@resource", options, uri=uri)

    def resource_template(self, uri_template: str, /, **options: Unpack[ResourceTemplateOptions]) -> Callable[[F], F]:
        """Register a function for every URI that fits: ``@resource_template("ticket://{pk}")``."""
        _require_text(uri_template, "@resource_template", "ticket://{pk}")
        return self._decorator(ResourceTemplateDefinition, "@resource_template", options, uri_template=uri_template)

    def define_tool(self, function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> ToolDefinition:
        """``tool`` as a call: returns what is registered for the function."""
        check_options(ToolDefinition, options, "define_tool")
        return self.registry.register(ToolDefinition.from_function(function, **options))

    def define_prompt(self, function: Callable[..., Any], /, **options: Unpack[PromptOptions]) -> PromptDefinition:
        """``prompt`` as a call."""
        check_options(PromptDefinition, options, "define_prompt")
        return self.registry.register(PromptDefinition.from_function(function, **options))

    def define_resource(
        self, uri: str, function: Callable[..., Any] | None = None, /, **options: Unpack[ResourceOptions]
    ) -> ResourceDefinition:
        """``resource`` as a call. Without a function it is only listed: ``read_resource`` reads it."""
        _require_text(uri, "define_resource", "help://opening-hours")
        check_options(ResourceDefinition, options, "define_resource")
        function = function or Listed(uri, options.get("name"), "define_resource", sys._getframe(1))
        return self.registry.register(ResourceDefinition.from_function(function, uri=uri, **options))

    def define_resource_template(
        self,
        uri_template: str,
        function: Callable[..., Any] | None = None,
        /,
        **options: Unpack[ResourceTemplateOptions],
    ) -> ResourceTemplateDefinition:
        """``resource_template`` as a call. Without a function it is only listed: ``read_resource`` reads it."""
        _require_text(uri_template, "define_resource_template", "ticket://{pk}")
        check_options(ResourceTemplateDefinition, options, "define_resource_template")
        function = function or Listed(uri_template, options.get("name"), "define_resource_template", sys._getframe(1))
        return self.registry.register(
            ResourceTemplateDefinition.from_function(function, uri_template=uri_template, **options)
        )

    def read_resource(self, function: F, /) -> F:
        """Ask this function for URIs that no other function answers, those that are only listed above all.

        It takes the URI, and the context if it likes, and returns what a resource does, or ``None`` for a
        URI that is not its own: then the next one is asked, and in the end the templates are.
        """
        self.registry.add_reader(Reader.from_function(function))
        return function

    def on_subscribe(self, function: F, /) -> F:
        """Ask this function before anybody subscribes to a resource of this server.

        It takes the URI and the context, as it likes. By raising it refuses: ``PermissionDenied`` and
        ``ResourceNotFound`` as if there were no such resource, ``ToolError`` and ``InvalidArguments`` with
        their text. A dict that it returns goes into ``_meta`` of the answer.
        """
        return self._asked("on_subscribe", function)

    def on_unsubscribe(self, function: F, /) -> F:
        """``on_subscribe`` for the end of a subscription, where the client asks for it."""
        return self._asked("on_unsubscribe", function)

    def add_instructions(self, text: Any) -> None:
        """Tell models how to use what one app offers, after the ``instructions`` of the server itself.

        ``text`` may be a lazy translation. The same one twice is told once.
        """
        self.registry.add_instructions(text)

    def register(self, registered: R) -> R:
        """Add a class: ``@register`` above a ``Tool``, ``Prompt``, ``Resource``, ``ResourceTemplate`` or ``Toolset``.

        A primitive that something else has built is taken, too. Returns what it was given.
        """
        if isinstance(registered, type) and issubclass(registered, Declared):
            self.registry.register(*read_class(registered))
        else:
            self.registry.register(registered)
        return registered

    def method(self, name: str, /, *, permission: Permission = None) -> Callable[[F], F]:
        """Answer a method of the site's own with a function: ``@server.method("example/do")``.

        Raises ``InvalidPrimitive`` for a name that belongs to the protocol (S196, S197).
        """
        _require_text(name, "@server.method", "example/do", "name")
        return self._handler(CustomMethod, name, permission)

    def notification(self, name: str, /, *, permission: Permission = None) -> Callable[[F], F]:
        """Take a notification of the site's own: ``@server.notification("notifications/example/done")``."""
        _require_text(name, "@server.notification", "notifications/example/done", "name")
        return self._handler(CustomNotification, name, permission)

    def _asked(self, option: str, function: F) -> F:
        self.registry.add_subscription_handler(option, SubscriptionHandler.from_function(function, option))
        return function

    def _handler(self, kind: type[CustomMethod], name: str, permission: Permission) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            self.registry.register_method(kind.from_function(name, function, permission=permission))
            return function

        return decorate

    def _decorated(self, primitive: Any, called: str, function: Any, options: dict[str, Any]) -> Any:
        """The function where the decorator stands without parentheses, else the decorator."""
        decorator = self._decorator(primitive, called, options)
        return decorator if function is None else decorator(function)

    def _decorator(self, primitive: Any, called: str, options: Mapping[str, Any], **place: str) -> Callable[[F], F]:
        check_options(primitive, options, called)

        def decorate(function: F) -> F:
            self.registry.register(primitive.from_function(function, **options, **place))
            return function

        return decorate


def _require_text(text: Any, called: str, example: str, what: str = "URI") -> None:
    if not isinstance(text, str):
        above = " above the function" if called.startswith("@") else ""
        raise InvalidPrimitive(
            f"{called} was given {text!r} where the {what} belongs. It takes the {what} as its first argument: "
            f'write {called}("{example}"){above}.'
        )
