"""What tools, prompts, resources and resource templates have in common.

Everything that can be wrong with a definition is refused here or below, when it is made.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.functions import check_callable, is_async, read_description, read_origin, takes_one
from django_mcp.primitives.jsonable import is_lazy, resolve_texts
from django_mcp.primitives.meta import checked_meta
from django_mcp.protocol.versions import Revision

Permission = str | Callable[[Any], bool | Awaitable[bool]] | None
Visible = Callable[[Any], bool | Awaitable[bool]] | None

SCHEMES = ("https://", "http://", "data:", "/")
TAGS = "django-mcp/tags"
ICON_SIZE = re.compile(r"[1-9]\d*x[1-9]\d*|any")
ICON_THEMES = ("light", "dark")
MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;\s*[^\s;]+)*", re.ASCII)
PERMISSION = re.compile(r"\w+\.\w+")


class Injected:
    """Marks classes whose instances are handed to a function and never are one of its arguments."""


class CallContext(Protocol):
    """What a primitive may read of the context it is called with."""

    @property
    def user(self) -> Any: ...


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Invocation:
    """One call of the site's code, ready for the runner.

    ``finish`` turns the return value into what is sent and belongs to the call: its failure undoes
    what the function wrote. ``wait_inline``: the function may wait for its client where it stands.
    """

    function: Callable[..., Any]
    kwargs: Mapping[str, Any]
    is_async: bool
    finish: Callable[[Any], Any]
    atomic: bool | None = None
    timeout: float | None = None
    wait_inline: bool = False


@dataclass(frozen=True, slots=True)
class Icon:
    """A picture a client may show next to a name (ICON-02).

    A path, as ``static()`` gives it, is sent with the address of the site in front (ICON-03).
    """

    src: str
    mime_type: str | None = None
    sizes: Sequence[str] = ()
    theme: str | None = None

    def __post_init__(self) -> None:
        src: Any = self.src
        if not isinstance(src, str) or not src.startswith(SCHEMES) or src.startswith("//"):
            raise InvalidPrimitive(
                f"An icon has the src {self.src!r}. It must be an https, http or data URL, or a "
                'path of this site: write Icon("https://example.com/icon.png") or Icon(static("icon.png")).'
            )
        sizes: Any = self.sizes
        if isinstance(sizes, str) or not all(map(_is_icon_size, sizes)):
            raise InvalidPrimitive(
                f"An icon has the sizes {self.sizes!r}. They are texts such as 48x48, or any: "
                'write Icon(..., sizes=("48x48",)).'
            )
        if self.theme is not None and self.theme not in ICON_THEMES:
            raise InvalidPrimitive(
                f"An icon has the theme {self.theme!r}. Allowed are light and dark: "
                'write Icon(..., theme="dark") or leave it out.'
            )
        object.__setattr__(self, "sizes", tuple(self.sizes))

    def to_wire(self, revision: Revision | None = None) -> dict[str, Any]:
        wire: dict[str, Any] = {"src": self.src}
        if self.mime_type is not None:
            wire["mimeType"] = self.mime_type
        if self.sizes:
            wire["sizes"] = list(self.sizes)
        if self.theme is not None:
            wire["theme"] = self.theme
        return wire


def _is_icon_size(size: Any) -> bool:
    return isinstance(size, str) and ICON_SIZE.fullmatch(size) is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Primitive(ABC):
    """A registered function with what clients are told about it.

    ``compare=False`` marks the fields that follow from the function and the other fields: the registry
    leaves them out when it asks whether two primitives are the same.
    """

    name: str
    title: Any = None
    description: Any = None
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    permission: Permission = None
    visible: Visible = None
    function: Callable[..., Any] = field(compare=False)
    origin: str = field(compare=False)
    place: str = field(compare=False)
    is_async: bool

    @property
    def key(self) -> str:
        """What the primitive is registered and found under."""
        return self.name

    @property
    def is_guarded(self) -> bool:
        """Whether some callers may not know of it."""
        return self.permission is not None or self.visible is not None

    @property
    def is_translated(self) -> bool:
        """Whether its texts may depend on the language that is active."""
        return is_lazy(self._texts())

    def _texts(self) -> list[Any]:
        """All that people read."""
        return [self.title, self.description, self.meta]

    @abstractmethod
    def to_wire(self, revision: Revision) -> dict[str, Any]:
        """The definition as this revision may see it."""

    def _head(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {"name": self.name}
        if self.title is not None and revision.has_titles:
            wire["title"] = str(self.title)
        if self.description is not None:
            wire["description"] = str(self.description)
        return wire

    def _tail(self, revision: Revision) -> dict[str, Any]:
        wire: dict[str, Any] = {}
        if self.icons and revision.has_icons:
            wire["icons"] = [icon.to_wire(revision) for icon in self.icons]
        if revision.has_item_meta and (self.meta or self.tags):
            tags = {TAGS: list(self.tags)} if self.tags else {}
            wire["_meta"] = {**tags, **resolve_texts(dict(self.meta))}
        return wire


def read_common(
    function: Callable[..., Any],
    *,
    kind: str,
    title: Any = None,
    description: Any = None,
    icons: Sequence[Icon] = (),
    meta: Mapping[str, Any] | None = None,
    tags: Collection[str] = (),
    permission: Permission = None,
    visible: Visible = None,
) -> dict[str, Any]:
    """The checked fields that every primitive has, apart from its name."""
    check_callable(function, kind)
    origin, place = read_origin(function)
    return {
        "title": _checked_text(title, "title", origin),
        "description": read_description(function)
        if description is None
        else _checked_text(description, "description", origin),
        "icons": _checked_icons(icons, origin),
        "meta": checked_meta(meta, origin),
        "tags": _checked_tags(tags, origin),
        "permission": _checked_permission(permission, origin),
        "visible": _checked_visible(visible, origin),
        "function": function,
        "origin": origin,
        "place": place,
        "is_async": is_async(function),
    }


def _checked_text(text: Any, option: str, origin: str) -> Any:
    """A text, or what becomes one when it is asked: a lazy translation, of which this row knows no class."""
    if isinstance(text, int | float | bytes | list | tuple | set | Mapping | type):
        raise InvalidPrimitive(
            f"{origin} was given {option}={text!r}. It is a text, translated or not: write "
            f'{option}=_("Search tickets").'
        )
    return text


def _checked_icons(icons: Sequence[Icon], origin: str) -> tuple[Icon, ...]:
    given = icons if isinstance(icons, list | tuple) else (icons,)
    if wrong := [icon for icon in given if not isinstance(icon, Icon)]:
        raise InvalidPrimitive(
            f"{origin} was given {wrong[0]!r} as an icon. Icons are Icon objects: "
            'write icons=[Icon("https://example.com/icon.png")].'
        )
    return tuple(given)


def _checked_tags(tags: Any, origin: str) -> tuple[str, ...]:
    if isinstance(tags, list | tuple | set | frozenset) and all(isinstance(tag, str) and tag.strip() for tag in tags):
        return tuple(sorted(set(tags)))
    raise InvalidPrimitive(f'{origin} was given tags={tags!r}. They are a list of texts: write tags=["billing"].')


def _checked_permission(permission: Any, origin: str) -> Permission:
    is_name = isinstance(permission, str) and PERMISSION.fullmatch(permission)
    if permission is None or is_name or (callable(permission) and takes_one(permission)):
        return cast(Permission, permission)
    raise InvalidPrimitive(
        f"{origin} was given permission={permission!r}. It is a Django permission or a function of the "
        'context: write permission="shop.change_order" or permission=lambda context: context.user.is_staff.'
    )


def _checked_visible(visible: Any, origin: str) -> Visible:
    if visible is None or (callable(visible) and takes_one(visible)):
        return cast(Visible, visible)
    raise InvalidPrimitive(
        f"{origin} was given visible={visible!r}. It is a function of the context that says whether the caller "
        "may know of it: write visible=lambda context: context.user.is_staff."
    )


def checked_label(name: Any, kind: str, origin: str) -> str:
    """A name that is shown to people: any text that can be printed."""
    if isinstance(name, str) and name.strip() and name.isprintable():
        return name
    raise InvalidPrimitive(
        f'{origin} is named {name!r} as a {kind}. A name is a text without control characters: write name="summary".'
    )


def checked_mime_type(mime_type: Any, origin: str) -> str | None:
    if mime_type is None or (isinstance(mime_type, str) and MEDIA_TYPE.fullmatch(mime_type)):
        return mime_type
    raise InvalidPrimitive(
        f'{origin} was given mime_type={mime_type!r}. It is a media type: write mime_type="application/json".'
    )


def check_flag(value: Any, option: str, origin: str) -> None:
    """``value`` must be True, False or None."""
    if value is not None and not isinstance(value, bool):
        raise InvalidPrimitive(
            f"{origin} was given {option}={value!r}. Allowed are True and False: write {option}=True or leave it out."
        )
