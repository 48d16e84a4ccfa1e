"""Middleware, reporters and their like, as a site names them by dotted path; ``seen`` is what they met."""

from __future__ import annotations

import asyncio
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import MiddlewareNotUsed, PermissionDenied

from django_mcp import ProtocolError

HERE = "tests.server.around"
seen: list[Any] = []


def outer(get_result):
    async def middleware(context):
        seen.append(f"outer before {context.method}")
        context.tenant = "acme"
        try:
            result = await get_result(context)
        except ProtocolError as error:
            seen.append(f"outer met {error.code}")
            raise
        seen.append("outer after")
        return {**result, "outer": True}

    return middleware


def inner(get_result):
    def middleware(context):
        seen.append(f"inner before, {User.objects.count()} users")
        result = get_result(context)
        seen.append("inner after")
        return {**result, "inner": True}

    return middleware


class ByClass:
    def __init__(self, get_result):
        self.get_result = get_result

    async def __call__(self, context):
        seen.append("class")
        return await self.get_result(context)


def exits(get_result):
    async def middleware(context):
        raise SystemExit

    return middleware


def not_used(get_result):
    raise MiddlewareNotUsed


def no_function(get_result):
    return None


def returns_none(get_result):
    async def middleware(context):
        await get_result(context)

    return middleware


def returns_none_in_sync(get_result):
    def middleware(context):
        get_result(context)

    return middleware


def forgets_await(get_result):
    async def middleware(context):
        return get_result(context)

    return middleware


def never_calls(get_result):
    def middleware(context):
        return {"content": [], "isError": False, "cached": True}

    return middleware


def raises(get_result):
    async def middleware(context):
        raise RuntimeError("postgres://u:secret@db")

    return middleware


def refuses(get_result):
    async def middleware(context):
        raise PermissionDenied("Not on Sundays.")

    return middleware


def refuses_by_code(get_result):
    def middleware(context):
        raise ProtocolError(1234, "Closed", data={"until": "Monday"})

    return middleware


no_callable = 5


def report(error, context):
    seen.append((type(error).__name__, str(error), context.method, context.user.is_authenticated, User.objects.count()))


async def report_async(error, context):
    await asyncio.sleep(0)
    seen.append((type(error).__name__, context.method))


def report_badly(error, context):
    raise RuntimeError("the reporter is broken")
