"""Whatever a client asks, the answer is well-formed: judged by the official schema of every revision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_mcp import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    MCPServer,
    PromptMessage,
    QuerySetCompleter,
    ResourceContents,
    ResourceLink,
    TextContent,
)
from django_mcp.protocol.headers import encode_value
from django_mcp.servers import _servers
from tests.protocol.strategies import json_values, texts
from tests.spec.schemas import RESULTS, REVISIONS, check_answer
from tests.wire.client import META, MODERN, NAMED_BY, WireClient
from tests.wire.doors import consumer

EVERYTHING: list[Any] = [
    TextContent("text"),
    ImageContent(b"png", "image/png"),
    AudioContent(b"wav", "audio/wav"),
    EmbeddedResource(ResourceContents(uri="a:b", text="text")),
    ResourceLink(uri="a:b", name="b", title="B", mime_type="text/plain", size=1),
]


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Point:
    x: int
    y: float = 0.0


def add(a: int, b: int = 1) -> int:
    return a + b


def place(point: Point, names: list[str], size: Size | None = None, extra: dict[str, int] | None = None) -> Any:
    return {"point": point, "names": names, "size": size, "extra": extra}


def everything() -> list[Any]:
    return EVERYTHING


def messages(tone: Literal["warm", "dry"], number: int = 1, size: Size = Size.SMALL) -> list[Any]:
    return [f"{tone} {number} {size}", *(PromptMessage("assistant", block) for block in EVERYTHING)]


@pytest.fixture
def client(monkeypatch, db):
    """Of a server with a little of everything, that nothing a client sends makes fail."""
    server = MCPServer(
        "arbitrary", page_size=1, settings={"AUTHENTICATION": "django_mcp.auth.AllowAny", "COMPLETION_RATE": None}
    )
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (server, {}))
    for function in (add, place, everything):
        server.tool(function)
    server.prompt(complete={"number": QuerySetCompleter(User, "pk", search_fields=["username"])})(messages)
    server.prompt(everything)
    server.resource("a:b", name="b", title="B")(lambda: ["text", b"blob"])
    server.resource_template("user://{pk:int}{?q}", name="user", list_resources=lambda: User.objects.all())(
        lambda pk, q="": {"username": User.objects.get(pk=pk).username, "q": q}
    )
    server.resource_template("file:///{path:path}", name="file", complete={"path": User.username})(lambda path: path)
    User.objects.bulk_create(User(username=name) for name in ("ann", "bob"))
    yield WireClient(consumer())
    del _servers["arbitrary"]


names = st.sampled_from(["add", "place", "everything", "messages"]) | json_values
uris = (
    st.sampled_from(["a:b", "user://{pk}{?q}", "file:///{+path}", "user://1?q=a"])
    | texts.map("user://".__add__)
    | texts.map("file:///".__add__)
    | json_values
)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "a": st.integers() | st.just("1") | json_values,
        "b": json_values,
        "point": st.fixed_dictionaries({"x": st.integers()}, optional={"y": json_values}) | json_values,
        "names": st.lists(texts, max_size=2) | json_values,
        "size": st.sampled_from(["small", "huge"]) | json_values,
        "tone": st.sampled_from(["warm", "dry"]) | json_values,
        "number": st.just("1") | json_values,
        "extra": json_values,
    },
)
references = st.fixed_dictionaries(
    {"type": st.sampled_from(["ref/prompt", "ref/resource"]) | json_values}, optional={"name": names, "uri": uris}
)
argument = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["tone", "number", "pk", "path"]) | json_values, "value": texts | json_values}
)
FIELDS: dict[str, Any] = {
    "tools/call": {"name": names, "arguments": arguments | json_values},
    "prompts/get": {"name": names, "arguments": arguments | json_values},
    "resources/read": {"uri": uris},
    "completion/complete": {
        "ref": references | json_values,
        "argument": argument | json_values,
        "context": st.fixed_dictionaries({"arguments": arguments | json_values}) | json_values,
    },
}
CURSOR = {"cursor": texts | json_values}
FIELDS |= {method: CURSOR for method in RESULTS if method.endswith("/list")}


def ask(client: WireClient, revision: str, method: str, params: Any) -> Any:
    """The answer to a request whose envelope is right, whatever its params are."""
    headers: dict[str, str | None] = {}
    if revision == MODERN:
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if isinstance(params, dict):
            envelope = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
            params = {**params, "_meta": envelope}
            name = params.get(NAMED_BY.get(method, ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = encode_value(name.encode(errors="replace").decode())
    else:
        headers = client.session_headers
    return client.post(client.message(method, params), headers).json


def arbitrary(examples):
    """Each is a request through the whole stack."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@arbitrary(15)
@given(st.data())
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", [method for method in RESULTS if not method.endswith("/list")])
def test_the_answer_fits_the_schema(client, revision, method, data):
    """RPC-08, CMP-04, PRM-03, RES-04, TOOL-12, BL-065, S121, X12: and nothing a client sends is our fault."""
    check_arbitrary(client, revision, method, data)


@arbitrary(4)
@given(st.data())
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", [method for method in RESULTS if method.endswith("/list")])
def test_a_list_fits_the_schema(client, revision, method, data):
    """PAG-03, BL-074, S128, S129."""
    check_arbitrary(client, revision, method, data)


def check_arbitrary(client, revision, method, data):
    if revision != MODERN and client.version != revision:
        client.initialize(revision)
    params = data.draw(st.fixed_dictionaries({}, optional=FIELDS[method]) | json_values)
    message = ask(client, revision, method, params)
    check_answer(revision, method, message)
    assert message.get("error", {}).get("code") != -32603


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 1}}),
    ("tools/call", {"name": "place", "arguments": {"point": {"x": 1}, "names": []}}),
    ("tools/call", {"name": "everything"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "messages", "arguments": {"tone": "dry"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "a:b"}),
    ("resources/read", {"uri": "file:///a/b"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "messages"}, "argument": {"name": "number", "value": ""}},
    ),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("method", "params"), GOOD, ids=range(len(GOOD)))
def test_a_good_answer_fits_the_schema(client, revision, method, params):
    """TOOL-02, TOOL-12, PRM-02, PRM-03, PRM-05, RES-02, RES-04, RES-05, CMP-04, CACHE-01."""
    if revision != MODERN:
        client.initialize(revision)
    message = ask(client, revision, method, params)
    check_answer(revision, method, message)
    assert "result" in message
