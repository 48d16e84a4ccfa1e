"""Exceptions a site may raise or meet.

RegistrationError           a definition is wrong; raised while the site starts
    AlreadyRegistered
    NotRegistered
    InvalidPrimitive
ToolError                   its text reaches the model
    NotSaved
    CallTimeout
    Busy
    ClientError             the client answered a question with an error
    InvalidAnswer           its answer does not fit the question
InvalidArguments            what the client sent does not fit
InvalidOutput               what the function returned does not fit its declaration
ErrorResult                 a tool returned a result that says it failed
ResourceNotFound            nothing is behind this URI
CallCancelled               a BaseException, so that ``except Exception`` cannot swallow it
WriteRefused                a function given to ``context.remember()`` wrote to the database
InputRequired               likewise: the function stops, the client is asked, the function runs again
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RegistrationError(Exception):
    """A tool, prompt or resource cannot be registered, or is not."""


class AlreadyRegistered(RegistrationError):
    """Something else is registered under this name or URI."""


class NotRegistered(RegistrationError):
    """Nothing is registered under this name or URI."""


class InvalidPrimitive(RegistrationError):
    """The definition breaks a rule of the protocol."""


class ToolError(Exception):
    """Raise it in a tool: the call fails and the model reads the text."""


class NotSaved(ToolError):
    """The transaction was rolled back, or its COMMIT failed."""


class CallTimeout(ToolError):
    """The call took longer than its time limit."""


class Busy(ToolError):
    """No lane became free in time to run the call."""


class ClientError(ToolError):
    """The client answered a question with an error: the person refused, or it cannot do it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"The client answered with an error: {message} ({code})")
        self.code = code
        self.message = message


class InvalidAnswer(ToolError):
    """The client's answer does not fit the question; one readable sentence for each fault."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class InvalidArguments(Exception):
    """One readable sentence for each fault of the arguments. Raise it in a prompt or a completer to refuse them."""

    def __init__(self, *faults: str) -> None:
        super().__init__(*faults)
        self.faults = faults

    def __str__(self) -> str:
        return "; ".join(self.faults)


class InvalidOutput(Exception):
    """A return value cannot be converted, or does not fit the output schema."""


class ErrorResult(Exception):
    """A tool reported its failure as a result. An exception, so that what it wrote is undone all the same."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result


class ResourceNotFound(Exception):
    """Raise it in a resource: there is nothing behind the URI."""

    def __init__(self, uri: str | None = None) -> None:
        super().__init__(uri)
        self.uri = uri

    def __str__(self) -> str:
        return "Resource not found" if self.uri is None else f"Resource not found: {self.uri}"


class WriteRefused(Exception):
    """What ``context.remember()`` runs may read the database and not write to it."""


class CallCancelled(BaseException):
    """The call was given up. Raised in synchronous code, which nothing else stops; nothing is saved."""


class InputRequired(BaseException):
    """The function needs answers first. What it wrote is undone, and it runs again from the top with them.

    ``questions`` by their key; ``state`` is what the function wants to find again, ``None`` for nothing.
    """

    def __init__(self, questions: Mapping[str, Any], state: Any = None) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        self.state = state
