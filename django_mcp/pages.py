"""The rows and addresses of questions that people answer on pages of the site."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.core.signing import Signer
from django.db import IntegrityError
from django.urls import get_script_prefix, reverse, set_script_prefix
from django.utils import timezone

from django_mcp.auth.base import principal_for
from django_mcp.exceptions import ToolError
from django_mcp.pending import holding, pending_rows
from django_mcp.primitives.jsonable import to_jsonable
from django_mcp.primitives.questions import OpenedElicitation, URLElicitation
from django_mcp.running import run_store, write_store
from django_mcp.server.call import Call
from django_mcp.server.context import Context
from django_mcp.server.pages import Outcome

# What the URL of a page has besides its path
PARAMETER = "elicitation"

# How many characters of what a client calls itself a page is told
MAX_NAME = 200


def signer() -> Signer:
    """Signs with ``SECRET_KEY``, and reads what ``SECRET_KEY_FALLBACKS`` have signed."""
    return Signer(salt="django_mcp.elicitation")


class SitePages:
    """The ``Pages`` of a Django site: rows that any worker reads."""

    async def open(self, call: Call, place: str, question: URLElicitation) -> OpenedElicitation | None:
        with call.server.services.activate(call.locale):
            path, message = _path(call, question), str(question.message)
        described = json.dumps(
            {
                "message": message,
                "data": to_jsonable(question.data, call.server.services.jsonable),
                "server": call.server.name,
                "client": _client_name(call),
            }
        )
        session = call.session.pk if call.session is not None and call.session.pk else None
        principal = principal_for(call.caller.user)
        seconds = call.server.asking_limits().ttl
        ref = await write_store(_open, place, session, principal, described, seconds)
        if ref is None:
            return None
        url = f"{call.source.find_origin()}{path}?{urlencode({PARAMETER: signer().sign(ref)})}"
        return OpenedElicitation(message, url, ref)

    async def find(self, places: Iterable[str]) -> dict[str, Outcome]:
        return await run_store(_find, list(places))

    async def close(self, places: Iterable[str]) -> None:
        await write_store(_close, list(places))

    def use(self, ref: str) -> Callable[[], bool]:
        rows = pending_rows()
        removed, _ = rows.filter(ref=ref, answered=True).delete()
        if not removed:
            raise ToolError("Another call has used this answer already, so nothing was done.")
        return holding(rows.db)

    async def ause(self, ref: str) -> None:
        await write_store(self.use, ref)


site_pages = SitePages()


def _path(call: Call, question: URLElicitation) -> str:
    """The path of the view, below where the site is mounted: no handler of Django's may have said so here."""
    request = Context(call).request
    before = get_script_prefix()
    if request is not None:
        set_script_prefix(f"{request.META.get('SCRIPT_NAME', '').rstrip('/')}/")
    try:
        return reverse(question.view_name, kwargs=dict(question.kwargs or {}))
    finally:
        set_script_prefix(before)


def _client_name(call: Call) -> str:
    info = call.envelope.client_info or {}
    return str(info.get("title") or info.get("name") or "")[:MAX_NAME]


def _open(place: str, session: int | None, principal: str, question: str, seconds: float) -> str | None:
    now = timezone.now()
    expires = now + timedelta(seconds=seconds)
    rows = pending_rows()
    waiting = rows.filter(place=place, answered=False, expires__gt=now)
    ref = waiting.values_list("ref", flat=True).first()
    if ref is not None and waiting.filter(ref=ref).update(expires=expires):
        return ref
    ref = secrets.token_urlsafe(24)
    try:
        rows.create(session_id=session, ref=ref, expires=expires, principal=principal, place=place, question=question)
    except IntegrityError:
        return None
    return ref


def _find(places: list[str]) -> dict[str, Outcome]:
    rows = pending_rows().filter(place__in=places, answered=True, expires__gt=timezone.now())
    found: dict[str, Any] = {}
    for place, ref, answer in rows.values_list("place", "ref", "answer"):
        found[place] = {**json.loads(answer), "ref": ref}
    return found


def _close(places: list[str]) -> None:
    pending_rows().filter(place__in=places).delete()
