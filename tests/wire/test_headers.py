"""The routing headers of the modern wire (MH-08..20) and what HTTP itself asks for."""

import base64

import pytest

from tests.wire.client import META, MODERN


def marked(text):
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Name": None},
        {"Mcp-Name": "Echo"},
        {"Mcp-Name": "=?base64?!!!?="},
        {"Mcp-Name": "=?base64?/w==?="},
        {"Mcp-Name": "gr\xfc\xdfe"},
        {"Mcp-Method": None},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "TOOLS/CALL"},
        {"MCP-Protocol-Version": "2025-11-25"},
    ],
)
def test_a_header_that_does_not_match_the_body_is_refused(client, headers):
    """S237, S238, MH-08..14, BL-041: the id comes back and nothing runs."""
    params = {"name": "make_row", "arguments": {}}
    answer = client.modern("tools/call", params, id="h", headers={"Mcp-Name": "make_row", **headers})
    assert (answer.status, answer.error["code"], answer.json["id"]) == (400, -32020, "h")
    assert client.modern("tools/call", {"name": "count_rows"}).result["structuredContent"] == 0


@pytest.mark.parametrize("name", ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"])
def test_a_routing_header_that_comes_twice_is_refused(client, door, name):
    """MH-20: readers of the first and of the last copy would disagree."""
    values = {"Mcp-Method": "tools/call", "Mcp-Name": "noargs", "MCP-Protocol-Version": MODERN}
    pairs = [*values.items(), (name, values[name]), ("Content-Type", "application/json"), ("Host", "testserver")]
    meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noargs","_meta":%s}}'
        % str(meta).replace("'", '"').encode()
    )
    answer = door.send("POST", "/mcp", pairs, body)
    assert answer.status == 400
    # Under WSGI the copies arrive folded into one value, and what is folded is no version any more.
    assert answer.error["code"] in ((-32020,) if door.can_stream else (-32020, -32602))


@pytest.mark.parametrize(
    ("uri", "header"),
    [
        ("note://alpha", "note://alpha"),
        ("note://alpha", "  note://alpha "),
        ("note://\u00dcber", marked("note://\u00dcber")),
        ("note://a", marked("note://a")),
    ],
)
def test_a_name_is_decoded_before_it_is_compared(client, uri, header):
    """S238, MH-11, MH-12, BL-042."""
    answer = client.modern("resources/read", {"uri": uri}, headers={"Mcp-Name": header})
    assert answer.status == 200, answer


def test_header_names_may_come_in_any_case(client):
    """MH-11."""
    headers = {"Mcp-Method": None, "MCP-METHOD": "tools/list", "MCP-Protocol-Version": None}
    assert client.modern("tools/list", headers={**headers, "mcp-protocol-version": MODERN}).status == 200


def test_a_body_without_the_name_is_invalid_params(client):
    """Section 34.12: there is nothing to compare the header with."""
    answer = client.modern("tools/call", {"arguments": {}}, headers={"Mcp-Name": "echo"})
    assert (answer.status, answer.error["code"]) == (400, -32602)


def _book(client, arguments, headers):
    return client.modern("tools/call", {"name": "book", "arguments": arguments}, headers=headers)


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"clinic": "Bern"}, "Bern"),
        ({"clinic": "Z\u00fcrich"}, marked("Z\u00fcrich")),
        ({"clinic": "SGVsbG8="}, "SGVsbG8="),
        ({"clinic": "=?base64?SGVsbG8="}, "=?base64?SGVsbG8="),
        ({}, None),
        ({"note": "x"}, None),
    ],
)
def test_a_parameter_header_that_agrees_passes(client, arguments, header):
    """MH-15, MH-17."""
    assert _book(client, arguments, {"Mcp-Param-Clinic": header}).status == 200


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"clinic": "Bern"}, None),
        ({"clinic": "Bern"}, "Basel"),
        ({"clinic": "Hello"}, "=?base64?SGVsbG8?="),
        ({"clinic": "Hello"}, "=?base64?SGVs!!!bG8=?="),
        ({"clinic": "Z\u00fcrich"}, "=?BASE64?WsO8cmljaA==?="),
        ({}, "Bern"),
    ],
)
def test_a_parameter_header_that_disagrees_is_refused(client, arguments, header):
    """MH-13, MH-17, X17, section 32.2."""
    answer = _book(client, arguments, {"Mcp-Param-Clinic": header})
    assert (answer.status, answer.error["code"]) == (400, -32020)
    assert "id" in answer.json


def test_a_parameter_header_that_no_tool_knows_is_ignored(client):
    """MH-18."""
    assert client.modern("tools/call", {"name": "noargs"}, headers={"Mcp-Param-Colour": "red"}).status == 200


def test_parameter_headers_are_nothing_to_legacy_clients(client):
    client.initialize()
    params = {"name": "book", "arguments": {"clinic": "Bern"}}
    assert client.legacy("tools/call", params).result["content"][0]["text"] == "Bern|"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset=utf-8",
        "Application/JSON",
        'application/json;charset="UTF-8"',
        "application/json ; x=y",
    ],
)
def test_every_spelling_of_json_is_accepted(client, content_type):
    """BL-091."""
    assert client.modern("tools/list", headers={"Content-Type": content_type}).status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json; charset=bogus",
        "application/json; charset=utf-16",
        None,
    ],
)
def test_any_other_content_type_is_refused(client, content_type):
    """S207, BL-092, BL-090, LH-41: a browser could send these without asking first."""
    params = {"name": "make_row", "arguments": {}}
    answer = client.modern("tools/call", params, headers={"Content-Type": content_type})
    assert (answer.status, answer.error["code"]) == (415, -32600)
    assert client.modern("tools/call", {"name": "count_rows"}).result["structuredContent"] == 0


def test_an_encoded_body_is_refused(client):
    assert client.modern("tools/list", headers={"Content-Encoding": "gzip"}).status == 415


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "application/json"),
        ("application/*, text/*", "application/json"),
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("application/json;q=0.9, text/event-stream", "application/json"),
        ("TEXT/EVENT-STREAM, APPLICATION/JSON", "application/json"),
        (None, "application/json"),
        ("application/json;q=0, text/event-stream", "text/event-stream"),
        ("application/json, text/event-stream;q=0", "application/json"),
    ],
)
def test_the_answer_comes_in_a_type_the_client_takes(client, era, accept, content_type):
    """LH-05, LH-07, MH-05, MH-06, S206, S213, BL-048, BL-049.

    LH-11, LH-12, MH-27: a stream ends with the response, and not before.
    """
    if era != "modern":
        client.initialize(era)
    send = client.modern if era == "modern" else client.legacy
    answer = send("tools/list", headers={"Accept": accept})
    assert (answer.status, answer.header("Content-Type")) == (200, content_type)
    assert answer.result["tools"]


@pytest.mark.parametrize("accept", ["text/html", "*/*;q=0"])
def test_a_client_that_takes_neither_type_is_told(client, accept):
    """S206."""
    answer = client.modern("tools/list", headers={"Accept": accept})
    assert (answer.status, answer.error["code"]) == (406, -32600)


def test_a_one_event_stream_is_framed_for_every_client(client):
    """S219, LH-39, BL-108, MH-28, MH-31: LF, one data line, no id, nobody buffers it."""
    answer = client.modern("tools/list", headers={"Accept": "text/event-stream"})
    assert answer.body.startswith(b"event: message\ndata: {")
    assert answer.body.endswith(b"}\n\n")
    assert b"\r" not in answer.body
    assert b"\nid:" not in answer.body
    assert answer.header("X-Accel-Buffering") == "no"
    assert answer.header("Cache-Control") == "no-cache, no-transform"
