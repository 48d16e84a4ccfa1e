"""How the questions of a call reach its client: on the stream of the call (legacy), or as its result (modern)."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.exceptions import InvalidAnswer
from django_mcp.primitives.questions import OpenedElicitation, Ping, Question, URLElicitation
from django_mcp.protocol.errors import INTERNAL_ERROR, ProtocolError, invalid_params, url_elicitation_required
from django_mcp.protocol.jsonrpc import encode
from django_mcp.protocol.notifications import elicitation_complete
from django_mcp.server.answers import Answers, digest_of
from django_mcp.server.pages import Conversation, Outcome, drop, is_consent, pages_among, settle, take
from django_mcp.server.rounds import NO_STREAM, bound_to, opened

if TYPE_CHECKING:
    from django_mcp.server.call import Call

# What the TypeScript SDK calls a request without a reply; it is never sent
_NO_REPLY = -32001
# Replies of nobody, for the function to meet as a ``ClientError``
TIMED_OUT = {"error": {"code": _NO_REPLY, "message": "No reply came in time"}}
GONE = {"error": {"code": _NO_REPLY, "message": "The session has ended"}}


class Courier(Protocol):
    """Carries questions to a client that is waiting for the answer of its own request, and the replies back."""

    async def carry(self, call: Call, requests: Mapping[str, dict[str, Any]], seconds: float) -> dict[str, Any]:
        """The reply to each request, by its id: a result, or ``{"error": ...}`` where there is none."""

    async def wait_for_pages(self, refs: list[str], seconds: float) -> dict[str, Any]:
        """What is submitted on these pages, likewise."""


class DirectAsker:
    """The legacy way: requests of ours while the client waits for its answer. The function has been unwound."""

    waits = True

    def __init__(self, courier: Courier) -> None:
        self._courier = courier

    def reason(self, call: Call, *, on_pages: bool = False) -> str | None:
        return None if on_pages or call.outbound.can_send else NO_STREAM

    def malformed(self, key: str, error: InvalidAnswer) -> Exception:
        return InvalidAnswer(*(f"The answer to {key} does not fit: {fault}" for fault in error.faults))

    async def begin(self, call: Call) -> None:
        """A legacy request brings no answers."""

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> None:
        round_ = await Round.begin(call, questions)
        if not round_.wires:
            return
        if round_.is_for_later:
            raise url_elicitation_required([page.params(call.revision) for page in round_.opened.values()])
        round_.count()
        try:
            await self._carry(call, questions, round_)
        except BaseException:
            await asyncio.shield(round_.close(round_.opened))
            raise

    async def _carry(self, call: Call, questions: Mapping[str, Question], round_: Round) -> None:
        answers = call.dialogue.answers
        refs = {secrets.token_urlsafe(16): key for key in round_.wires}
        requests = {ref: round_.wires[key] for ref, key in refs.items()}
        replies = await self._courier.carry(call, requests, _patience(call, questions))
        for ref, key in refs.items():
            answers.known[key] = (round_.digests[key], replies[ref])
        if round_.opened:
            await self._wait_for_pages(call, round_)

    async def _wait_for_pages(self, call: Call, round_: Round) -> None:
        """The client has said that its person opens the pages; the answers are given there."""
        known = call.dialogue.answers.known
        awaited = {page.ref: key for key, page in round_.opened.items() if is_consent(known[key][1])}
        await round_.close(key for key in round_.opened if key not in awaited.values())
        outcomes = await self._courier.wait_for_pages(list(awaited), call.server.asking_limits().ttl)
        for ref, outcome in outcomes.items():
            await _tell_complete(call, ref, outcome)
        found = {awaited[ref]: {**outcome, "ref": ref} for ref, outcome in outcomes.items()}
        await take(call, round_.conversation, round_.digests, found)


async def _tell_complete(call: Call, ref: str, outcome: Outcome) -> None:
    """The client may take its notice of the page away (ELI-09)."""
    if "error" not in outcome:
        await call.outbound.anotify(elicitation_complete(ref), may_wait=True)


def _patience(call: Call, questions: Mapping[str, Question]) -> float:
    """How long a person may take; a program has less time."""
    ttl = call.server.asking_limits().ttl
    return max(one.seconds if isinstance(one, Ping) else ttl for one in questions.values())


class SealedAsker:
    """The modern way: the request ends with the questions, and comes back with the answers and a sealed state."""

    waits = False

    def reason(self, call: Call, *, on_pages: bool = False) -> str | None:
        return None

    def malformed(self, key: str, error: InvalidAnswer) -> Exception:
        return invalid_params(f"inputResponses.{key}: {error}")

    async def begin(self, call: Call) -> None:
        """Raises ``ProtocolError`` -32602 for a state that is not good for this very request (MRTR-07)."""
        params = call.params
        if "requestState" not in params and "inputResponses" not in params:
            return
        responses = params.get("inputResponses")
        if "requestState" not in params:
            if isinstance(responses, dict):
                call.dialogue.answers.known = {key: (None, response) for key, response in responses.items()}
            return
        stored = opened(call, params["requestState"])
        answers = call.dialogue.answers = Answers.from_json(stored["answers"])
        if isinstance(responses, dict):
            for key, digest in stored["asked"].items():
                if key in responses:
                    answers.known[key] = (digest, responses[key])
        if answers.pages:
            await _read_pages(call)

    async def ask(self, call: Call, questions: Mapping[str, Question]) -> dict[str, Any] | None:
        answers, limits = call.dialogue.answers, call.server.asking_limits()
        now = time.time()
        if answers.nonce is None:
            answers.ends = now + limits.whole
        if answers.nonce is None or answers.is_spent:
            answers.nonce = secrets.token_urlsafe(16)
        round_ = await Round.begin(call, questions)
        if questions and not round_.wires:
            return None
        round_.count()
        answers.pages.update({key: round_.digests[key] for key in round_.opened})
        stored = {
            "expires": min(now + limits.ttl, answers.ends),
            "asked": {key: round_.digests[key] for key in round_.wires},
            "answers": answers.to_json(),
        }
        state = call.server.services.sealer.seal(encode(stored), round_.bound)
        if len(state) > limits.state_bytes:
            raise ProtocolError(
                INTERNAL_ERROR,
                f"The answers so far take {len(state)} bytes; {limits.state_bytes} may travel with the client",
            )
        result: dict[str, Any] = {"resultType": "input_required", "requestState": state}
        return {**result, "inputRequests": round_.wires} if round_.wires else result


async def _read_pages(call: Call) -> None:
    """The rows say what was answered on pages. The client can only say that the person does not want to."""
    answers, conversation = call.dialogue.answers, Conversation.of(call, bound_to(call))
    for key in answers.pages:
        if key in answers.known and is_consent(answers.known[key][1]):
            del answers.known[key]
    given = {key: digest for key, digest in answers.pages.items() if key in answers.known}
    await drop(call, conversation, given)
    await settle(call, conversation, {key: digest for key, digest in answers.pages.items() if key not in given})


class Round:
    """Questions on their way out, without those that were answered on their pages meanwhile."""

    def __init__(self, call: Call, questions: Mapping[str, Question]) -> None:
        self._call = call
        self.bound = bound_to(call)
        self.conversation = Conversation.of(call, self.bound)
        self._identities = {key: self._identity_of(key, question) for key, question in questions.items()}
        jsonable = call.server.services.jsonable
        self.digests = {key: digest_of(identity, jsonable) for key, identity in self._identities.items()}
        self.opened: dict[str, OpenedElicitation] = {}
        self.wires: dict[str, dict[str, Any]] = {}
        # Whether the client is sent away and comes back, since it cannot or shall not be kept waiting
        self.is_for_later = False

    @classmethod
    async def begin(cls, call: Call, questions: Mapping[str, Question]) -> Round:
        with call.server.services.activate(call.locale):  # the function that asks has it, and its texts may be lazy
            self = cls(call, questions)
        pages = pages_among(questions)
        later = Conversation.later(call, self.bound)
        settled = await settle(call, later, {key: self.digests[key] for key in pages})
        unmet = {key: one for key, one in questions.items() if key not in settled}
        for key in unmet:  # a page that was submitted for another question of that key does not answer this one
            call.dialogue.answers.submitted.pop(key, None)
        open_pages = {key: one for key, one in pages.items() if key in unmet}
        is_urgent = call.outbound.can_send and all(page.wait for page in open_pages.values())
        self.is_for_later = len(open_pages) == len(unmet) and not is_urgent
        if self.is_for_later:
            self.conversation = later
        for key, page in open_pages.items():
            await self._open(key, page)
        self._write(unmet)
        return self

    def _identity_of(self, key: str, question: Question) -> dict[str, Any]:
        """As it was read by the function that asks. What was built by hand is read now."""
        call = self._call
        asked, identity = call.dialogue.answers.asked.get(key, (None, {}))
        return identity if asked is question else question.identity(call.revision, call.server.services.read_form)

    def _write(self, unmet: Mapping[str, Question]) -> None:
        for key, question in unmet.items():
            if key in self.opened:
                self.wires[key] = self.opened[key].to_wire(self._call.revision)
            elif not isinstance(question, URLElicitation):
                self.wires[key] = self._identities[key]

    async def _open(self, key: str, page: URLElicitation) -> None:
        call, digest = self._call, self.digests[key]
        found = await call.server.services.pages.open(call, self.conversation.place(key, digest), page)
        if found is None:
            call.dialogue.answers.known[key] = (digest, GONE)
            call.dialogue.answers.times[key] += 1
        else:
            self.opened[key] = found

    async def close(self, keys: Iterable[str]) -> None:
        """Nobody waits for these pages any more."""
        await drop(self._call, self.conversation, {key: self.digests[key] for key in keys})

    def count(self) -> None:
        """A page is put again until its person is done; only questions that are new may be too many."""
        answers = self._call.dialogue.answers
        fresh = [key for key in self.wires if answers.pages.get(key) != self.digests[key]]
        answers.times.update(fresh)
        if fresh or not self.wires:
            answers.rounds += 1


SEALED_ASKER = SealedAsker()
