"""What a failing prompt, resource, completer or method answers: a JSON-RPC error without internals."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError, invalid_params
from django_mcp.server.context import Context
from django_mcp.server.services import ErrorPolicy

logger = logging.getLogger("django_mcp.server")

INTERNAL = "Internal error"


@contextmanager
def reported(errors: ErrorPolicy, subject: str) -> Iterator[None]:
    """Turn what the site's code raises inside the block into ``-32603``, or ``-32602`` about input (RPC-29).

    The dispatcher tells the site's exception reporter, which may have to wait: the cause says of what.
    """
    try:
        yield
    except ProtocolError:
        raise
    except Exception as error:  # the boundary between the site's code and the client
        text = errors.public_text(error)
        if text is not None:
            raise invalid_params(text) if errors.is_invalid(error) else ProtocolError(INTERNAL_ERROR, text) from None
        logger.exception("%s failed", subject)
        raise ProtocolError(INTERNAL_ERROR, INTERNAL) from error


async def internal_error(error: Exception, context: Context) -> ProtocolError:
    """The fixed sentence for a fault that is in the log and of which the site's exception reporter is told now."""
    await context.server.services.errors.report(error, context)
    return ProtocolError(INTERNAL_ERROR, INTERNAL)


async def tell_reporter(error: ProtocolError, context: Context) -> None:
    """Report what is behind an answer that says no more than the fixed sentence (S189)."""
    cause = error.__cause__
    if error.message == INTERNAL and isinstance(cause, Exception):
        await context.server.services.errors.report(cause, context)
