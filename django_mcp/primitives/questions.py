"""Questions that a function may put to the client, and what comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from django_mcp.exceptions import InputRequired, InvalidAnswer, InvalidPrimitive
from django_mcp.primitives.forms import Form
from django_mcp.protocol.versions import Revision

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
PING: Final = "ping"
METHODS: Final = (ELICIT, SAMPLE, ROOTS)
ACTIONS: Final = ("accept", "decline", "cancel")

# What turns whatever an author calls a form into one
FormReader = Callable[[Any], Form]


@dataclass(frozen=True, slots=True)
class ElicitResult:
    """What a person did with a form or page. ``content`` is the answer, ``None`` unless it was accepted.

    That to a form is converted; that of a page is what its view gave to ``complete()``.
    """

    action: str
    content: Any = None

    @property
    def accepted(self) -> bool:
        return self.action == "accept"

    @property
    def declined(self) -> bool:
        """They said no."""
        return self.action == "decline"

    @property
    def cancelled(self) -> bool:
        """They said nothing, for instance by closing the form."""
        return self.action == "cancel"


@dataclass(frozen=True, slots=True)
class Root:
    """A directory or file that the client works on; guidance, and no permission to read it (RTS-01)."""

    uri: str
    name: str | None = None


class Question(ABC):
    """One thing to ask. Its ``key`` tells it from the others of the call; ``once`` answers count for one call."""

    key: str | None
    once: bool = False

    @property
    @abstractmethod
    def requires(self) -> dict[str, Any]:
        """The capabilities that the client must have declared (MRTR-05)."""

    @property
    def is_sensitive(self) -> bool:
        """Whether an answer counts only to a question that was put (MRTR-17)."""
        return self.once

    def refusal(self, revision: Revision) -> str | None:
        """Why nobody can be asked this under the revision, or ``None``."""
        return None

    def identity(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        """What tells it from other questions: its wire, which is sent as it is read here.

        But for a ``URLElicitation``, whose wire is another one each time it is opened.
        """
        return self.to_wire(revision, read_form)

    @abstractmethod
    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        """``method`` and ``params`` (MRTR-04)."""

    @abstractmethod
    def read(self, result: Mapping[str, Any], read_form: FormReader) -> Any:
        """The answer, or ``InvalidAnswer``."""


@dataclass(frozen=True, slots=True)
class Elicitation(Question):
    """A form for a person. ``schema`` is a model, dataclass, TypedDict, Django Form class or JSON Schema."""

    message: Any
    schema: Any
    _: KW_ONLY
    key: str | None = None
    once: bool = False

    @property
    def requires(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}}}

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        params = {"message": str(self.message), "requestedSchema": read_form(self.schema).to_wire(revision)}
        return {"method": ELICIT, "params": {"mode": "form", **params} if revision.has_form_modes else params}

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> ElicitResult:
        action = result.get("action")
        if action not in ACTIONS:
            raise InvalidAnswer("action is not accept, decline or cancel")
        if action != "accept":
            return ElicitResult(action)
        content = result.get("content")
        if not isinstance(content, dict):
            raise InvalidAnswer("content is not an object")
        return ElicitResult("accept", read_form(self.schema).read(content))


@dataclass(frozen=True, slots=True)
class URLElicitation(Question):
    """A question that a person answers on a page of the site (ELI-06, ELI-07).

    ``view_name`` and ``kwargs`` are those of ``reverse()``; they are in the URL, so they name nobody and hold no
    secret (ELI-13). ``data``, any JSON value, is what the page shall know besides; it stays in the database.
    With ``wait=False`` a client of 2025-11-25 is told to come back when the page is done (-32042), instead of
    being kept waiting.
    """

    view_name: str
    message: Any
    _: KW_ONLY
    kwargs: Mapping[str, Any] | None = None
    data: Any = None
    key: str | None = None
    wait: bool = True

    @property
    def requires(self) -> dict[str, Any]:
        return {"elicitation": {"url": {}}}

    @property
    def is_sensitive(self) -> bool:
        return True

    def refusal(self, revision: Revision) -> str | None:
        if revision.has_form_modes:
            return None
        return f"This needs a client that opens pages, which those of {revision} do not."

    def identity(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        page = {"view": self.view_name, "kwargs": {key: str(value) for key, value in (self.kwargs or {}).items()}}
        return {"method": ELICIT, "params": {"mode": "url", "message": str(self.message), **page, "data": self.data}}

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        raise TypeError("A page has no address before it is opened.")

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> ElicitResult:
        action = result.get("action")
        if action not in ACTIONS:
            raise InvalidAnswer("action is not accept, decline or cancel")
        return ElicitResult(action, result.get("content") if action == "accept" else None)


@dataclass(frozen=True, slots=True)
class OpenedElicitation:
    """A page that waits for its person: what is sent of a ``URLElicitation``."""

    message: str
    url: str
    ref: str

    def to_wire(self, revision: Revision) -> dict[str, Any]:
        return {"method": ELICIT, "params": self.params(revision)}

    def params(self, revision: Revision) -> dict[str, Any]:
        """A modern client knows the question by its key, and has no id for it (ELI-07)."""
        params = {"mode": "url", "message": self.message, "url": self.url}
        return params if revision.is_modern else {**params, "elicitationId": self.ref}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping(Question):
    """Whether the client is there. Legacy only: the modern era has no requests of the server (S165)."""

    seconds: float
    key: str | None = None

    @property
    def requires(self) -> dict[str, Any]:
        return {}

    def refusal(self, revision: Revision) -> str | None:
        if not revision.is_modern:
            return None
        return f"A client of {revision} cannot be pinged: it is sent no requests, and hangs up when it has gone."

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        return {"method": PING}

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> None:
        """Any result means that somebody is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RootsListing(Question):
    """Which directories the client works on."""

    key: str | None = None

    @property
    def requires(self) -> dict[str, Any]:
        return {"roots": {}}

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        return {"method": ROOTS, "params": {}}

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> tuple[Root, ...]:
        roots = result.get("roots")
        if not isinstance(roots, list) or not all(
            isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
        ):
            raise InvalidAnswer("roots is not a list of objects with a uri")
        names = (root.get("name") for root in roots)
        return tuple(
            Root(root["uri"], name if isinstance(name, str) else None) for root, name in zip(roots, names, strict=True)
        )


@dataclass(frozen=True, slots=True)
class RawQuestion(Question):
    """A request as an author wrote it for ``InputRequiredResult``; its answer is read by the author."""

    wire: Mapping[str, Any]
    key: str | None = None

    @property
    def requires(self) -> dict[str, Any]:
        method, params = self.wire["method"], self.wire.get("params", {})
        if method == ELICIT:
            return {"elicitation": {params.get("mode", "form"): {}}}
        if method == SAMPLE:
            return {"sampling": {"tools": {}} if {"tools", "toolChoice"} & set(params) else {}}
        return {"roots": {}}

    def to_wire(self, revision: Revision, read_form: FormReader) -> dict[str, Any]:
        params = dict(self.wire.get("params", {}))
        if params.get("mode") == "url":
            if revision.is_modern:
                params.pop("elicitationId", None)
            else:
                params.setdefault("elicitationId", str(uuid4()))
        return {"method": self.wire["method"], "params": params}

    def read(self, result: Mapping[str, Any], read_form: FormReader) -> Mapping[str, Any]:
        return result


@dataclass(frozen=True, slots=True)
class InputRequiredResult:
    """Returned by a function that builds its requests by hand (MRTR-03): questions by key, and a state.

    A question is one of the classes above or a dict with ``method`` and ``params``. What the client answers is
    in ``context.input_responses`` of the next run; the state, any JSON value, in ``context.request_state``.
    """

    questions: Mapping[str, Question | Mapping[str, Any]] | None = None
    state: Any = None

    def __post_init__(self) -> None:
        if not self.questions and self.state is None:
            raise InvalidPrimitive("An InputRequiredResult needs questions, a state or both (MRTR-03).")
        for key, question in (self.questions or {}).items():
            if isinstance(question, URLElicitation):
                raise InvalidPrimitive(
                    f"The question {key} is a URLElicitation, whose answer counts once and cannot be read by hand. "
                    "Ask it with context.elicit_url()."
                )
            if isinstance(question, Question) and question.once:
                raise InvalidPrimitive(
                    f"The question {key} has once=True, and an answer that is read by hand counts any number of times. "
                    "Ask it with context.elicit()."
                )
            if not isinstance(question, Question):
                _check_by_hand(key, question)


def _check_by_hand(key: str, question: Any) -> None:
    if not isinstance(question, Mapping):
        raise InvalidPrimitive(
            f"The question {key} is {question!r}. It is an Elicitation, Sampling or RootsListing, or a dict with "
            "method and params."
        )
    if question.get("method") not in METHODS:
        raise InvalidPrimitive(
            f"The question {key} has the method {question.get('method')!r}. Allowed are {', '.join(METHODS)}."
        )
    params = question.get("params", {})
    if not isinstance(params, Mapping):
        raise InvalidPrimitive(f"The question {key} has the params {params!r}. They are a dict.")
    if params.get("mode") == "url" and not _is_web_url(params.get("url")):
        raise InvalidPrimitive(f"The question {key} has the url {params.get('url')!r}. It is an http or https URL.")


def _is_web_url(url: Any) -> bool:
    """Clients open it for a person (ELI-13)."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


def raise_if_input_required(value: Any) -> None:
    """A function that returns its questions stops as one that asks them."""
    if isinstance(value, InputRequiredResult):
        questions = {
            key: one if isinstance(one, Question) else RawQuestion(one, key)
            for key, one in (value.questions or {}).items()
        }
        raise InputRequired(questions, value.state)
