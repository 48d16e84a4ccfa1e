"""Questions to clients and to people on pages of the site, as rows: the answer may reach any worker (S2C-04).

A row holds who was asked and, once it is there, the reply. These functions are sync and run in the store pool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, connections, router
from django.db.models import QuerySet
from django.utils import timezone

from django_mcp.managers import MAX_BATCH, delete_in_batches

if TYPE_CHECKING:
    from django_mcp.models import PendingRequest

# What random ids of ours are at most
MAX_REF = 64


def open_requests(session_pk: int, refs: Iterable[str], seconds: float) -> bool:
    """Write that these were asked; false if the session is gone."""
    expires = timezone.now() + timedelta(seconds=seconds)
    rows = pending_rows()
    try:
        rows.bulk_create([rows.model(session_id=session_pk, ref=ref, expires=expires) for ref in refs])
    except IntegrityError:
        return False
    return True


def take_reply(session_pk: int, ref: Any, reply: dict[str, Any]) -> bool:
    """Keep the reply to a question that this session was asked; the first one counts (S169)."""
    if not isinstance(ref, str) or len(ref) > MAX_REF:
        return False
    # What is asked on a page, no client can answer.
    waiting = pending_rows().filter(
        session_id=session_pk, ref=ref, principal="", answered=False, expires__gt=timezone.now()
    )
    # Escaped, since PostgreSQL stores neither a null character nor half of a pair.
    return bool(waiting.update(answered=True, answer=json.dumps(reply)))


def read_replies(refs: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    """What is there by now: ``None`` for no reply yet. One that is missing went with its session (S171)."""
    found: dict[str, dict[str, Any] | None] = {}
    for some in (refs[start : start + MAX_BATCH] for start in range(0, len(refs), MAX_BATCH)):
        rows = pending_rows().filter(ref__in=some).values_list("ref", "answered", "answer")
        found.update({ref: json.loads(answer) if answered else None for ref, answered, answer in rows})
    return found


def close_requests(refs: Iterable[str]) -> None:
    pending_rows().filter(ref__in=list(refs)).delete()


def clear_pending(batch_size: int = 500) -> int:
    """Remove what nobody waits for any more, such as the questions of a worker that died."""
    return delete_in_batches(pending_rows().filter(expires__lte=timezone.now()), batch_size)


def holding(alias: str) -> Callable[[], bool]:
    """Tells whether what was just written on this database still is: the savepoint that is open may be rolled back."""
    connection = connections[alias]
    committed: list[bool] = []
    mark = partial(committed.append, True)
    connection.on_commit(mark)
    # A savepoint takes the hooks along that were added in it.
    return lambda: bool(committed) or any(entry[1] is mark for entry in connection.run_on_commit)


@cache
def _model() -> type[PendingRequest]:
    # Models cannot be imported before the apps are ready.
    from django_mcp.models import PendingRequest

    return PendingRequest


def pending_rows() -> QuerySet[PendingRequest]:
    return _model()._default_manager.using(router.db_for_write(_model()))
