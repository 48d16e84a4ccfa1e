"""The measured site, which also says how many queries it has sent: GET /queries, in plain text.

A look by which SQLite tells that nothing was written is none of them.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from benchmarks.site.asgi import application

_sent = 0


def _count(execute: Callable[..., Any], *arguments: Any) -> Any:
    global _sent
    _sent += 1
    return execute(*arguments)


def _watch(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    if _count not in connection.execute_wrappers:
        connection.execute_wrappers.append(_count)


connection_created.connect(_watch)


async def counted(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    if scope.get("path") != "/queries":
        await application(scope, receive, send)
        return
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"%d" % _sent})
