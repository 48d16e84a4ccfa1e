"""What is behind a URI: the resource of this very URI, else the first template that fits."""

import pytest

from django_mcp import Context, ResourceContents, ResourceNotFound


def read(client, uri, era="modern"):
    return client.call(era, "resources/read", {"uri": uri})


def text_at(client, uri):
    [contents] = read(client, uri).result["contents"]
    assert contents["uri"] == uri
    return contents["text"]


def test_an_exact_uri_comes_before_templates_and_those_in_their_order(server, client):
    """S97, S112."""
    server.resource_template("note://{pk:int}")(lambda pk: f"number {pk!r}")
    server.resource_template("note://{name}")(lambda name: f"name {name!r}")
    server.resource("note://1")(lambda: "exact")
    assert text_at(client, "note://1") == "exact"
    assert text_at(client, "note://2") == "number 2"
    assert text_at(client, "note://two") == "name 'two'"


def test_a_function_may_ask_for_the_whole_uri(server, client, era):
    """S102, S111: and for the context where it wants it."""
    seen = []

    @server.resource_template("note://{name}{?q}")
    def note(name: str, context: Context, q: str = "") -> str:
        seen.append(context.uri)
        return name

    @server.resource("note://all")
    def notes(context: Context) -> str:
        seen.append(context.uri)
        return "all"

    @server.tool
    def tool(context: Context) -> str:
        seen.append(context.uri)
        return ""

    read(client, "note://a%20b?q=c", era)
    read(client, "note://all", era)
    client.call_tool(era, "tool")
    assert seen == ["note://a%20b?q=c", "note://all", None]


def test_templates_publish_plain_templates(server, client, era):
    """S108, RES-05."""
    server.resource_template("note://{pk:int}", name="note", complete={"pk": ["1"]})(lambda pk: "")
    [listed] = client.call(era, "resources/templates/list").result["resourceTemplates"]
    assert listed == {"uriTemplate": "note://{pk}", "name": "note"}
    completion = {
        "ref": {"type": "ref/resource", "uri": "note://{pk}"},
        "argument": {"name": "pk", "value": ""},
    }
    assert client.call(era, "completion/complete", completion).result["completion"]["values"] == ["1"]


@pytest.mark.parametrize("uri", ["note://", "note://..", "note://a%2Fb", "note://%00", "note://no", "x:y"])
def test_what_is_not_there_is_told_with_its_uri(server, client, era, uri):
    """RES-06..08, S99, S104, BL-076, BL-077."""

    @server.resource_template("note://{name}")
    def note(name: str) -> str:
        raise ResourceNotFound

    error = read(client, uri, era).error
    assert error["code"] == (-32602 if era == "modern" else -32002)
    assert error["data"] == {"uri": uri}


@pytest.mark.parametrize("uri", [None, 5, [], "", "no uri", "note://%zz"])
def test_what_is_no_uri_is_a_wrong_parameter(server, client, era, uri):
    """RES-13, S100, X12, BL-076."""
    server.resource_template("note://{name}")(lambda name: name)
    assert read(client, uri, era).error["code"] == -32602


def test_what_fails_is_an_internal_error_without_a_word(server, client, era):
    """S107, RES-06."""

    @server.resource("note://a")
    def note() -> str:
        raise RuntimeError("secret")

    assert read(client, "note://a", era).error == {"code": -32603, "message": "Internal error"}


def test_several_contents_are_filled_in(server, client, era):
    """RES-04, S101, M3."""

    @server.resource("note://a", mime_type="text/markdown")
    def note() -> list[object]:
        return [
            ResourceContents(uri="", text="# a"),
            ResourceContents(uri="note://b", mime_type="image/png", blob=b"png", meta={"a/b": 1}),
            b"bytes",
        ]

    assert read(client, "note://a", era).result["contents"] == [
        {"uri": "note://a", "mimeType": "text/markdown", "text": "# a"},
        {"uri": "note://b", "mimeType": "image/png", "blob": "cG5n", "_meta": {"a/b": 1}},
        {"uri": "note://a", "mimeType": "text/markdown", "blob": "Ynl0ZXM="},
    ]


@pytest.mark.parametrize(
    ("returned", "mime_type", "key", "value"),
    [
        ("text", "text/plain", "text", "text"),
        (b"\xff", "application/octet-stream", "blob", "/w=="),
        ({"a": [1, None]}, "application/json", "text", '{"a":[1,null]}'),
        ([], "application/json", "text", "[]"),
        (7, "application/json", "text", "7"),
    ],
    ids=["text", "bytes", "dict", "list", "number"],
)
def test_a_plain_value_is_encoded_by_what_it_is(server, client, returned, mime_type, key, value):
    """M3, M4, BL-038."""
    server.resource("a:b", name="b")(lambda: returned)
    [contents] = read(client, "a:b").result["contents"]
    assert contents == {"uri": "a:b", "mimeType": mime_type, key: value}
