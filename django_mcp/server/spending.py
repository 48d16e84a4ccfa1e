"""Answers that count for one call: they are used up in its own transaction (MRTR-08).

So a call that failed may be tried again, and one that was committed may not. They are used up before the code that
follows them runs, since that may do more than write to the database.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django_mcp.primitives.base import Invocation

if TYPE_CHECKING:
    from django_mcp.server.call import Call


def spending(call: Call, invocation: Invocation) -> Invocation:
    """The same call, good for one commit under the state that the client brought."""
    if call.dialogue.answers.nonce is None:
        return invocation
    function, uses = invocation.function, Uses(call=call, is_once=True, is_kept=invocation.atomic is False)

    def spend_and_run(**kwargs: Any) -> Any:
        uses.note()
        return function(**kwargs)

    async def spend_and_await(**kwargs: Any) -> Any:
        await call.server.services.runner.call(uses.note)
        return await function(**kwargs)

    return replace(invocation, function=spend_and_await if invocation.is_async else spend_and_run)


def keeping(call: Call, invocation: Invocation) -> Invocation:
    """The same call, in which nothing is committed without the uses of its answers.

    An error that the function has caught may have undone one, within a block of its own.
    """
    if not call.has_spoken:
        return invocation
    finish, answers = invocation.finish, call.dialogue.answers

    def finish_and_keep(value: Any) -> Any:
        result = finish(value)
        if lost := [name for name, holds in answers.used.items() if not holds()]:
            refs = tuple(name for name in lost if name != answers.nonce)
            Uses(call=call, is_once=len(refs) < len(lost), refs=refs, is_kept=answers.is_kept).note()
        return result

    return replace(invocation, finish=finish_and_keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """What a run uses up that reads some answers: the conversation with ``is_once``, and pages by their ``refs``.

    With ``is_kept`` no transaction gives them back when the run stops.
    """

    call: Call
    is_once: bool = False
    refs: tuple[str, ...] = ()
    is_kept: bool = False

    def __bool__(self) -> bool:
        return self.is_once or bool(self.refs)

    def note(self) -> None:
        """In the transaction that is open. Harmless the second time in a run.

        Raises ``ProtocolError`` -32602 or ``ToolError`` where another call was faster.
        """
        services, answers = self.call.server.services, self.call.dialogue.answers
        if self.is_once and answers.nonce is not None and not answers.has_used(answers.nonce):
            answers.used[answers.nonce] = services.spend(answers.nonce, answers.ends)
        for ref in self.refs:
            if not answers.has_used(ref):
                answers.used[ref] = services.pages.use(ref)
        answers.is_kept = self.is_kept

    async def note_apart(self) -> None:
        """In a transaction of its own, so that a function may wait for its client once more where it stands."""
        answers = self.call.dialogue.answers
        for ref in self.refs:
            if not answers.has_used(ref):
                await self.call.server.services.pages.ause(ref)
                answers.used_apart.add(ref)
