"""The part of ``Context`` that asks the client: unwind, roll back, ask, run again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django_mcp.exceptions import ClientError, InputRequired, InvalidAnswer, ToolError
from django_mcp.primitives.jsonable import to_jsonable
from django_mcp.primitives.questions import (
    Elicitation,
    ElicitResult,
    Ping,
    Question,
    Root,
    RootsListing,
    URLElicitation,
)
from django_mcp.primitives.sampling import SampleResult, Sampling
from django_mcp.protocol.capabilities import missing
from django_mcp.protocol.content import PromptMessage
from django_mcp.server.answers import MAX_TIMES, digest_of
from django_mcp.server.pages import check_pages, pages_among
from django_mcp.server.spending import Uses

if TYPE_CHECKING:
    from django_mcp.server.answers import Answers
    from django_mcp.server.call import Call
    from django_mcp.server.notifying import Running

# How long a client has to say that it is there, in seconds
PING_TIMEOUT = 10.0

# What a tool with atomic=False is told that cannot go on, since its page would be lost
NOT_GIVEN_BACK = (
    "The answer of a page counts for one call, and a tool with atomic=False cannot give it back to ask again: it "
    "asks everything else first."
)

# MRTR-02
ASKABLE = frozenset({"tools/call", "prompts/get", "resources/read"})


class Asking:
    """A question whose answer is known is answered at once. Any other stops the function with ``InputRequired``:
    what it wrote is undone, the client is asked, and the function runs again from the top with the answers so far.
    """

    _call: Call
    _running: Running | None
    require_capability: Callable[[dict[str, Any]], None]

    def elicit(self, message: Any, schema: Any, *, key: str | None = None, once: bool = False) -> ElicitResult:
        """Ask a person to fill in a form (ELI-01). ``once``: the answer counts for one committed call.

        Raises ``ClientError`` where the client answered with an error, and what ``require_capability`` raises
        where it has no forms.
        """
        return self.gather(Elicitation(message, schema, key=key, once=once))[0]  # type: ignore[no-any-return]

    async def aelicit(self, message: Any, schema: Any, *, key: str | None = None, once: bool = False) -> ElicitResult:
        """``elicit`` for async code."""
        question = Elicitation(message, schema, key=key, once=once)
        return (await self.agather(question))[0]  # type: ignore[no-any-return]

    def elicit_url(
        self,
        view_name: str,
        message: Any,
        *,
        kwargs: Mapping[str, Any] | None = None,
        data: Any = None,
        key: str | None = None,
        wait: bool = True,
    ) -> ElicitResult:
        """Ask the user of the call on a page of the site (ELI-06, ELI-07); the options are those of ``URLElicitation``.

        The view of this name, under ``django_mcp.elicitation.elicitation_required``, is opened by the user in a
        browser; what it gives to ``complete()`` is the ``content`` of the answer. The answer counts for one call.
        Raises ``ToolError`` where nobody has logged in or the address of the site is not known, ``ClientError`` where
        the page was not submitted in ``STATE_TTL`` seconds, and what ``require_capability`` raises.
        """
        question = URLElicitation(view_name, message, kwargs=kwargs, data=data, key=key, wait=wait)
        return self.gather(question)[0]  # type: ignore[no-any-return]

    async def aelicit_url(
        self,
        view_name: str,
        message: Any,
        *,
        kwargs: Mapping[str, Any] | None = None,
        data: Any = None,
        key: str | None = None,
        wait: bool = True,
    ) -> ElicitResult:
        """``elicit_url`` for async code."""
        question = URLElicitation(view_name, message, kwargs=kwargs, data=data, key=key, wait=wait)
        return (await self.agather(question))[0]  # type: ignore[no-any-return]

    def ping(self, *, timeout: float = PING_TIMEOUT, key: str | None = None) -> None:
        """Make sure that the client of a legacy session is there (S165): ``ClientError`` if it does not say so in
        ``timeout`` seconds. As with every question, the function runs again once it has. A modern client cannot be
        asked, which raises ``ToolError``.
        """
        self.gather(Ping(seconds=timeout, key=key))

    async def aping(self, *, timeout: float = PING_TIMEOUT, key: str | None = None) -> None:
        """``ping`` for async code."""
        await self.agather(Ping(seconds=timeout, key=key))

    def sample(
        self, messages: str | Sequence[PromptMessage | Mapping[str, Any]], max_tokens: int, **options: Any
    ) -> SampleResult:
        """Ask the client's model (SMP-01); ``options`` are those of ``Sampling``."""
        return self.gather(Sampling(messages, max_tokens, **options))[0]  # type: ignore[no-any-return]

    async def asample(
        self, messages: str | Sequence[PromptMessage | Mapping[str, Any]], max_tokens: int, **options: Any
    ) -> SampleResult:
        """``sample`` for async code."""
        return (await self.agather(Sampling(messages, max_tokens, **options)))[0]  # type: ignore[no-any-return]

    def list_roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """Ask which directories the client works on (RTS-01)."""
        return self.gather(RootsListing(key=key))[0]  # type: ignore[no-any-return]

    async def alist_roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """``list_roots`` for async code."""
        return (await self.agather(RootsListing(key=key)))[0]  # type: ignore[no-any-return]

    def gather(self, *questions: Question) -> tuple[Any, ...]:
        """Ask several questions at once: one answer for each, in their order."""
        answers, uses = self._take(self._with_keys(questions))
        if uses:
            uses.note()
        return answers

    async def agather(self, *questions: Question) -> tuple[Any, ...]:
        """``gather`` for async code, which waits where it stands in a tool with ``wait_inline=True``, if it can."""
        keyed, running = self._with_keys(questions), self._running
        waits = running is not None and running.waits_inline and self._call.asker.waits
        try:
            answers, uses = self._take(keyed)
        except InputRequired as asked:
            if running is None or not waits:
                raise
            async with running.pausing():
                await self._call.asker.ask(self._call, asked.questions)
                await self._call.server.services.renew(self._call.caller)
            answers, uses = self._take(keyed)
        if uses and waits:
            await uses.note_apart()
        elif uses:
            await self._call.server.services.runner.call(uses.note)
        return answers

    def remember(self, key: str, function: Callable[[], Any]) -> Any:
        """The JSON of what ``function`` returned when it ran, which it does once in all runs of this call.

        It may not write to the database: its rows would be undone with the run.
        """
        memo = self._answers.memo
        if key not in memo:
            with self._remembering():
                memo[key] = to_jsonable(function(), self._call.server.services.jsonable)
        return memo[key]

    async def aremember(self, key: str, function: Callable[[], Any]) -> Any:
        """``remember`` for async code; ``function`` may be async."""
        memo = self._answers.memo
        if key not in memo:
            with self._remembering():
                value = function()
                if inspect.isawaitable(value):
                    value = await value
                memo[key] = to_jsonable(value, self._call.server.services.jsonable)
        return memo[key]

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """What the client answered, as it came, by the keys of an ``InputRequiredResult``."""
        return {key: response for key, (_, response) in self._answers.known.items()}

    @property
    def request_state(self) -> Any:
        """The state of the ``InputRequiredResult`` that an earlier run returned, or ``None``."""
        return self._answers.state

    def can_ask(self, required: Mapping[str, Any]) -> bool:
        """Whether a question that needs these capabilities would reach the client."""
        call = self._call
        on_pages = set(required) == {"elicitation"} and set(required["elicitation"]) == {"url"}
        if on_pages and not call.revision.has_form_modes:
            return False
        can_reach = call.asker.reason(call, on_pages=on_pages) is None
        return can_reach and not missing(dict(call.envelope.client_capabilities), required)

    @property
    def _answers(self) -> Answers:
        return self._call.dialogue.answers

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        with self._call.server.services.refusing_writes():
            yield

    def _with_keys(self, questions: Sequence[Question]) -> list[tuple[str, Question]]:
        return [(question.key or self._answers.next_key(), question) for question in questions]

    def _take(self, questions: Sequence[tuple[str, Question]]) -> tuple[tuple[Any, ...], Uses]:
        """The answers, and what the run uses up that reads them."""
        call = self._call
        if call.request.method not in ASKABLE:
            raise RuntimeError(f"{call.request.method} cannot ask the client. Tools, prompts and resources can.")
        unmet: dict[str, Question] = {}
        given: list[Any] = []
        for key, question in questions:
            is_known, answer = self._find(key, question)
            if is_known:
                given.append(answer)
            else:
                unmet[key] = question
        if unmet:
            self._check(unmet)
            raise InputRequired(unmet)
        submitted, running = self._answers.submitted, self._running
        uses = Uses(
            call=call,
            is_once=any(question.once for _, question in questions),
            refs=tuple(submitted[key][1]["ref"] for key, _ in questions if key in submitted),
            is_kept=running is not None and not running.is_undone,
        )
        return tuple(given), uses

    def _find(self, key: str, question: Question) -> tuple[bool, Any]:
        call, answers = self._call, self._answers
        read_form = call.server.services.read_form
        identity = question.identity(call.revision, read_form)
        answers.asked[key] = question, identity
        digest = digest_of(identity, call.server.services.jsonable)
        is_known, response = answers.find(key, digest, is_sensitive=question.is_sensitive)
        if not is_known:
            return False, None
        try:
            return True, _read(question, response, read_form)
        except InvalidAnswer as error:
            if answers.is_unasked(key):
                return False, None
            raise call.asker.malformed(key, error) from None

    def _check(self, unmet: Mapping[str, Question]) -> None:
        call, answers = self._call, self._answers
        if answers.used.keys() - {answers.nonce} and answers.is_kept and not call.asker.waits:
            raise ToolError(NOT_GIVEN_BACK)
        pages = pages_among(unmet)
        if (reason := call.asker.reason(call, on_pages=len(pages) == len(unmet))) is not None:
            raise ToolError(reason)
        for question in unmet.values():
            if (refusal := question.refusal(call.revision)) is not None:
                raise ToolError(refusal)
            self.require_capability(question.requires)
        if pages:
            check_pages(call)
        for key in unmet:
            if answers.times[key] >= MAX_TIMES:
                raise ToolError(
                    f"The question {key!r} was asked {MAX_TIMES} times and is another one each time. Its text or "
                    "form must not hold a clock, a random value or a count."
                )
        rounds = call.server.asking_limits().rounds
        if not answers.may_ask(unmet, rounds):
            raise ToolError(f"The client was asked {rounds} times in one call, which is all that is allowed.")


def _read(question: Question, response: Any, read_form: Any) -> Any:
    if not isinstance(response, dict):
        raise InvalidAnswer("the answer is not an object")
    if isinstance(error := response.get("error"), dict) and "code" in error:
        raise ClientError(error["code"], str(error.get("message", "")))
    return question.read(response, read_form)
