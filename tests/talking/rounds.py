"""A modern client that answers what it is asked, and shows every round."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group

from tests.wire.client import META

CAPABILITIES: dict[str, Any] = {"elicitation": {}, "sampling": {"tools": {}}, "roots": {}}
DECLARED = {f"{META}clientCapabilities": CAPABILITIES}
BOOKING = {"action": "accept", "content": {"guests": 2, "name": "Ann"}}
COLOUR = {"action": "accept", "content": {"colour": "blue"}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m", "stopReason": "endTurn"}
ROOTS = {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}


BAD_STATE = {"code": -32602, "message": "Invalid or expired requestState"}


def usual_answer(request: dict[str, Any]) -> dict[str, Any]:
    """What fits the question."""
    if request["method"] == "sampling/createMessage":
        return SAMPLED
    if request["method"] == "roots/list":
        return ROOTS
    properties = request["params"]["requestedSchema"]["properties"]
    if "colour" in properties:
        return COLOUR
    return BOOKING if "guests" in properties else {"action": "accept", "content": dict.fromkeys(properties, True)}


class Talk:
    """One request and its retries. ``last`` is the answer of the newest round."""

    def __init__(
        self, client: Any, name: str, arguments: dict[str, Any] | None = None, method: str = "tools/call"
    ) -> None:
        self.client = client
        self.method = method
        field = "uri" if method == "resources/read" else "name"
        self.params: dict[str, Any] = {field: name}
        if arguments is not None:
            self.params["arguments"] = arguments
        self.asked: list[list[str]] = []
        self.last: Any = None
        self.send({})

    def send(self, more: dict[str, Any], **changes: Any) -> Any:
        self.last = self.client.modern(self.method, {**self.params, **changes, **more}, meta=DECLARED)
        return self.last

    @property
    def state(self) -> str:
        return self.last.result["requestState"]  # type: ignore[no-any-return]

    @property
    def requests(self) -> dict[str, Any]:
        assert self.last.result["resultType"] == "input_required", self.last.json
        return self.last.result.get("inputRequests", {})  # type: ignore[no-any-return]

    def answer(self, **responses: Any) -> Any:
        """The next round: the usual answers, or those given."""
        requests = self.requests
        self.asked.append(list(requests))
        given = {key: responses.get(key, usual_answer(request)) for key, request in requests.items()}
        return self.send({"inputResponses": given, "requestState": self.state})

    def finish(self) -> Any:
        """Answer until there is a result."""
        while self.last.result["resultType"] != "complete":
            assert len(self.asked) < 5
            self.answer()
        return self.last


def text_of(answer: Any) -> str:
    return answer.result["content"][0]["text"]  # type: ignore[no-any-return]


def is_error(answer: Any) -> bool:
    return answer.result["isError"]  # type: ignore[no-any-return]


def refused(answer: Any) -> bool:
    """With the one error that every bad state gets."""
    return (answer.status, {key: answer.error[key] for key in ("code", "message")}) == (400, BAD_STATE)


def groups() -> list[str]:
    """The rows that the tools have written."""
    return sorted(Group.objects.values_list("name", flat=True))
