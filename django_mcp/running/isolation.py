"""Each call has context variables of its own: what it activates or sets, ends with it."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from types import coroutine
from typing import Any

from django.utils import timezone, translation

from django_mcp.server.call import Locale


def activate(locale: Locale) -> None:
    """The language and the time zone of the caller, until something else is activated."""
    if locale.language is not None:
        translation.activate(locale.language)
    if locale.time_zone is not None:
        timezone.activate(locale.time_zone)


@contextmanager
def activated(locale: Locale) -> Iterator[None]:
    """The caller's language and time zone inside the block, what was active before after it."""
    if locale.language is None and locale.time_zone is None:
        yield
        return
    with translation.override(locale.language or translation.get_language()):
        if locale.time_zone is None:
            yield
        else:
            with timezone.override(locale.time_zone):
                yield


@coroutine
def run_in(context: Context, steps: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The result of ``steps``, whose every step runs in ``context``. A task would do the same and cost more."""
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            if error is None:
                waits_for = context.run(steps.send, value)
            else:
                thrown, error = error, None
                waits_for = context.run(steps.throw, thrown)
        except StopIteration as stop:
            return stop.value
        try:
            value = yield waits_for
        except GeneratorExit:
            context.run(steps.close)
            raise
        except BaseException as raised:  # noqa: BLE001 - it is raised where the coroutine waits
            error = raised
