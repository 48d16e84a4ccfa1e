"""What a server says that it offers, and what cannot be offered twice."""

import pytest

from django_mcp import AlreadyRegistered, Context, EmbeddedResource, ResourceContents


def text(): ...


def other(): ...


def of(name: str): ...


def capabilities(client, era):
    if era == "modern":
        return client.modern("server/discover").result["capabilities"]
    client.version = None
    return client.initialize(era).result["capabilities"]


def test_a_capability_is_there_where_something_is_offered(server, client, era):
    """RES-01, PRM-01, CMP-01, S120: one after the other."""
    server.tool(text)
    assert {"resources", "prompts", "completions"}.isdisjoint(capabilities(client, era))
    server.prompt(name="plain")(text)
    assert "prompts" in capabilities(client, era)
    server.resource_template("note://{name}", list_resources=lambda: [{"name": "a"}])(of)
    assert "resources" in capabilities(client, era)
    assert "completions" not in capabilities(client, era)
    assert client.call(era, "completion/complete", {}).error["code"] == -32601
    server.prompt(complete={"name": ["a"]})(of)
    assert "completions" in capabilities(client, era)


REGISTRATIONS = {
    "prompt": lambda server, function: server.prompt(name="one")(function),
    "resource": lambda server, function: server.resource("a:b", name="one")(function),
}


@pytest.mark.parametrize("kind", REGISTRATIONS)
def test_a_second_one_of_a_name_or_uri_is_refused_and_the_first_one_stays(server, client, kind):
    """S88, S105."""
    REGISTRATIONS[kind](server, text)
    with pytest.raises(AlreadyRegistered, match=f"The {kind} .* is registered by .*text .* and again by .*other "):
        REGISTRATIONS[kind](server, other)
    REGISTRATIONS[kind](server, text)
    assert len(client.modern(f"{kind}s/list").result[f"{kind}s"]) == 1


def test_a_prompt_takes_its_arguments_by_name_and_the_context_if_it_wants_it(server, client, era):
    """S91, S93, S119, M5: and an embedded resource is a message."""

    @server.prompt
    def ask(name: str, context: Context) -> EmbeddedResource:
        found = ResourceContents(uri=f"note://{name}", mime_type="text/plain", text=str(context.user))
        return EmbeddedResource(found)

    [message] = client.call(era, "prompts/get", {"name": "ask", "arguments": {"name": "a"}}).result["messages"]
    assert message["content"] == {
        "type": "resource",
        "resource": {"uri": "note://a", "mimeType": "text/plain", "text": "AnonymousUser"},
    }


@pytest.mark.parametrize(
    "uri",
    [
        "file:///../etc/passwd",
        "file:///a/../../etc/passwd",
        "file:///%2e%2e/etc/passwd",
        "file:///a%2F..%2Fetc",
        "file:///..\\etc",
        "file:///a%00.txt",
    ],
)
def test_no_path_leads_out_of_its_place(server, client, era, uri):
    """RES-14, BL-077, S111, S114: whatever the author does with what he gets."""
    seen = []

    @server.resource_template("file:///{path:path}")
    def file(path: str) -> str:
        seen.append(path)
        return path

    assert client.call(era, "resources/read", {"uri": uri}).error["data"] == {"uri": uri}
    assert client.call(era, "resources/read", {"uri": "file:///a/b%20c"}).result["contents"][0]["text"] == "a/b c"
    assert seen == ["a/b c"]
