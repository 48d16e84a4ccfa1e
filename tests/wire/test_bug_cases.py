"""Rows of the bug log about tools, prompts, resources and lists, with every input that a row names.

What the other files here show already is not repeated.
"""

import json

import jsonschema
import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.test import override_settings
from rest_framework.exceptions import ValidationError as RestValidationError

from django_mcp.models import AccessToken
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.registry import Kind
from django_mcp.servers import SERVICES
from tests.wire.bugs import bugs
from tests.wire.client import MODERN, WireClient
from tests.wire.doors import DOORS, strict

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}


# What these rows are about lies behind the doors, so two of them will do.
@pytest.fixture(params=["consumer", "view-wsgi"])
def door(request, db):
    return DOORS[request.param]()


@pytest.fixture(params=["modern", "2025-11-25"])
def era(request):
    return request.param


@pytest.fixture(autouse=True)
def site():
    with override_settings(ROOT_URLCONF="tests.wire.bugs"):
        yield


def text_of(result):
    return result["content"][0]["text"]


def prompt_text(client, era, name):
    return client.call(era, "prompts/get", {"name": name}).result["messages"][0]["content"]["text"]


def test_django_values_are_json_of_the_documented_kinds(client, era):
    """BL-004."""
    values = json.loads(text_of(client.call_tool(era, "values")))
    assert values == {
        "u": "00000000-0000-0000-0000-000000000007",
        "d": "1.10",
        "t": "2026-07-28T12:00:00Z",
        "day": "2026-07-28",
        "td": "PT1H",
        "e": "l",
        "s": [1, 2],
    }


@pytest.mark.parametrize(("also", "named"), [("m", "User"), ("q", "QuerySet"), ("mq", "User")])
def test_a_type_without_json_is_named(client, era, also, named):
    """BL-004: a model instance, a queryset, and both with all the rest."""
    result = client.call_tool(era, "values", {"also": also})
    assert result["isError"] is True
    assert named in text_of(result)


def test_no_result_of_any_kind_holds_what_is_no_number(client, era, caplog):
    """BL-005: tools, resources and prompts; the bytes are read by a strict parser."""
    result = client.call_tool(era, "mean")
    assert (result["isError"], "finite" in text_of(result)) == (True, True)
    assert "structuredContent" not in result
    for method, params in (("resources/read", {"uri": "nan://mean"}), ("prompts/get", {"name": "mean_prompt"})):
        answer = client.call(era, method, params)
        strict(answer.body)
        assert answer.error == {"code": -32603, "message": "Internal error"}


def bearer(door, username="ann", *permissions):
    user = User.objects.create(username=username)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return WireClient(door, headers={"Authorization": f"Bearer {AccessToken.objects.issue(user)[1]}"})


def test_async_code_of_every_kind_reads_the_user(door, era):
    """BL-006: an async tool, an async permission, an async resource and an async prompt."""
    with override_settings(DJANGO_MCP={}):
        ann = bearer(door, "ann", "view_user")
        assert text_of(ann.call_tool(era, "loaded_user")) == "ann False True"
        assert text_of(ann.call_tool(era, "for_viewers")) == "seen"
        assert ann.call(era, "resources/read", {"uri": "user://me"}).result["contents"][0]["text"] == "ann"
        assert prompt_text(ann, era, "my_prompt") == "ann"
        bob = bearer(door, "bob")
        assert bob.call(era, "tools/call", {"name": "for_viewers"}).error["code"] == -32602


def test_lazy_texts_are_in_the_language_of_the_request_everywhere(client, era):
    """BL-022: argument texts of tools and prompts, choices, instructions and results."""
    for language, text, label in (("de", "Ja", "Nein"), ("en", "Yes", "No")):
        client.headers["Accept-Language"] = language
        client.version = None
        tools = {tool["name"]: tool for tool in client.call(era, "tools/list").result["tools"]}
        size = tools["choose"]["inputSchema"]["properties"]["size"]
        assert (size["description"], size["enum"]) == (text, ["s", "l"])
        prompts = {one["name"]: one for one in client.call(era, "prompts/list").result["prompts"]}
        ask = {"name": "ask", "arguments": {"size": "s"}}
        assert client.call(era, "prompts/get", ask).result["messages"][0]["content"]["text"] == "s"
        assert prompts["ask"]["arguments"] == [{"name": "size", "description": text, "required": True}]
        answer = client.modern("server/discover") if era == "modern" else client.initialize(era)
        assert answer.result["instructions"] == text
        assert json.loads(text_of(client.call_tool(era, "choose"))) == {"value": "s", "label": label}


@pytest.mark.parametrize("urlconf", ["tests.wire.bugs", "tests.urls"])
def test_every_schema_is_one_that_clients_can_digest(client, era, urlconf):
    """BL-032, JS-05, JS-06, TOOL-07."""
    with override_settings(ROOT_URLCONF=urlconf):
        tools = client.call(era, "tools/list").result["tools"]
    for tool in tools:
        for schema in (tool["inputSchema"], tool.get("outputSchema", {"type": "object"})):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert all(reference.startswith("#/") for reference in references(schema))
        assert tool["inputSchema"]["type"] == "object"


def references(schema):
    if isinstance(schema, dict):
        yield from [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        schema = list(schema.values())
    if isinstance(schema, list):
        for one in schema:
            yield from references(one)


def test_only_parameters_without_a_default_are_required(client):
    """BL-032: and null is no default of a type without null."""
    tools = {tool["name"]: tool["inputSchema"] for tool in client.modern("tools/list").result["tools"]}
    assert "required" not in tools["types"]
    assert tools["invalid"]["required"] == ["how"]
    for name, schema in tools["types"]["properties"].items():
        allows_null = {"type": "null"} in schema.get("anyOf", [])
        assert (schema.get("default", "absent") is None) is allows_null, name


NULLS = dict.fromkeys(("word", "numbers", "home", "work", "tree", "key", "day", "counts"))
GIVEN = {
    "word": "x",
    "numbers": [1],
    "home": {"street": "a", "size": "l"},
    "work": {"street": "b"},
    "tree": {"name": "r", "kids": [{"name": "k"}]},
    "mode": "b",
    "size": "l",
    "key": "00000000-0000-0000-0000-000000000007",
    "price": "2.50",
    "day": "2026-07-28",
    "counts": {"a": 1},
    "few": 3,
}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "[None, None, None, None, None, 'a', 's', None, Decimal('1.10'), None, None, 1]"),
        (NULLS, "[None, None, None, None, None, 'a', 's', None, Decimal('1.10'), None, None, 1]"),
        (
            GIVEN,
            "['x', [1], Place(street='a', size=Size.LARGE), Place(street='b', size=Size.SMALL), "
            "Branch(name='r', kids=[Branch(name='k', kids=[])]), 'b', 'l', "
            "UUID('00000000-0000-0000-0000-000000000007'), Decimal('2.50'), datetime.date(2026, 7, 28), {'a': 1}, 3]",
        ),
    ],
)
def test_absent_null_and_given_arguments_of_every_type(client, era, arguments, text):
    """BL-032."""
    assert text_of(client.call_tool(era, "types", arguments)) == text


def test_odd_names_leave_the_rest_of_the_list_alone(client, era):
    """BL-033: what the strict clients refuse was asked for; what is made by us fits them."""
    names = [tool["name"] for tool in client.call(era, "tools/list").result["tools"]]
    assert {"shop.list", "a" * 65, "echo_late"} & set(names) == {"shop.list", "a" * 65}
    assert text_of(client.call_tool(era, "shop.list")) == "dotted"
    assert text_of(client.call_tool(era, "a" * 65)) == "long"


def test_names_that_differ_in_case_are_two(client, era):
    """BL-035, TOOL-06: each is called by its own."""
    names = [tool["name"] for tool in client.call(era, "tools/list").result["tools"]]
    assert len(names) == len(set(names))
    assert text_of(client.call_tool(era, "create_item")) == "small"
    assert text_of(client.call_tool(era, "Create_Item")) == "large"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("text", ["\ud800x", "\udcaf", "\U0001f600"])
def test_lone_surrogates_pass_in_both_kinds_of_answer(client, era, accept, text):
    """BL-036."""
    client.headers["Accept"] = accept
    assert text_of(client.call_tool(era, "late_echo", {"text": text})) == text
    assert text_of(client.call_tool(era, "odd_text")) == "\udcff"
    assert text_of(client.call_tool(era, "late_echo", {"text": "next"})) == "next"


def test_an_empty_object_keeps_its_shape(client, era):
    """BL-038."""
    result = client.call_tool(era, "nothing_inside")
    assert text_of(result) == "{}"
    assert result.get("structuredContent", {}) == {}


def test_a_list_without_members_is_an_empty_list(door, era):
    """BL-038, BL-043: all that there is may be hidden from this caller."""
    result = WireClient(door, path="/bare").call(era, "tools/list").result
    assert result["tools"] == []
    assert "nextCursor" not in result


@pytest.mark.parametrize("era", ["modern", "2025-11-25", "2025-03-26"])
@pytest.mark.parametrize(("kind", "is_right"), [("right", True), ("wrong", False), ("none", False)])
def test_an_output_that_does_not_fit_is_caught_and_logged(client, era, kind, is_right, caplog):
    """BL-062: old clients, which read text alone, get the text in any case."""
    result = client.call_tool(era, "movie", {"kind": kind})
    assert result.get("isError", False) is not is_right
    if is_right:
        assert json.loads(text_of(result)) == {"title": "Alien", "year": 1979}
        knows_structure = era not in ("2024-11-05", "2025-03-26")
        assert result.get("structuredContent") == (json.loads(text_of(result)) if knows_structure else None)
    else:
        assert "output schema" in text_of(result)
        assert "structuredContent" not in result
        assert "movie" in caplog.text


@pytest.mark.parametrize("name", ["no_movie", "declared"])
@pytest.mark.parametrize("raises", [True, False])
def test_an_error_result_is_not_measured_by_the_output_schema(client, era, name, raises):
    """BL-063: raised, or returned as an explicit error result."""
    result = client.call_tool(era, name, {"raises": raises})
    assert (text_of(result), result["isError"]) == ("not found", True)
    assert "structuredContent" not in result


def test_arguments_the_schema_does_not_know_are_refused_unless_it_is_open(client, era):
    """BL-064."""
    with override_settings(ROOT_URLCONF="tests.urls"):
        result = client.call_tool(era, "search", {"q": "x", "limitt": 1})
    assert (result["isError"], "limitt" in text_of(result)) == (True, True)
    client.version = None
    assert text_of(client.call_tool(era, "anything", {"q": "x", "more": 1})) == "{'q': 'x', 'more': 1}"


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [("absent", True), (None, True), ({}, True), ([], False), ("{}", False), (5, False)],
)
def test_arguments_of_a_prompt_without_any(client, era, arguments, runs):
    """BL-065."""
    params = {"name": "my_prompt"} if arguments == "absent" else {"name": "my_prompt", "arguments": arguments}
    answer = client.call(era, "prompts/get", params)
    assert ("result" in answer.json) is runs
    if not runs:
        assert answer.error["code"] == -32602


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("django", "email: Not an address."),
        ("rest", "email: Not an address."),
        ("rest nested", "lines[1].email: Not an address."),
        ("rest text", "Not an address for email."),
    ],
)
def test_a_refusal_by_django_or_rest_framework_names_the_field(client, era, how, text):
    """BL-066."""
    result = client.call_tool(era, "invalid", {"how": how})
    assert (result["isError"], text_of(result)) == (True, text)


def test_other_shapes_of_a_rest_framework_refusal():
    assert SERVICES.errors.public_text(RestValidationError([["One."], ["Two."]])) == "[0]: One.\n[1]: Two."
    assert SERVICES.errors.public_text(RestValidationError({"a": "One."})) == "a: One."
    assert SERVICES.errors.public_text(ValidationError("One.")) == "One."


def test_debugging_shows_no_more_of_a_crash(client, era):
    """BL-067: and the error meant for the model stays as it is."""
    with override_settings(DEBUG=True, ROOT_URLCONF="tests.urls"):
        assert text_of(client.call_tool(era, "fail")) == "try later"
        assert "secret" not in str(client.call_tool(era, "boom"))


def test_a_null_cursor_is_the_first_page(client, era):
    """BL-074."""
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        whole = client.call(era, method).result
        assert client.call(era, method, {"cursor": None}).result == whole


def without_tools():
    for name in list(bugs.registry.tools):
        bugs.registry.unregister(Kind.TOOL, name)


def numbered_tools(count):
    for number in range(count):
        bugs.register(ToolDefinition.from_function(_nothing, name=f"tool_{number}"))


def _nothing() -> None:
    """Never called."""


def pages_of(client, era, between=lambda: None):
    pages, params = [], {}
    while not pages or params:
        result = client.call(era, "tools/list", params).result
        pages.append([tool["name"] for tool in result["tools"]])
        assert result.get("nextCursor", "absent")
        params = {"cursor": result["nextCursor"]} if "nextCursor" in result else {}
        between()
    return pages


@pytest.mark.parametrize(("count", "sizes"), [(7, [3, 3, 1]), (6, [3, 3]), (3, [3]), (1, [1])])
def test_pages_end_and_cover_the_set(client, era, count, sizes):
    """BL-075, PAG-02: the last page has no cursor, also where it is full."""
    with bugs.registry.override(), override_settings(DJANGO_MCP={**OPEN, "PAGE_SIZE": 3}):
        without_tools()
        numbered_tools(count)
        pages = pages_of(client, era)
    assert [len(page) for page in pages] == sizes
    assert [name for page in pages for name in page] == [f"tool_{number}" for number in range(count)]


def test_a_tool_that_comes_between_two_pages_repeats_none(client, era):
    """BL-075, PAG-03."""
    with bugs.registry.override(), override_settings(DJANGO_MCP={**OPEN, "PAGE_SIZE": 3}):
        without_tools()
        numbered_tools(7)
        pages = pages_of(client, era, lambda: numbered_tools(8))
    assert [name for page in pages for name in page] == [f"tool_{number}" for number in range(8)]


@pytest.mark.parametrize("uri", ["not a uri", "", "note://%zz", "note://a%2", "://x", "5", "note"])
def test_what_is_no_uri_is_invalid_params_in_both_eras(client, era, uri):
    """BL-076, BL-077, RES-13."""
    answer = client.call(era, "resources/read", {"uri": uri})
    assert (answer.error["code"], answer.error["data"]) == (-32602, {"uri": uri})
    assert answer.status == (400 if era == "modern" else 200)


def test_variables_arrive_decoded_once(client, era):
    """W15, BL-077, RES-19."""
    for uri, text in (("note://hello%20world", "note hello world"), ("note://a%2525", "note a%25")):
        assert client.call(era, "resources/read", {"uri": uri}).result["contents"][0]["text"] == text


def test_an_empty_text_is_a_value_for_a_required_prompt_argument(client, era):
    """BL-079: what is missing, unknown or no string is named; the empty string is none of these."""
    with override_settings(ROOT_URLCONF="tests.urls"):
        get = {"name": "greet", "arguments": {"name": ""}}
        assert client.call(era, "prompts/get", get).result["messages"]
        for arguments in ({}, {"name": 5}, {"name": "x", "nam": "y"}):
            answer = client.call(era, "prompts/get", {"name": "greet", "arguments": arguments})
            assert answer.error["code"] == -32602
            assert "nam" in answer.error["message"]
        assert "nope" in client.call(era, "prompts/get", {"name": "nope"}).error["message"]


@pytest.mark.parametrize(("name", "text"), [("to_async", "0"), ("to_sync", "0"), ("own_block", "inside")])
def test_tools_may_cross_the_bridge_themselves(client, era, name, text):
    """BL-086."""
    assert text_of(client.call_tool(era, name)) == text


def test_supported_versions_are_exactly_what_works(client):
    """VER-01, BL-039, VER-14: each is served by its own era's rules, and a refusal lists the same set."""
    supported = client.modern("server/discover").result["supportedVersions"]
    for version in supported:
        if version == MODERN:
            assert client.modern("tools/list").result["resultType"] == "complete"
        else:
            assert client.initialize(version).result["protocolVersion"] == version
            assert "resultType" not in client.legacy("tools/list").result
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    refused = client.modern("tools/list", meta=meta, headers={"MCP-Protocol-Version": "2031-01-01"})
    assert refused.error["data"]["supported"] == supported
