"""Tools, prompts, resources and completions as clients of every revision see them."""

import base64

import pytest
from django.contrib.auth.models import User
from django.test import override_settings


def text_of(result):
    [block] = result["content"]
    assert block["type"] == "text"
    return block["text"]


def test_a_tool_answers(client, era):
    result = client.call_tool(era, "add", {"a": 2, "b": 3})
    assert text_of(result) == "5"
    assert not result.get("isError", False)


def test_an_async_tool_answers(client, era):
    assert text_of(client.call_tool(era, "aadd", {"a": 2, "b": 3})) == "5"


def test_structured_content_fits_the_revision(client, era):
    """TOOL-12..14, BL-062: any value now, an object before, nothing before that."""
    result = client.call_tool(era, "add", {"a": 2, "b": 3})
    expected = {"modern": 5, "2025-11-25": {"result": 5}, "2025-06-18": {"result": 5}}
    assert result.get("structuredContent", "none") == expected.get(era, "none")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"a": 1}, "b"),
        ({"a": 1, "b": "x"}, "b"),
        ({"a": True, "b": 1}, "a"),
        ({"a": 2.5, "b": 1}, "a"),
        ({"a": 1, "b": 2, "c": 3}, "c"),
        ({}, "a"),
    ],
)
def test_bad_arguments_are_a_result_that_names_the_field(client, era, arguments, named):
    """TOOL-25, BL-019, BL-064, BL-066."""
    result = client.call_tool(era, "add", arguments)
    assert result["isError"] is True
    assert named in text_of(result)


@pytest.mark.parametrize("arguments", [{"a": 5.0, "b": 1}, {"a": "5", "b": 1}])
def test_numbers_in_other_spellings_arrive_as_integers(client, era, arguments):
    """BL-019: an integer written as a float, and the documented policy for numeric strings."""
    assert text_of(client.call_tool(era, "add", arguments)) == "6"


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("total", {"values": "[1, 2, 3]"}, "6"),
        ("point", {"p": '{"x":1,"y":2}'}, "1/2"),
        ("echo", {"text": "[1]"}, "[1]"),
    ],
)
def test_lists_and_objects_in_a_json_string_are_decoded(client, name, arguments, text):
    """BL-020: and a string parameter stays a string."""
    assert text_of(client.call_tool("modern", name, arguments)) == text


def test_a_broken_json_string_is_refused(client):
    result = client.call_tool("modern", "total", {"values": "[1,"})
    assert result["isError"]
    assert "values" in text_of(result)


@pytest.mark.parametrize(
    ("arguments", "text"), [({}, "None:10"), ({"q": None}, "None:10"), ({"q": "x", "limit": 3}, "x:3")]
)
def test_optional_arguments_behave_as_the_signature_says(client, arguments, text):
    """BL-032."""
    assert text_of(client.call_tool("modern", "search", arguments)) == text


def test_no_arguments_may_be_spelled_in_three_ways(client, era):
    """S69, TOOL-32, BL-065."""
    for arguments in ({}, {"arguments": {}}, {"arguments": None}):
        assert text_of(client.call(era, "tools/call", {"name": "noargs", **arguments}).result) == "ok"


@pytest.mark.parametrize("arguments", [[], "{}", 5])
def test_arguments_that_are_no_object_are_invalid_params(client, era, arguments):
    """S68, X12, TOOL-24, BL-065."""
    answer = client.call(era, "tools/call", {"name": "noargs", "arguments": arguments})
    assert (answer.status, answer.error["code"]) == (400 if era == "modern" else 200, -32602)


@pytest.mark.parametrize("params", [{"name": "nope"}, {}, {"name": 5}, {"name": "staff_only"}, {"name": "rename"}])
def test_an_unknown_tool_is_invalid_params(client, era, params):
    """S67, TOOL-23, BL-068: a hidden one too."""
    answer = client.call(era, "tools/call", params)
    assert (answer.status, answer.error["code"]) == (400 if era == "modern" else 200, -32602)


def test_a_hidden_tool_is_answered_with_the_bytes_of_an_unknown_one(client):
    hidden = client.modern("tools/call", {"name": "staff_only"}, id=1).body
    unknown = client.modern("tools/call", {"name": "staff_onlx"}, id=1).body
    assert hidden.replace(b"staff_only", b"") == unknown.replace(b"staff_onlx", b"")


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("name", ["boom", "orm_boom"])
def test_a_crash_says_nothing_of_its_cause(client, era, name, debug, caplog):
    """TOOL-31, RPC-29, BL-067: but the log does."""
    with override_settings(DEBUG=debug):
        result = client.call_tool(era, name)
    assert result["isError"] is True
    assert "secret" not in str(result)
    assert "INSERT" not in str(result)
    assert any("secret" in str(record.exc_info) for record in caplog.records)


def test_an_error_for_the_model_reaches_it(client, era):
    result = client.call_tool(era, "fail")
    assert (text_of(result), result["isError"]) == ("try later", True)
    assert "structuredContent" not in result


def test_django_values_become_json(client):
    """BL-004."""
    values = client.call_tool("modern", "values")["structuredContent"]
    assert values["u"] == "00000000-0000-0000-0000-000000000007"
    assert (values["d"], values["day"], values["s"]) == ("1.10", "2026-07-28", [1])


@pytest.mark.parametrize("name", ["queryset", "ratio"])
def test_a_value_that_is_no_json_is_an_error_that_says_why(client, era, name):
    """BL-004, BL-005."""
    result = client.call_tool(era, name, {"a": 1, "b": 0} if name == "ratio" else {})
    assert result["isError"] is True
    assert ("QuerySet" if name == "queryset" else "finite") in text_of(result)


def test_empty_results_keep_their_shape(client, era):
    """BL-038, TOOL-16."""
    assert text_of(client.call_tool(era, "empty")) == "[]"
    assert client.call_tool(era, "nothing")["content"] == []
    assert text_of(client.call_tool(era, "blank")) == ""


def test_generated_content_arrives_in_order(client):
    blocks = client.call_tool("modern", "stream_of_content")["content"]
    assert [block["text"] for block in blocks] == ["one", "two"]


def test_a_lone_surrogate_is_answered_and_the_next_request_works(client, era):
    """BL-036."""
    assert text_of(client.call_tool(era, "lone_surrogate")) == "\ud800x"
    assert text_of(client.call_tool(era, "echo", {"text": "\ud800x"})) == "\ud800x"
    assert text_of(client.call_tool(era, "echo", {"text": "\U0001f600"})) == "\U0001f600"


def test_lists_show_what_the_revision_has(client, era):
    """Section 33."""
    tools = {tool["name"]: tool for tool in client.call(era, "tools/list").result["tools"]}
    assert ("outputSchema" in tools["add"]) is (era in ("modern", "2025-06-18", "2025-11-25"))
    assert ("title" in tools["grüße".encode().hex()]) is (era in ("modern", "2025-06-18", "2025-11-25"))
    assert tools["noargs"]["inputSchema"] == {"type": "object", "properties": {}, "additionalProperties": False}
    assert tools["book"]["inputSchema"]["properties"]["clinic"]["x-mcp-header"] == "Clinic"


def test_lists_keep_their_order(client):
    """TOOL-04."""
    names = [tool["name"] for tool in client.modern("tools/list").result["tools"]]
    assert names[:3] == ["echo", "add", "aadd"]
    assert names == [tool["name"] for tool in client.modern("tools/list").result["tools"]]


def test_texts_are_in_the_language_of_the_request(client, era):
    """BL-022: names and order never are."""
    name = "grüße".encode().hex()
    for language, text in (("de", "Nein"), ("en", "No"), ("xx", "No"), ("*", "No"), ("xx, de;q=0.5", "Nein")):
        client.headers["Accept-Language"] = language
        tools = {tool["name"]: tool for tool in client.call(era, "tools/list").result["tools"]}
        assert tools[name]["description"] == text
    assert text_of(client.call_tool(era, name)) == "ok"
    client.headers["Accept-Language"] = "de"
    assert client.call_tool(era, "lang")["content"][0]["text"] == "de"
    assert "Ja" in client.call_tool(era, "greeting")["content"][0]["text"]
    client.headers["Accept-Language"] = None
    assert client.call_tool(era, "lang")["content"][0]["text"] == "en"


def test_a_capability_the_client_lacks_is_named(client, era):
    """INIT-07, S51, META-08, MH-22."""
    answer = client.call(era, "tools/call", {"name": "needs_sampling"})
    if era == "modern":
        assert (answer.status, answer.error["code"]) == (400, -32021)
        assert answer.error["data"] == {"requiredCapabilities": {"sampling": {}}}
        meta = {"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}
        assert client.modern("tools/call", {"name": "needs_sampling"}, meta=meta).result["content"]
    else:
        assert "sampling" in text_of(answer.result)


def test_a_resource_is_read(client, era):
    result = client.call(era, "resources/read", {"uri": "static://a"}).result
    assert result["contents"] == [{"uri": "static://a", "mimeType": "text/plain", "text": "text of a"}]


def test_a_template_is_read_with_its_variables_decoded(client, era):
    """RES-19, BL-077."""
    result = client.call(era, "resources/read", {"uri": "note://Gr%C3%BC%C3%9Fe"}).result
    assert result["contents"][0]["text"] == "note Grüße"


@pytest.mark.parametrize(
    "uri",
    [
        "note://missing",
        "note://a%2Fb",
        "note://..%2F..%2Fetc%2Fpasswd",
        "note://%00",
        "user://12345",
        "user://abc",
        "static://staff",
    ],
)
def test_a_missing_resource_is_told_with_its_uri(client, era, uri):
    """RES-06..08, BL-076, BL-077: the hidden one too, and never an empty list of contents."""
    answer = client.call(era, "resources/read", {"uri": uri})
    assert answer.error["code"] == (-32602 if era == "modern" else -32002)
    assert answer.error["data"] == {"uri": uri}


def test_a_deleted_object_is_a_missing_resource(client):
    user = User.objects.create(username="ann")
    uri = f"user://{user.pk}"
    assert "ann" in client.modern("resources/read", {"uri": uri}).result["contents"][0]["text"]
    user.delete()
    assert client.modern("resources/read", {"uri": uri}).error["code"] == -32602


def test_a_resource_without_a_uri_is_invalid_params(client, era):
    assert client.call(era, "resources/read", {}).error["code"] == -32602


def test_a_broken_resource_is_an_internal_error_without_details(client, era, caplog):
    """RPC-29, BL-076."""
    answer = client.call(era, "resources/read", {"uri": "static://broken"})
    assert (answer.status, answer.error) == (200, {"code": -32603, "message": "Internal error"})
    assert any("secret path" in str(record.exc_info) for record in caplog.records)


def test_resources_and_templates_are_listed_apart(client, era):
    """RES-02, RES-05."""
    uris = [one["uri"] for one in client.call(era, "resources/list").result["resources"]]
    assert uris == ["static://a", "static://broken"]
    templates = client.call(era, "resources/templates/list").result["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["note://{name}", "user://{pk}"]


def test_a_prompt_is_filled_in(client, era):
    result = client.call(era, "prompts/get", {"name": "greet", "arguments": {"name": "Ann"}}).result
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "Say hello to Ann."}}]
    assert client.call(era, "prompts/get", {"name": "plain"}).result["messages"][0]["content"]["text"] == "plain"


@pytest.mark.parametrize(
    "params",
    [
        {"name": "greet"},
        {"name": "greet", "arguments": {"name": 5}},
        {"name": "nope"},
        {"name": "secret"},
        {},
        {"name": "greet", "arguments": []},
    ],
)
def test_a_wrong_prompt_request_is_invalid_params(client, era, params):
    """PRM-04, PRM-09, BL-079."""
    assert client.call(era, "prompts/get", params).error["code"] == -32602


def test_a_broken_prompt_is_an_internal_error(client, era):
    assert client.call(era, "prompts/get", {"name": "broken"}).error == {"code": -32603, "message": "Internal error"}


def test_prompts_list_their_arguments(client, era):
    prompts = client.call(era, "prompts/list").result["prompts"]
    assert [one["name"] for one in prompts] == ["greet", "plain", "broken"]
    assert prompts[0]["arguments"] == [{"name": "name", "required": True}]


def _complete(client, era, ref, name, value, **extra):
    params = {"ref": ref, "argument": {"name": name, "value": value}, **extra}
    return client.call(era, "completion/complete", params)


def test_arguments_are_completed(client, era):
    """CMP-02..04."""
    prompt = {"type": "ref/prompt", "name": "greet"}
    completion = _complete(client, era, prompt, "name", "An", context={"arguments": {"x": "y"}}).result["completion"]
    assert completion["values"] == ["Ann", "Anton"]
    template = {"type": "ref/resource", "uri": "note://{name}"}
    assert _complete(client, era, template, "name", "al").result["completion"]["values"] == ["alpha"]
    filled = {"type": "ref/resource", "uri": "note://beta"}
    assert _complete(client, era, filled, "name", "be").result["completion"]["values"] == ["beta"]


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"type": "ref/resource", "uri": "static://a"}, "x"),
        ({"type": "ref/resource", "uri": "user://{pk}"}, "pk"),
    ],
)
def test_what_has_no_completer_has_no_suggestions(client, ref, name):
    assert _complete(client, "modern", ref, name, "").result["completion"]["values"] == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "greet"}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name"}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "other", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "secret"}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/resource", "uri": "no://such"}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/resource", "uri": 5}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/tool", "name": "echo"}, "argument": {"name": "name", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}, "context": 5},
        {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": ""},
            "context": {"arguments": []},
        },
    ],
)
def test_a_wrong_completion_request_is_invalid_params(client, params):
    """CMP-06."""
    assert client.modern("completion/complete", params).error["code"] == -32602


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources", "resources/templates"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_pages_cover_the_list_once(client, era, kind, size):
    """PAG-01..05, BL-075."""
    key = {"resources/templates": "resourceTemplates"}.get(kind, kind)
    name = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(key, "name")
    whole = [one[name] for one in client.call(era, f"{kind}/list").result[key]]
    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "PAGE_SIZE": size}):
        seen, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            result = client.call(era, f"{kind}/list", {"cursor": cursor} if cursor else {}).result
            seen += [one[name] for one in result[key]]
            assert result.get("nextCursor", "absent") is not None
            cursor = result.get("nextCursor")
            pages += 1
    assert seen == whole
    assert pages == max(1, -(-len(whole) // size))


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources", "resources/templates"])
@pytest.mark.parametrize("cursor", ["bogus", "", 5, base64.b64encode(b'{"offset":-1}').decode()])
def test_a_cursor_of_nobody_is_invalid(client, era, kind, cursor):
    """PAG-03, PAG-04, BL-074."""
    assert client.call(era, f"{kind}/list", {"cursor": cursor}).error["code"] == -32602


def test_a_cursor_of_another_list_is_invalid(client):
    """PAG-05, BL-074."""
    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "PAGE_SIZE": 1}):
        cursor = client.modern("tools/list").result["nextCursor"]
        assert client.modern("prompts/list", {"cursor": cursor}).error["code"] == -32602
        assert client.modern("tools/list", {"cursor": cursor[:-1]}).error["code"] == -32602


def test_what_a_tool_writes_is_seen_by_the_test_and_undone_with_it(client, era):
    """BL-101: and a failed tool leaves nothing."""
    assert not User.objects.exists()
    client.call_tool(era, "make_row", {"name": "ann"})
    client.call_tool(era, "amake_row", {"name": "bob"})
    assert client.call_tool(era, "make_row_then_boom", {"name": "eve"})["isError"]
    reported = client.call_tool(era, "make_row_then_report", {"name": "mallory"})
    assert (text_of(reported), reported["isError"]) == ("no", True)
    assert sorted(User.objects.values_list("username", flat=True)) == ["ann", "bob"]
    assert text_of(client.call_tool(era, "count_rows")) == "2"
