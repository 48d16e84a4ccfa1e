"""Which exceptions may speak to a client: ours for tools, and those that Django means for users."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.http import Http404
from django.utils.module_loading import import_string

from django_mcp.exceptions import InvalidArguments, ToolError
from django_mcp.server.context import Context

logger = logging.getLogger("django_mcp.server")

TEXTS = {PermissionDenied: "Permission denied.", Http404: "Not found."}  # for those raised without one


class DjangoErrors:
    """The ``ErrorPolicy`` of a Django site."""

    def public_text(self, error: Exception) -> str | None:
        if isinstance(error, ToolError | InvalidArguments):
            return str(error)
        if isinstance(error, ValidationError):
            return _validation_text(error)
        if _is_rest_validation(error):
            return "\n".join(_rest_texts(error.detail))  # type: ignore[attr-defined]  # its package has no types
        for kind, otherwise in TEXTS.items():
            if isinstance(error, kind):
                return str(error) or otherwise
        if isinstance(error, ObjectDoesNotExist):
            # Ticket.DoesNotExist. Its own text may have been written for the log.
            return f"{type(error).__qualname__.rpartition('.')[0].rpartition('.')[2] or 'Object'} not found."
        return None

    def is_invalid(self, error: Exception) -> bool:
        return isinstance(error, InvalidArguments | ValidationError) or _is_rest_validation(error)

    def is_missing(self, error: Exception) -> bool:
        return isinstance(error, Http404 | ObjectDoesNotExist | PermissionDenied)

    async def report(self, error: Exception, context: Context) -> None:
        """Call the ``EXCEPTION_REPORTER`` of the server. Its own failure is logged and changes nothing (S189)."""
        server = context.server
        path = server.settings.exception_reporter
        if path is None:
            return
        try:
            await server.services.runner.call(import_string(path), error, context)
        except Exception:  # whatever it raises, the client waits for its answer
            logger.exception("The exception reporter %s failed", path)


def _validation_text(error: ValidationError) -> str:
    """Every message, each with its field where the error knows it."""
    if hasattr(error, "error_dict"):
        return "\n".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
    return "\n".join(error.messages)


def _is_rest_validation(error: Exception) -> bool:
    """Who raises it has loaded Django REST framework, so it is not imported here."""
    rest = sys.modules.get("rest_framework.exceptions")
    return rest is not None and isinstance(error, rest.ValidationError)


def _rest_texts(detail: Any, place: str = "") -> Iterator[str]:
    """The same for the nested detail of Django REST framework."""
    if isinstance(detail, Mapping):
        for key, item in detail.items():
            yield from _rest_texts(item, f"{place}.{key}" if place else str(key))
    elif isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        for position, item in enumerate(detail):
            yield from _rest_texts(item, f"{place}[{position}]")
    else:
        text = " ".join(map(str, detail)) if isinstance(detail, list) else str(detail)
        yield f"{place}: {text}" if place else text
