"""Questions that a person answers on a page of the site: which are open, and what came of them.

A page is a row, found by the call that asks, its key and its question. It is done with when a call that has
read the answer commits: the row goes in that call's own transaction. So an answer counts once, and a call that
failed may be tried again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from django_mcp.exceptions import ToolError
from django_mcp.primitives.questions import OpenedElicitation, Question, URLElicitation
from django_mcp.protocol.jsonrpc import encode

if TYPE_CHECKING:
    from django_mcp.server.call import Call

# What a page has to say: ``action``, and ``content`` where that is accept
Outcome = dict[str, Any]


class Pages(Protocol):
    """Where the pages are kept."""

    async def open(self, call: Call, place: str, question: URLElicitation) -> OpenedElicitation | None:
        """A page that waits for the user of the call; that of an earlier question at the same place, if it still does.

        ``None`` where the session of the call is gone.
        """

    async def find(self, places: Iterable[str]) -> dict[str, Outcome]:
        """What was submitted at these places, with its ``ref``."""

    async def close(self, places: Iterable[str]) -> None:
        """Nobody may answer there any more."""

    def use(self, ref: str) -> Callable[[], bool]:
        """Take the answer away in the transaction that is open, and tell whether that stands.

        Raises ``ToolError`` if somebody else has.
        """

    async def ause(self, ref: str) -> None:
        """The same in a transaction of its own."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a page belongs to: for what and by whom it was asked, and in which conversation."""

    bound: bytes
    name: str

    @classmethod
    def of(cls, call: Call, bound: bytes) -> Conversation:
        """The one of this call, which goes through the client where it has a nonce."""
        answers = call.dialogue.answers
        return cls(bound, answers.nonce or answers.call_id)

    @classmethod
    def later(cls, call: Call, bound: bytes) -> Conversation:
        """The same, so that the client finds it again when it sends its request once more."""
        answers, session = call.dialogue.answers, call.session
        return cls(bound, answers.nonce or (answers.call_id if session is None else session.name))

    def place(self, key: str, digest: str) -> str:
        """Where the row of a question is found."""
        return hashlib.sha256(self.bound + encode([self.name, key, digest])).hexdigest()


def pages_among(questions: Mapping[str, Question]) -> dict[str, URLElicitation]:
    return {key: question for key, question in questions.items() if isinstance(question, URLElicitation)}


def check_pages(call: Call) -> None:
    """Raises ``ToolError`` where nobody can be led to a page.

    Who opens it must be the one who is asked (ELI-12), so that must be somebody.
    """
    if call.source.find_origin() is None:
        raise ToolError("This is asked on a page of the site, whose address is not known. Its PUBLIC_URL tells it.")
    user = call.caller.user
    if not getattr(user, "is_authenticated", False) or getattr(user, "pk", None) is None:
        raise ToolError("This is asked on a page of the site, which takes a user who has logged in.")


async def settle(call: Call, conversation: Conversation, digests: Mapping[str, str]) -> frozenset[str]:
    """Take note of what was submitted by now of the questions of these keys, and tell of which."""
    if not digests:
        return frozenset()
    places = {conversation.place(key, digest): key for key, digest in digests.items()}
    found = await call.server.services.pages.find(places)
    await take(call, conversation, digests, {places[place]: outcome for place, outcome in found.items()})
    return frozenset(places[place] for place in found)


async def take(
    call: Call, conversation: Conversation, digests: Mapping[str, str], outcomes: Mapping[str, Outcome]
) -> None:
    """Keep what came of these questions. Only a yes has a page to be used up; all others are closed now."""
    answers = call.dialogue.answers
    for key, outcome in outcomes.items():
        if is_consent(outcome):
            answers.submitted[key] = (digests[key], outcome)
            answers.known.pop(key, None)
        else:
            answers.known[key] = (digests[key], outcome)
    await drop(call, conversation, {key: digests[key] for key in outcomes if key not in answers.submitted})


async def drop(call: Call, conversation: Conversation, digests: Mapping[str, str]) -> None:
    """The person will not answer these, so their pages are closed."""
    if digests:
        await call.server.services.pages.close([conversation.place(*item) for item in digests.items()])


def is_consent(response: Any) -> bool:
    """In URL mode, accept says that the page may be opened, and nothing about its answer (ELI-11)."""
    return isinstance(response, dict) and response.get("action") == "accept"
