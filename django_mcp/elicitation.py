"""Views that answer what a tool asks with ``context.elicit_url()``.

from django_mcp.elicitation import complete, elicitation_required

@elicitation_required
def connect_mailbox(request):
    form = MailboxForm(request.POST or None)
    if form.is_valid():
        form.save_for(request.user)
        complete(request)
        return redirect("mailbox-connected")
    return render(request, "mailbox.html", {"form": form, "question": request.elicitation})

A link is good for the user who was asked and for one answer, as long as the question waits (ELI-12).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.core.serializers.json import DjangoJSONEncoder
from django.core.signing import BadSignature
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from django_mcp.auth.base import principal_for
from django_mcp.pages import PARAMETER, signer
from django_mcp.pending import pending_rows
from django_mcp.transports.replies import announce_reply

V = TypeVar("V", bound=Callable[..., Any])

__all__ = [
    "ElicitationRequiredMixin",
    "PendingElicitation",
    "acomplete",
    "adecline",
    "aget_elicitation",
    "complete",
    "decline",
    "elicitation_required",
    "get_elicitation",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingElicitation:
    """A question that waits for the user who looks at the page.

    ``message`` is its text and ``data`` what the tool wanted the page to know. ``server`` is the name of the MCP
    server, ``client`` what the client that runs the tool says it is; anybody can say anything.
    """

    message: str
    data: Any
    server: str
    client: str
    expires: datetime
    ref: str


def get_elicitation(request: HttpRequest) -> PendingElicitation:
    """The question that the link of this request belongs to.

    Raises ``Http404`` for a link that is tampered with, over or used, all alike, and ``PermissionDenied`` where the
    user is not the one who was asked.
    """
    try:
        ref = signer().unsign(request.GET.get(PARAMETER, ""))
    except BadSignature:
        raise _closed() from None
    rows = pending_rows().filter(ref=ref, answered=False, expires__gt=timezone.now()).exclude(principal="")
    row = rows.first()
    if row is None:
        raise _closed()
    if principal_for(request.user) != row.principal:
        raise PermissionDenied(_("Somebody else was asked this."))
    asked = json.loads(row.question)
    return PendingElicitation(expires=row.expires, ref=ref, **asked)


async def aget_elicitation(request: HttpRequest) -> PendingElicitation:
    """``get_elicitation`` for async views."""
    return await sync_to_async(get_elicitation)(request)


def complete(request: HttpRequest, content: Any = None) -> None:
    """The page is done with: the tool goes on, once what the view has written is committed.

    ``content``, any value that can be written as JSON, is what ``context.elicit_url()`` returns in the answer's
    ``content``. It goes from the page to the tool, and past the client. Raises what ``get_elicitation`` raises; of two
    that are sent at once, one gets ``Http404``.
    """
    _submit(request, {"action": "accept", "content": content})


async def acomplete(request: HttpRequest, content: Any = None) -> None:
    """``complete`` for async views."""
    await sync_to_async(complete)(request, content)


def decline(request: HttpRequest) -> None:
    """The user has said no on the page: the tool goes on, with an answer that is ``declined``."""
    _submit(request, {"action": "decline"})


async def adecline(request: HttpRequest) -> None:
    """``decline`` for async views."""
    await sync_to_async(decline)(request)


def elicitation_required(view: V) -> V:
    """Let a view, sync or async, be opened by the link of a question alone, which is then ``request.elicitation``.

    Who is not logged in is led to the login first. All else that is wrong raises what ``get_elicitation`` raises.
    """
    if iscoroutinefunction(view):

        @wraps(view)
        async def awaited(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            answer = await sync_to_async(_admit)(request)
            return _kept_private(await view(request, *args, **kwargs) if answer is None else answer)

        return awaited  # type: ignore[return-value]

    @wraps(view)
    def called(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = _admit(request)
        return _kept_private(view(request, *args, **kwargs) if answer is None else answer)

    return called  # type: ignore[return-value]


class ElicitationRequiredMixin:
    """``elicitation_required`` for a class-based view; it stands left of the view class."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        view: Callable[..., Any] = super().as_view(**initkwargs)  # type: ignore[misc]  # of the view class
        return elicitation_required(view)


def _admit(request: HttpRequest) -> HttpResponseBase | None:
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    request.elicitation = get_elicitation(request)  # type: ignore[attr-defined]
    return None


def _kept_private(response: HttpResponseBase) -> HttpResponseBase:
    """Neither a cache nor another site learns of the link."""
    add_never_cache_headers(response)
    response.headers.setdefault("Referrer-Policy", "same-origin")
    return response


def _submit(request: HttpRequest, answer: dict[str, Any]) -> None:
    asked = getattr(request, "elicitation", None) or get_elicitation(request)
    rows = pending_rows()
    waiting = rows.filter(
        ref=asked.ref, principal=principal_for(request.user), answered=False, expires__gt=timezone.now()
    )
    if not waiting.update(answered=True, answer=json.dumps(answer, cls=DjangoJSONEncoder)):
        raise _closed()
    transaction.on_commit(partial(announce_reply, asked.ref), using=rows.db, robust=True)


def _closed() -> Http404:
    return Http404(_("This link is not good any more."))
