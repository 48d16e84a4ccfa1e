"""The settings of the app: one dict, read through one frozen dataclass.

    DJANGO_MCP = {
        "AUTHENTICATION": "django_mcp.auth.BearerToken",
        "SESSION_IDLE": timedelta(hours=2),
        "PAGE_SIZE": 50,
    }

``mcp_settings()`` is called where a value is used, never at import, so ``override_settings`` works.
Durations are given in seconds or as a ``timedelta`` and read as seconds; sizes are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver

# Beyond any use, and within what a date can hold.
_CENTURY = 100 * 365.25 * 86400
_ORIGINS = "origins like 'https://app.example.com', without a slash at the end"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a key takes: ``read`` returns the value as we use it, or raises ``ValueError``."""

    allowed: str
    read: Callable[[Any], Any]


def _whole(minimum: int) -> _Kind:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise ValueError
        return value

    return _Kind(f"a whole number of at least {minimum}", read)


def _seconds(*, zero: bool = False) -> _Kind:
    def read(value: Any) -> float:
        if isinstance(value, timedelta):
            value = value.total_seconds()
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError
        if not 0 <= value <= _CENTURY or (value == 0 and not zero):
            raise ValueError
        return float(value)

    least = "at least zero" if zero else "more than zero"
    return _Kind(f"a number of seconds or a timedelta, {least} and at most 100 years", read)


def _optional(kind: _Kind) -> _Kind:
    return _Kind(f"None or {kind.allowed}", lambda value: None if value is None else kind.read(value))


def _flag() -> _Kind:
    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    return _Kind("True or False", read)


def _one_of(*choices: str) -> _Kind:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return _Kind("one of " + ", ".join(map(repr, choices)), read)


def _list_of(allowed: str, fits: Callable[[Any], bool]) -> _Kind:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or not all(map(fits, value)):
            raise ValueError
        return tuple(value)

    return _Kind(f"a list of {allowed}", read)


def _dotted_path() -> _Kind:
    def read(value: Any) -> str:
        if not _is_dotted_path(value):
            raise ValueError
        return str(value)

    return _Kind("the dotted path of a function", read)


def _authentication() -> _Kind:
    def read(value: Any) -> tuple[Any, ...]:
        entries = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not entries or not all(map(_is_authentication, entries)):
            raise ValueError
        return entries

    return _Kind(
        "the dotted path of an authentication class or a list of them; "
        "an open server spells it out: 'django_mcp.auth.AllowAny'",
        read,
    )


def _url() -> _Kind:
    def read(value: Any) -> str:
        if not _is_public_url(value):
            raise ValueError
        return str(value)

    return _Kind("an absolute http(s) URL without user name, query and fragment", read)


def _is_dotted_path(value: Any) -> bool:
    return isinstance(value, str) and "." in value.strip(".")


def _is_authentication(value: Any) -> bool:
    return _is_dotted_path(value) or callable(getattr(value, "authenticate", None))


def _is_origin(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    scheme, separator, host = value.partition("://")
    return bool(scheme and separator and host) and not any(mark in host for mark in "/?#@ ")


def _is_public_url(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
        port_fits = parts.port != 0
    except ValueError:
        return False
    extras = parts.query or parts.fragment or parts.username
    return port_fits and parts.scheme in {"http", "https"} and bool(parts.hostname) and not extras


def _default_max_streams() -> int:
    """As many streams as leave the process 256 files and a fifth of the rest; at least 10, at most 5,000."""
    try:
        import resource
    except ImportError:  # there is none on Windows
        return 5000
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 5000
    return max(10, min(5000, (soft - 256) * 8 // 10))


def _key(default: Any, kind: _Kind) -> Any:
    return field(default=default, metadata={"kind": kind})


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPSettings:
    """Every key of ``DJANGO_MCP`` in lower case, checked and with its default."""

    # Threads and calls
    sync_workers: int = _key(8, _whole(1))
    store_workers: int = _key(2, _whole(1))
    lane_timeout: float = _key(30.0, _seconds())
    tool_timeout: float | None = _key(None, _optional(_seconds()))
    send_timeout: float = _key(20.0, _seconds())
    stream_buffer: int = _key(1024 * 1024, _whole(1))
    shutdown_grace: float = _key(5.0, _seconds(zero=True))
    detached_calls: int = _key(200, _whole(0))
    # Requests. MAX_BODY is never above DATA_UPLOAD_MAX_MEMORY_SIZE.
    max_body: int = _key(4 * 1024 * 1024, _whole(1))
    max_depth: int = _key(64, _whole(1))
    page_size: int | None = _key(None, _optional(_whole(1)))
    max_result: int | None = _key(None, _optional(_whole(1)))
    tool_rate: int | None = _key(None, _optional(_whole(1)))
    completion_rate: int | None = _key(50, _optional(_whole(1)))
    # Sessions. A client that never ends one leaves a row behind for SESSION_IDLE.
    session_idle: float = _key(1800.0, _seconds())
    session_age: float = _key(7 * 86400.0, _seconds())
    session_min_age: float = _key(60.0, _seconds(zero=True))
    session_cache: float = _key(0.0, _seconds(zero=True))
    sessions_per_user: int = _key(100, _whole(1))
    anonymous_sessions: int = _key(10_000, _whole(1))
    cache_seconds: float = _key(1.0, _seconds(zero=True))
    # Events and streams. POLL_INTERVAL None: 0.1 s on SQLite, 0.25 s elsewhere, 5 s with a doorbell.
    doorbell: str = _key("auto", _one_of("auto", "off"))
    poll_interval: float | None = _key(None, _optional(_seconds()))
    streams: bool = _key(True, _flag())
    max_streams: int = field(default_factory=_default_max_streams, metadata={"kind": _whole(1)})
    max_streams_per_user: int = _key(50, _whole(1))
    stream_age: float = _key(86400.0, _seconds())
    event_age: float = _key(3600.0, _seconds())
    event_rows: int = _key(100_000, _whole(1))
    replay_age: float = _key(300.0, _seconds())
    # Questions to the client
    max_rounds: int = _key(20, _whole(1))
    state_ttl: float = _key(600.0, _seconds())
    state_max_bytes: int = _key(64 * 1024, _whole(1))
    # Who may come in
    allowed_origins: tuple[str, ...] = _key((), _list_of(_ORIGINS, _is_origin))
    public_url: str | None = _key(None, _optional(_url()))
    authentication: tuple[Any, ...] = _key(("django_mcp.auth.BearerToken",), _authentication())
    consumer_middleware: tuple[str, ...] = _key((), _list_of("dotted paths of ASGI wrappers", _is_dotted_path))
    context_processors: tuple[str, ...] = _key((), _list_of("dotted paths of functions", _is_dotted_path))
    # Around calls
    middleware: tuple[str, ...] = _key((), _list_of("dotted paths of functions", _is_dotted_path))
    exception_reporter: str | None = _key(None, _optional(_dotted_path()))
    log_arguments: bool = _key(False, _flag())


_KINDS: dict[str, _Kind] = {entry.name.upper(): entry.metadata["kind"] for entry in fields(MCPSettings)}


def known_keys() -> tuple[str, ...]:
    """Every key that ``DJANGO_MCP`` may have, in alphabetical order."""
    return tuple(sorted(_KINDS))


@cache
def mcp_settings() -> MCPSettings:
    """The site's settings; raises ``ImproperlyConfigured`` as long as one of them is wrong."""
    return with_overrides(MCPSettings(), getattr(settings, "DJANGO_MCP", {}))


def with_overrides(base: MCPSettings, given: Mapping[str, Any], origin: str = "DJANGO_MCP") -> MCPSettings:
    """``base`` with the keys of ``given``, spelled as in ``DJANGO_MCP``.

    Raises ``ImproperlyConfigured`` for a key or value that is wrong, and names its ``origin``.
    """
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{origin} is {given!r}, but must be a dict of settings, like {{'PAGE_SIZE': 50}}.")
    if unknown := sorted(str(key) for key in given if key not in _KINDS):
        raise ImproperlyConfigured(
            f"{origin} has unknown keys: {', '.join(unknown)}. Known keys: {', '.join(known_keys())}."
        )
    changed = replace(base, **{key.lower(): _read(origin, key, value) for key, value in given.items()})
    ceiling: int | None = getattr(settings, "DATA_UPLOAD_MAX_MEMORY_SIZE", None)
    if ceiling is not None and ceiling < changed.max_body:
        changed = replace(changed, max_body=ceiling)
    return changed


def _read(origin: str, key: str, value: Any) -> Any:
    try:
        return _KINDS[key].read(value)
    except ValueError:
        raise ImproperlyConfigured(f"{origin}[{key!r}] is {value!r}, but must be {_KINDS[key].allowed}.") from None


# From django.core.signals: the module of the same name in django.test loads the test framework.
@receiver(setting_changed, dispatch_uid="django_mcp.conf")
def _forget_settings(*, setting: str, **kwargs: Any) -> None:
    if setting in {"DJANGO_MCP", "DATA_UPLOAD_MAX_MEMORY_SIZE"}:
        mcp_settings.cache_clear()
