"""Pages of registered primitives, and who may keep them."""

import sys

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings
from django.utils.translation import gettext_lazy as _

from django_mcp import CacheHint, Icon, ToolAnnotations
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.pagination import encode_cursor
from django_mcp.testing import AsyncMCPClient, MCPClient

PUBLIC = CacheHint(ttl_ms=1000, scope="public")
KINDS = ("tools", "prompts", "resources", "resources/templates")


def text() -> str:
    return "text"


def of(number: str) -> None: ...


def add_tools(server, *numbers, **options):
    for number in numbers:
        server.tool(name=f"tool{number}", **options)(text)


def page(client, cursor=None):
    """The names on a page, and the cursor of the next one."""
    result = client.modern("tools/list", {} if cursor is None else {"cursor": cursor}).result
    return [tool["name"] for tool in result["tools"]], result.get("nextCursor")


def follow(client):
    pages, cursor = [], None
    while not pages or cursor is not None:
        shown, cursor = page(client, cursor)
        pages.append(shown)
    return pages


@pytest.mark.parametrize(("count", "sizes"), [(7, [3, 3, 1]), (6, [3, 3]), (3, [3]), (2, [2])])
def test_pages_cover_the_list_once(server, client, count, sizes):
    """PAG-02, BL-075, S126, S127."""
    server.page_size = 3
    add_tools(server, *range(count))
    pages = follow(client)
    assert [len(names) for names in pages] == sizes
    assert [name for names in pages for name in names] == list(server.registry.tools)


def test_a_page_skips_what_the_caller_may_not_see(server, client):
    """PAG-01: pages are full however much of the list is hidden."""
    server.page_size = 2
    add_tools(server, 0, 1, 2, visible=lambda context: False)
    add_tools(server, 3, 4)
    add_tools(server, 5, visible=lambda context: False)
    add_tools(server, 6)
    assert follow(client) == [["tool3", "tool4"], ["tool6"]]


def test_without_a_size_a_cursor_still_goes_on(server, client):
    server.page_size = 1
    add_tools(server, 1, 2, 3)
    _names, cursor = page(client)
    server.page_size = None
    assert page(client, cursor) == (["tool2", "tool3"], None)


def test_what_is_added_or_hidden_between_pages_shifts_nothing(server, client):
    """PAG-03, BL-075, X22."""
    shown = {"tool1", "tool2", "tool3"}
    server.page_size = 1
    for number in (1, 2, 3):
        server.tool(name=f"tool{number}", visible=lambda context, name=f"tool{number}": name in shown)(text)
    _names, cursor = page(client)
    shown.remove("tool1")
    add_tools(server, 4)
    assert page(client, cursor)[0] == ["tool2"]


def test_a_cursor_whose_entry_is_gone_is_refused(server, client):
    """PAG-03, S128."""
    server.page_size = 1
    add_tools(server, 1, 2)
    with server.registry.override():
        add_tools(server, 3, 4)
        cursor = page(client, page(client, page(client)[1])[1])[1]
    assert client.modern("tools/list", {"cursor": cursor}).error["message"] == "cursor is invalid or expired"


@pytest.mark.parametrize("text", ["tool1", "5", "[1]", '["", 1]', '["other", "tool1"]'])
def test_a_cursor_that_another_version_signed_is_refused(server, client, text):
    """PAG-03: such as one from before a deployment."""
    add_tools(server, 1)
    cursor = encode_cursor(server.services.sealer, "tools/list", "anonymous", text)
    assert client.modern("tools/list", {"cursor": cursor}).error["message"] == "cursor is invalid or expired"


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_has_pages(server, client, era, kind):
    """S129."""
    server.page_size = 1
    for number in (1, 2):
        server.tool(name=f"{number}")(text)
        server.prompt(name=f"{number}")(text)
        server.resource(f"a:{number}")(text)
        server.resource_template(f"b{number}:{{number}}")(of)
    cursor = client.call(era, f"{kind}/list").result["nextCursor"]
    assert "nextCursor" not in client.call(era, f"{kind}/list", {"cursor": cursor}).result


def test_a_page_of_many_tools_looks_at_no_more_than_itself(server, client, monkeypatch):
    server.page_size = 10
    add_tools(server, *range(200))
    cursor = page(client)[1]
    written = []
    to_wire = ToolDefinition.to_wire

    def counted(tool, revision):
        written.append(tool)
        return to_wire(tool, revision)

    monkeypatch.setattr(ToolDefinition, "to_wire", counted)
    page(client, cursor)
    assert len(written) == 10  # the first of them was looked at to see whether there is a second page


def test_a_registration_is_listed_at_once(server, client):
    add_tools(server, 1)
    assert page(client)[0] == ["tool1"]
    add_tools(server, 2)
    assert page(client)[0] == ["tool1", "tool2"]


def scope(client, method="tools/list", **params):
    result = client.modern(method, params).result
    assert result["ttlMs"] == 1000
    return result["cacheScope"]


def test_a_list_that_is_the_same_for_all_may_be_public(server, client):
    """CACHE-01, CACHE-04, S130."""
    server.cache = PUBLIC
    add_tools(server, 1)
    assert scope(client) == "public"
    assert scope(client, "server/discover") == "public"


def test_a_list_that_depends_on_the_caller_is_private_on_every_page(server, client):
    """CACHE-03, CACHE-07, PAG-06, BL-043."""
    server.cache, server.page_size = PUBLIC, 1
    add_tools(server, 1, 2)
    add_tools(server, 3, visible=lambda context: False)
    _names, cursor = page(client)
    assert (scope(client), scope(client, cursor=cursor)) == ("private", "private")


@pytest.mark.parametrize("options", [{"title": _("Yes")}, {"description": _("Yes")}, {"meta": {"a": [_("Yes")]}}])
def test_a_list_that_depends_on_the_language_is_private(server, client, options):
    """CACHE-04, BL-022."""
    server.cache = PUBLIC
    add_tools(server, 1, **options)
    assert scope(client) == "private"
    with override_settings(LANGUAGES=[("en", "English")]):
        assert scope(client) == "public"
    with override_settings(USE_I18N=False):
        assert scope(client) == "public"


def test_translated_instructions_are_private(server, client):
    """CACHE-04."""
    server.cache = PUBLIC
    server.instructions = _("Yes")
    add_tools(server, 1)
    assert (scope(client, "server/discover"), scope(client)) == ("private", "public")


@pytest.mark.parametrize("path_params", [{"tenant": "a"}])
def test_lists_below_a_path_with_parameters_are_private(server, client):
    """CACHE-04: what the path names may decide what is there."""
    server.cache = PUBLIC
    add_tools(server, 1)
    assert (scope(client), scope(client, "server/discover")) == ("private", "private")


@pytest.mark.parametrize(
    ("options", "function", "expected"),
    [
        ({}, text, "public"),
        ({"visible": lambda context: True}, text, "private"),
        ({}, lambda context: "text", "private"),
        ({"visible": lambda context: True, "cache": PUBLIC}, text, "public"),
    ],
    ids=["plain", "guarded", "by the caller", "by its own word"],
)
def test_contents_that_may_depend_on_the_caller_are_private(server, client, options, function, expected):
    """CACHE-04, RES-04, S131: unless the resource says otherwise itself."""
    server.cache = PUBLIC
    server.resource("a:b", name="a", **options)(function)
    assert scope(client, "resources/read", uri="a:b") == expected


def test_an_icon_of_the_site_has_the_address_that_each_client_asked(server, client):
    """ICON-03: what is put together once is not what the first client saw."""
    add_tools(server, 0, icons=[Icon("/static/tool.png")])
    hosts = ("one.example", "two.example")
    with override_settings(ALLOWED_HOSTS=hosts):
        listed = [client.modern("tools/list", headers={"Host": host}).result["tools"][0] for host in hosts]
    assert [tool["icons"][0]["src"].split("/")[2] for tool in listed] == list(hosts)


@pytest.mark.parametrize(
    "options",
    [
        {"annotations": ToolAnnotations(title=_("Yes"))},
        {"output_schema": {"type": "string", "description": _("Yes")}},
        {"description": _("Yes")},
    ],
)
def test_a_text_that_is_translated_is_asked_for_each_client(server, client, options):
    """CACHE-04."""
    add_tools(server, 0, **options)
    said = [
        client.modern("tools/list", headers={"Accept-Language": language}).result for language in ("en", "de", "en")
    ]
    assert said[0] == said[2] != said[1]


def calls_of_a_page(server, count):
    """How many functions run at least for the second page of ten when the catalogue has this many tools."""
    server.page_size = 10
    add_tools(server, *range(len(server.registry.tools), count))
    cursor = MCPClient(server=server).request("tools/list")["nextCursor"]
    called = 0

    def count_call(frame, event, argument):
        nonlocal called
        called += event == "call"  # pragma: no cover - whoever is called for calls is not looked at

    async def ask(client):
        nonlocal called
        called = 0
        sys.setprofile(count_call)
        try:
            reply = await client.request("tools/list", {"cursor": cursor})
        finally:
            sys.setprofile(None)
        assert len(reply["tools"]) == 10
        return called

    async def ask_often():
        # The first makes what is made once, and into any of them something else may come, as a look at the switches.
        client = AsyncMCPClient(server=server)
        return min([await ask(client) for _ in range(6)])

    return async_to_sync(ask_often)()


def test_a_page_takes_no_more_work_of_a_large_catalogue(server):
    small = calls_of_a_page(server, 40)
    assert calls_of_a_page(server, 1000) < small + 100
