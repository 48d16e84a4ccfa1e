"""Running a function again until the client has answered everything it asks (MRTR-10)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.exceptions import InputRequired, InvalidAnswer
from django_mcp.primitives.questions import Question
from django_mcp.protocol.capabilities import missing
from django_mcp.protocol.errors import (
    INTERNAL_ERROR,
    ProtocolError,
    invalid_params,
    missing_capability,
)
from django_mcp.protocol.jsonrpc import encode
from django_mcp.server.asking import ASKABLE
from django_mcp.server.pages import pages_among

if TYPE_CHECKING:
    from django_mcp.server.call import Call

Handler = Callable[["Call"], Awaitable[dict[str, Any]]]

# One sentence for everything that can be wrong with a state, so that it tells nothing (MRTR-06).
BAD_STATE = "Invalid or expired requestState"
_NOT_BOUND = ("_meta", "inputResponses", "requestState")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingLimits:
    """``MAX_ROUNDS``, ``STATE_TTL`` in seconds and ``STATE_MAX_BYTES``."""

    rounds: int = 20
    ttl: float = 600.0
    state_bytes: int = 64 * 1024

    @property
    def whole(self) -> float:
        """How many seconds a conversation may take from its first question to its last answer."""
        return (self.rounds + 1) * self.ttl


class Asker(Protocol):
    """How the questions of a call reach its client."""

    # Whether it can ask while the function waits where it stands
    waits: bool

    def reason(self, call: Call, *, on_pages: bool = False) -> str | None:
        """Why they cannot, or ``None``. ``on_pages``: all of them are answered on pages of the site."""

    def malformed(self, key: str, error: InvalidAnswer) -> Exception:
        """What an answer becomes that does not fit its question (MRTR-13)."""

    async def begin(self, call: Call) -> None:
        """Find what the request brings with it."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> dict[str, Any] | None:
        """Ask. The result that ends this request, or ``None`` when the answers are there.

        Raises ``ProtocolError`` where the client has to come back with the same request.
        """


NO_STREAM = (
    "This needs an event stream as the answer: the client has to accept one, and the site to send one, "
    "which it cannot do under WSGI."
)


class NoAsker:
    """Nothing can be asked, and nobody was told how."""

    waits = False

    def reason(self, call: Call, *, on_pages: bool = False) -> str | None:
        return NO_STREAM

    def malformed(self, key: str, error: InvalidAnswer) -> Exception:
        return error

    async def begin(self, call: Call) -> None:
        """There are no answers."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> dict[str, Any] | None:
        raise ProtocolError(INTERNAL_ERROR, NO_STREAM)


NO_ASKER = NoAsker()


async def with_answers(call: Call, handler: Handler) -> dict[str, Any]:
    """The result of the handler, run as often as it takes, or the questions it has."""
    if call.request.method not in ASKABLE:
        return await handler(call)
    await call.asker.begin(call)
    while True:
        try:
            return await handler(call)
        except BaseException as error:
            unmet = _unmet(error)
            if unmet is None:
                raise
        call.dialogue.answers.stop()
        call.dialogue.answers.state = unmet.state
        _check(call, unmet.questions)
        call.server.services.runner.release()
        result = await call.asker.ask(call, unmet.questions)
        if result is not None:
            return result
        await call.server.services.renew(call.caller)
        call.dialogue.run_again()


def _check(call: Call, questions: Mapping[str, Question]) -> None:
    """What an author builds by hand is checked here, all else before the function stops (MRTR-05)."""
    on_pages = len(pages_among(questions)) == len(questions) > 0
    if (reason := call.asker.reason(call, on_pages=on_pages)) is not None:
        raise ProtocolError(INTERNAL_ERROR, reason)
    if not call.dialogue.answers.may_ask(questions, call.server.asking_limits().rounds):
        raise ProtocolError(INTERNAL_ERROR, "The client was asked too often in one call")
    lacking: dict[str, Any] = {}
    for question in questions.values():
        for name, parts in missing(call.envelope.client_capabilities, question.requires).items():
            lacking.setdefault(name, {}).update(parts)
    if lacking and call.revision.has_capability_error:
        raise missing_capability(lacking)
    if lacking:
        raise ProtocolError(INTERNAL_ERROR, f"This needs a client with the capability {', '.join(lacking)}")


def _unmet(error: BaseException) -> InputRequired | None:
    """What is asked, by one task or by several at once."""
    if isinstance(error, InputRequired):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    asked, _ = error.split(InputRequired)
    if asked is None:
        return None
    found = list(_leaves(asked))
    questions = {key: question for one in found for key, question in one.questions.items()}
    return InputRequired(questions, found[0].state)


def _leaves(group: BaseExceptionGroup[Any]) -> list[InputRequired]:
    leaves: list[InputRequired] = []
    for one in group.exceptions:
        leaves += _leaves(one) if isinstance(one, BaseExceptionGroup) else [one]
    return leaves


def opened(call: Call, state: Any) -> dict[str, Any]:
    """What a sealed state holds. Raises ``ProtocolError`` -32602 for one that is not good for this very request."""
    limits = call.server.asking_limits()
    try:
        if not isinstance(state, str) or len(state) > limits.state_bytes:
            raise ValueError
        stored: dict[str, Any] = json.loads(call.server.services.sealer.open(state, bound_to(call)))
    except ValueError:
        raise bad_state() from None
    if stored["expires"] <= time.time():
        raise bad_state()
    return stored


def bad_state() -> ProtocolError:
    return invalid_params(BAD_STATE)


def bound_to(call: Call) -> bytes:
    """Who asks for what, and where, since a path may stand for a tenant. A state opens for nothing else."""
    salient = {key: value for key, value in call.params.items() if key not in _NOT_BOUND}
    digest = hashlib.sha256(json.dumps(salient, sort_keys=True).encode()).hexdigest()
    return encode([call.server.name, call.source.path, call.caller.principal, call.request.method, digest])
