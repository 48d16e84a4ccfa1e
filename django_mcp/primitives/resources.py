"""Resources and resource templates: what clients may read by URI."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.arguments import TypedArguments
from django_mcp.primitives.base import (
    Icon,
    Invocation,
    Permission,
    Primitive,
    Visible,
    checked_label,
    checked_mime_type,
    read_common,
)
from django_mcp.primitives.completion import Completer, read_completers
from django_mcp.primitives.contents import ContentsWriter
from django_mcp.primitives.functions import read_name
from django_mcp.primitives.jsonable import JSONDefault
from django_mcp.primitives.listed import Listed
from django_mcp.primitives.lists import RowList
from django_mcp.primitives.signature import Signature, mentions, read_signature
from django_mcp.primitives.subscribing import SubscriptionHandler, read_handlers
from django_mcp.primitives.uris import checked_uri, read_template, typed_by_converters
from django_mcp.primitives.watching import Watch, read_watch
from django_mcp.protocol.content import Annotations, ResourceContents
from django_mcp.protocol.results import CacheHint
from django_mcp.protocol.uri_templates import UriTemplate
from django_mcp.protocol.versions import Revision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Readable(Primitive):
    """What the two kinds have in common."""

    mime_type: str | None = None
    annotations: Annotations | None = None
    cache: CacheHint | None = None
    watch: Watch | None = field(default=None, compare=False)
    on_subscribe: tuple[SubscriptionHandler, ...] = field(default=(), compare=False)
    on_unsubscribe: tuple[SubscriptionHandler, ...] = field(default=(), compare=False)
    signature: Signature = field(compare=False)
    writer: ContentsWriter = field(compare=False)

    @property
    def is_listed_only(self) -> bool:
        """Whether it has no function of its own, so that a reader is asked for it."""
        return isinstance(self.function, Listed)

    def _wire(self, uri_key: str, size: int | None, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {uri_key: self.key, **self._head(revision)}
        if self.mime_type is not None:
            wire["mimeType"] = self.mime_type
        if size is not None:
            wire["size"] = size
        if self.annotations is not None and (annotations := self.annotations.to_wire(revision)):
            wire["annotations"] = annotations
        wire.update(self._tail(revision))
        return wire

    def _invocation(self, uri: str, kwargs: dict[str, Any], context: Any, default: JSONDefault) -> Invocation:
        return Invocation(
            function=self.function,
            kwargs=self.signature.with_context(kwargs, context),
            is_async=self.is_async,
            finish=partial(self.writer.to_result, uri=uri, default=default),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceDefinition(_Readable):
    """A function behind one URI."""

    uri: str
    size: int | None = None

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        uri: str,
        name: str | None = None,
        title: Any = None,
        description: Any = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Collection[str] = (),
        permission: Permission = None,
        visible: Visible = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Annotations | None = None,
        cache: CacheHint | None = None,
        watch: Any = None,
        uri_for: Callable[[Any], Any] | None = None,
        on_subscribe: Callable[..., Any] | None = None,
        on_unsubscribe: Callable[..., Any] | None = None,
    ) -> Self:
        """Read the function; everything that is wrong with it is an ``InvalidPrimitive`` now."""
        common = read_common(
            function,
            kind="resource",
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
        if signature.names:
            raise InvalidPrimitive(
                f"{origin} takes {', '.join(signature.names)} as the resource {uri!r}. A resource is read "
                "without arguments, the context aside: remove the parameter, or write a template such as "
                f'@resource_template("{uri}/{{{signature.names[0]}}}").'
            )
        return cls(
            name=checked_label(read_name(function) if name is None else name, "resource", origin),
            uri=checked_uri(uri, origin),
            watch=read_watch(watch, uri_for, uri, origin),
            size=_checked_size(size, origin),
            **read_handlers(on_subscribe, on_unsubscribe),
            **_read_described(signature, mime_type, annotations, cache, origin),
            signature=signature,
            **common,
        )

    @property
    def key(self) -> str:
        return self.uri

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it (RES-02)."""
        return self._wire("uri", self.size, revision)

    def bound(self, variables: Mapping[str, str]) -> dict[str, Any]:
        """It has no variables."""
        return {}

    def prepare(self, uri: str, variables: Mapping[str, str], context: Any, default: JSONDefault) -> Invocation:
        return self._invocation(uri, {}, context, default)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceTemplateDefinition(_Readable):
    """A function behind every URI that fits a template."""

    uri_template: str
    template: UriTemplate = field(compare=False)
    typed: TypedArguments = field(compare=False)
    complete: Mapping[str, Completer] = field(compare=False)
    rows: RowList | None = field(compare=False)

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        uri_template: str,
        name: str | None = None,
        title: Any = None,
        description: Any = None,
        icons: Sequence[Icon] = (),
        meta: Mapping[str, Any] | None = None,
        tags: Collection[str] = (),
        permission: Permission = None,
        visible: Visible = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        complete: Mapping[str, Any] | None = None,
        list_resources: Callable[..., Any] | None = None,
        cache: CacheHint | None = None,
        watch: Any = None,
        uri_for: Callable[[Any], Any] | None = None,
        on_subscribe: Callable[..., Any] | None = None,
        on_unsubscribe: Callable[..., Any] | None = None,
    ) -> Self:
        """Read the function; everything that is wrong with it is an ``InvalidPrimitive`` now."""
        common = read_common(
            function,
            kind="resource_template",
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
        template = read_template(uri_template, signature, origin)
        signature = typed_by_converters(signature, template)
        described = _read_described(signature, mime_type, annotations, cache, origin)
        return cls(
            name=checked_label(read_name(function) if name is None else name, "resource template", origin),
            uri_template=template.text,
            template=template,
            watch=read_watch(watch, uri_for, template, origin),
            typed=TypedArguments(signature, origin),
            complete=read_completers(complete, signature, origin),
            rows=_read_rows(list_resources, template, {**common, **described}, origin),
            **read_handlers(on_subscribe, on_unsubscribe, variables=template.variables, optional=template.query),
            **described,
            signature=signature,
            **common,
        )

    @property
    def key(self) -> str:
        return self.uri_template

    @property
    def argument_names(self) -> tuple[str, ...]:
        return self.template.variables

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of the URI, or None if the template does not stand for it."""
        return self.template.match(uri)

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it (RES-05)."""
        return self._wire("uriTemplate", None, revision)

    def bound(self, variables: Mapping[str, str]) -> dict[str, Any]:
        """The variables as the function gets them, or ``InvalidArguments``."""
        return self.typed.bind(dict(variables))

    def prepare(self, uri: str, variables: Mapping[str, str], context: Any, default: JSONDefault) -> Invocation:
        """The call with its variables converted, or ``InvalidArguments``."""
        return self._invocation(uri, self.bound(variables), context, default)


def _read_described(signature: Signature, mime_type: Any, annotations: Any, cache: Any, origin: str) -> dict[str, Any]:
    if annotations is not None and not isinstance(annotations, Annotations):
        raise InvalidPrimitive(
            f"{origin} was given annotations={annotations!r}. They are an Annotations object: write "
            'annotations=Annotations(audience=["user"]).'
        )
    gives_contents = mentions(signature.returns, (ResourceContents,))
    return {
        "mime_type": checked_mime_type(mime_type, origin),
        "annotations": annotations,
        "cache": _checked_cache(cache, origin),
        "writer": ContentsWriter(mime_type=mime_type, gives_contents=gives_contents),
    }


def _read_rows(function: Any, template: UriTemplate, options: Mapping[str, Any], origin: str) -> RowList | None:
    if function is None:
        return None
    defaults = {name: options[name] for name in ("mime_type", "annotations", "icons")}
    return RowList.from_function(function, template=template, defaults=defaults, origin=origin)


def _checked_cache(cache: Any, origin: str) -> CacheHint | None:
    if cache is None or isinstance(cache, CacheHint):
        return cache
    raise InvalidPrimitive(
        f"{origin} was given cache={cache!r}. It is a CacheHint: write cache=CacheHint(ttl_ms=60_000)."
    )


def _checked_size(size: Any, origin: str) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0):
        return size
    raise InvalidPrimitive(
        f"{origin} was given size={size!r}. It is a number of bytes: write size=1024 or leave it out."
    )
