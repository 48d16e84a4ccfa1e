"""``list_resources``: the resources that a template lists for each caller."""

import base64
import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_mcp import CacheHint, Context, InvalidPrimitive, ResourceLink, ResourceRows, ToolError
from django_mcp.primitives.resources import ResourceTemplateDefinition
from tests.catalogue.queries import selects


@pytest.fixture(autouse=True)
def users(db):
    return [User.objects.create(username=name) for name in ("ann", "bob", "cid", "dan", "eve")]


def user(username: str) -> str:
    """One user."""
    return username


def list_users(server, rows=None, *, template="user://{username}", **options):
    server.resource_template(template, **options, list_resources=rows or (lambda: User.objects.order_by("username")))(
        user
    )


def page(client, cursor=None, era="modern"):
    result = client.call(era, "resources/list", {} if cursor is None else {"cursor": cursor}).result
    return [entry["uri"] for entry in result["resources"]], result.get("nextCursor")


def pages(client):
    found, cursor = [], None
    while not found or cursor is not None:
        uris, cursor = page(client, cursor)
        found.append(uris)
    return found


def test_rows_become_resources_by_their_template(server, client, era):
    """S106, RES-02."""
    list_users(server, mime_type="text/plain")
    result = client.call(era, "resources/list").result
    assert result["resources"][0] == {"uri": "user://ann", "name": "ann", "mimeType": "text/plain"}
    assert len(result["resources"]) == 5
    assert "nextCursor" not in result
    for entry in result["resources"]:
        assert "result" in client.call(era, "resources/read", {"uri": entry["uri"]}).json


def test_registered_ones_come_first_and_pages_go_through_all(server, client):
    """S95, PAG-01, PAG-02, BL-075."""
    server.page_size = 2
    for name in ("a", "b", "c"):
        server.resource(f"static://{name}")(lambda: "")
    list_users(server)
    list_users(server, lambda: User.objects.filter(username__lt="c"), template="again://{username}")
    assert pages(client) == [
        ["static://a", "static://b"],
        ["static://c", "user://ann"],
        ["user://bob", "user://cid"],
        ["user://dan", "user://eve"],
        ["again://ann", "again://bob"],
    ]


def test_a_page_costs_one_query_and_no_offset(server, client):
    server.page_size = 2
    list_users(server)
    _uris, cursor = page(client)
    with CaptureQueriesContext(connection) as captured:
        assert page(client, cursor)[0] == ["user://cid", "user://dan"]
    [query] = selects(captured)
    assert "OFFSET" not in query


def test_rows_that_are_added_meanwhile_shift_nothing(server, client):
    """PAG-03, PAG-05, BL-075, X22."""
    server.page_size = 2
    list_users(server)
    _uris, cursor = page(client)
    User.objects.create(username="aaa")
    assert page(client, cursor)[0] == ["user://cid", "user://dan"]


def test_a_cursor_does_not_tell_what_the_rows_are_ordered_by(server, client):
    """PAG-05: the values need not be among the fields that clients see."""
    server.page_size = 2
    User.objects.update(last_name="private-score")
    list_users(server, lambda: User.objects.order_by("last_name"))
    _, cursor = page(client)
    for part in re.split(r"[^\w-]", cursor):
        assert b"private" not in base64.urlsafe_b64decode(part + "==")
    assert len([uri for uris in pages(client) for uri in uris]) == 5


def test_without_a_page_size_rows_are_sent_by_the_hundred(server, client):
    list_users(server)
    User.objects.bulk_create(User(username=f"user{number:03}") for number in range(200))
    assert [len(uris) for uris in pages(client)] == [100, 100, 5]


def test_a_resource_of_its_own_is_listed_once(server, client):
    server.resource("user://bob", title="Robert")(lambda: "")
    list_users(server)
    server.page_size = 3
    assert pages(client) == [["user://bob", "user://ann", "user://cid"], ["user://dan", "user://eve"]]


@pytest.mark.parametrize("option", ["permission", "visible"])
def test_who_may_not_see_the_template_gets_none_of_its_resources(server, client, caller, staff, option):
    """RES-03, RES-15, CACHE-07: and nobody may share what others get."""
    server.cache = CacheHint(scope="public")
    server.resource("static://a")(lambda: "")
    list_users(server, **{option: lambda context: context.user.is_staff})
    assert page(client) == (["static://a"], None)
    assert client.modern("resources/list").result["cacheScope"] == "private"
    caller.user = staff
    assert len(page(client)[0]) == 7


def test_rows_may_depend_on_the_caller(server, client, caller, users):
    """S84."""

    async def own(context: Context):
        return User.objects.filter(pk=context.user.pk)

    list_users(server, own)
    assert page(client) == ([], None)
    caller.user = users[1]
    assert page(client) == (["user://bob"], None)


def test_a_cursor_of_a_list_that_is_hidden_now_is_refused(server, client):
    """PAG-03, PAG-05."""
    server.page_size = 1
    seen = [True]
    list_users(server, visible=lambda context: seen[0])
    _uris, cursor = page(client)
    seen.clear()
    seen.append(False)
    assert client.modern("resources/list", {"cursor": cursor}).error["code"] == -32602


def test_a_list_may_hold_links_dicts_and_objects(server, client, era, users):
    """S95."""

    def mixed():
        yield ResourceLink(uri="other:a", name="a", title="A", description="First.", size=1, meta={"a/b": 1})
        yield {"username": "b", "name": "B", "description": "Second.", "other": "ignored"}
        yield {"username": "ü c"}
        yield users[0]

    list_users(server, mixed)
    shown = client.call(era, "resources/list").result["resources"]
    assert shown == [
        {"uri": "other:a", "name": "a", "title": "A", "description": "First.", "size": 1, "_meta": {"a/b": 1}},
        {"uri": "user://b", "name": "B", "description": "Second."},
        {"uri": "user://%C3%BC%20c", "name": "user://%C3%BC%20c"},
        {"uri": "user://ann", "name": "ann"},
    ]


@pytest.mark.parametrize("era", ["2024-11-05"])
def test_old_revisions_see_what_they_know(server, client, era):
    list_users(server, lambda: [ResourceLink(uri="other:a", name="a", title="A", meta={"a/b": 1})])
    assert client.call(era, "resources/list").result["resources"] == [{"uri": "other:a", "name": "a"}]


def test_a_list_goes_on_after_its_last_uri(server, client):
    """S127, S128."""
    server.page_size = 2
    names = ["a", "b", "c"]
    list_users(server, lambda: [{"username": name} for name in names])
    assert pages(client) == [["user://a", "user://b"], ["user://c"]]
    _uris, cursor = page(client)
    names.insert(0, "new")
    assert page(client, cursor)[0] == ["user://c"]
    names.remove("b")
    assert client.modern("resources/list", {"cursor": cursor}).error["message"] == "cursor is invalid or expired"


def test_rows_may_be_given_a_link(server, client):
    rows = ResourceRows(
        User.objects.order_by("-username"), lambda row: {"username": row.username.upper(), "title": f"User {row}"}
    )
    list_users(server, lambda: rows)
    [first, *_rest] = client.modern("resources/list").result["resources"]
    assert first == {"uri": "user://EVE", "name": "user://EVE", "title": "User eve"}


@pytest.mark.parametrize(
    ("returned", "logged"),
    [
        (None, "a value of type NoneType. It returns a QuerySet, a list or ResourceRows"),
        ("text", "a value of type str."),
        ({"username": "a"}, "a value of type dict."),
        ([object()], "a row of type object without username. Return ResourceRows(rows, link="),
        ([{"user": "a"}], "a row of type dict without username."),
        ([{"username": ".."}], "a row of type dict whose URI would be another resource's or none."),
        ([{"username": None}], "a row of type dict whose URI would be another resource's or none."),
    ],
    ids=["nothing", "text", "dict", "object", "other dict", "path", "no value"],
)
def test_what_cannot_be_listed_is_told_in_the_log(server, client, caplog, returned, logged):
    list_users(server, lambda: returned)
    assert client.modern("resources/list").error == {"code": -32603, "message": "Internal error"}
    assert f"list_resources of user://{{username}} returned {logged}" in caplog.text


def test_a_list_may_fail_with_a_public_word(server, client, era):
    def closed():
        raise ToolError("The archive is closed.")

    list_users(server, closed)
    assert client.call(era, "resources/list").error == {"code": -32603, "message": "The archive is closed."}


class Rows:
    """A class is no function."""


async def agenerated(context):
    yield context  # pragma: no cover - it is refused before it could run


@pytest.mark.parametrize("function", [User.objects, [1], Rows, agenerated], ids=["manager", "list", "class", "async"])
def test_what_is_no_function_is_refused(function):
    with pytest.raises(InvalidPrimitive) as caught:
        ResourceTemplateDefinition.from_function(user, uri_template="user://{username}", list_resources=function)
    assert str(caught.value) == (
        f"tests.catalogue.test_dynamic_lists.user was given list_resources={function!r}. It is a function of the "
        "context that returns a QuerySet or a list: write list_resources=lambda context: "
        "Ticket.objects.filter(owner=context.user)."
    )


def by_name(name: str):
    """Takes what nobody gives."""


def test_a_function_of_more_than_the_context_is_refused():
    with pytest.raises(InvalidPrimitive) as caught:
        ResourceTemplateDefinition.from_function(user, uri_template="user://{username}", list_resources=by_name)
    assert str(caught.value) == (
        "tests.catalogue.test_dynamic_lists.user was given list_resources=tests.catalogue.test_dynamic_lists.by_name, "
        "which takes name. It is called with the context, if it takes one, and nothing else: write def "
        "function(context)."
    )
