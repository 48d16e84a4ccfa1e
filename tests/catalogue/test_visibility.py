"""``visible``: whoever may not see a primitive gets the bytes that everybody gets for one that is not there."""

from dataclasses import dataclass

import pytest

from django_mcp import InvalidPrimitive
from django_mcp.primitives.tools import ToolDefinition


def is_staff(context):
    return context.user.is_staff


async def ais_staff(context):
    return context.user.is_staff


def text() -> str:
    """Say something."""
    return "text"


def of(number: str) -> str:
    """Say something about a number."""
    return number


def offer(server, visible, suffix=""):
    """One of each kind, and one more of each that everybody sees."""
    server.tool(name=f"tool{suffix}", visible=visible)(text)
    server.prompt(name=f"prompt{suffix}", visible=visible, complete={"number": ["1"]})(of)
    server.resource(f"thing://one{suffix}", name=f"resource{suffix}", visible=visible)(text)
    server.resource_template(
        f"thing://many{suffix}/{{number}}", name=f"template{suffix}", visible=visible, complete={"number": ["1"]}
    )(of)


LISTS = ("tools", "prompts", "resources", "resources/templates")
TARGETS = {
    "tools/call": lambda key: {"name": f"tool{key}"},
    "prompts/get": lambda key: {"name": f"prompt{key}", "arguments": {"number": "1"}},
    "resources/read": lambda key: {"uri": f"thing://one{key}"},
    "resources/read ": lambda key: {"uri": f"thing://many{key}/1"},
    "completion/complete": lambda key: {
        "ref": {"type": "ref/prompt", "name": f"prompt{key}"},
        "argument": {"name": "number", "value": ""},
    },
    "completion/complete ": lambda key: {
        "ref": {"type": "ref/resource", "uri": f"thing://many{key}/{{number}}"},
        "argument": {"name": "number", "value": ""},
    },
    "completion/complete  ": lambda key: {
        "ref": {"type": "ref/resource", "uri": f"thing://many{key}/1"},
        "argument": {"name": "number", "value": ""},
    },
}


def names(client, era, kind):
    result = client.call(era, f"{kind}/list").result
    [items] = [value for value in result.values() if isinstance(value, list)]
    return [item["name"] for item in items]


@pytest.mark.parametrize("visible", [is_staff, ais_staff], ids=["sync", "async"])
def test_only_those_who_may_see_it_find_it_in_lists(server, client, caller, staff, era, visible):
    """S84: lists differ by user without a server for each."""
    offer(server, visible)
    offer(server, None, "-open")
    assert [names(client, era, kind) for kind in LISTS] == [
        ["tool-open"],
        ["prompt-open"],
        ["resource-open"],
        ["template-open"],
    ]
    caller.user, client.version = staff, None
    assert [len(names(client, era, kind)) for kind in LISTS] == [2, 2, 2, 2]


@pytest.mark.parametrize("method", TARGETS)
def test_what_is_hidden_is_answered_as_unknown_with_the_same_bytes(server, client, caller, staff, era, method):
    """RES-15, CMP-07, CACHE-05: reading, running and completing ask as lists do."""
    offer(server, is_staff, "-aa")
    offer(server, None, "-open")
    params = TARGETS[method]
    client.call(era, "tools/list")
    hidden, unknown = (_bytes(client, era, method.strip(), params(key)) for key in ("-aa", "-bb"))
    assert b'"error"' in hidden
    assert hidden == unknown.replace(b"-bb", b"-aa")
    caller.user, client.version = staff, None
    assert "result" in client.call(era, method.strip(), params("-aa")).json


def _bytes(client, era, method, params):
    send = client.modern if era == "modern" else client.legacy
    return send(method, params, id=1).body


def test_a_hidden_resource_hides_what_is_behind_it(server, client):
    """An exact URI keeps its template from answering, whoever asks."""
    server.resource("thing://many/1", visible=is_staff)(text)
    server.resource_template("thing://many/{number}")(of)
    assert client.modern("resources/read", {"uri": "thing://many/1"}).error["code"] == -32602
    assert "result" in client.modern("resources/read", {"uri": "thing://many/2"}).json


def test_who_may_not_use_it_is_not_asked_whether_it_is_shown(server, client, caller, staff):
    asked = []
    server.tool(permission=is_staff, visible=asked.append)(text)
    server.tool(of)
    assert names(client, "modern", "tools") == ["of"]
    assert asked == []
    caller.user = staff
    assert names(client, "modern", "tools") == ["of"]
    assert len(asked) == 1


def test_a_condition_is_asked_once_a_list(server, client):
    asked = []

    def seen(context):
        asked.append(context.user)
        return True

    for number in range(5):
        server.tool(name=f"tool{number}", visible=seen)(text)
    assert len(names(client, "modern", "tools")) == 5
    assert len(asked) == 1


@dataclass
class Plan:
    """As a dataclass it can be compared, so it has no hash."""

    name: str

    def __call__(self, context):
        return self.name == "gold"


@pytest.mark.parametrize("option", ["permission", "visible"])
def test_a_condition_need_not_have_a_hash(server, client, option):
    for name in ("gold", "tin"):
        server.tool(name=name, **{option: Plan(name)})(text)
    assert names(client, "modern", "tools") == ["gold"]


class Undecided:
    def __bool__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "broken", [lambda context: 1 / 0, None, lambda context: Undecided()], ids=["sync", "async", "answer"]
)
def test_a_condition_that_fails_hides(server, client, caplog, broken):
    async def abroken(context):
        raise ZeroDivisionError

    server.tool(visible=broken or abroken)(text)
    server.tool(of)
    assert names(client, "modern", "tools") == ["of"]
    assert "counts as refused" in caplog.text


class Clueless:
    """Its signature cannot be read."""

    __signature__ = "none"

    def __call__(self, context):
        return False


def test_a_condition_that_python_cannot_describe_is_taken(server, client):
    server.tool(visible=Clueless())(text)
    server.tool(of)
    assert names(client, "modern", "tools") == ["of"]


@pytest.mark.parametrize(
    "visible",
    [True, "auth.view_user", lambda: True, lambda context, user: True],
    ids=["flag", "permission", "takes nothing", "takes two"],
)
def test_another_value_is_refused(visible):
    with pytest.raises(InvalidPrimitive) as caught:
        ToolDefinition.from_function(text, visible=visible)
    assert str(caught.value) == (
        f"tests.catalogue.test_visibility.text was given visible={visible!r}. It is a function of the context that "
        "says whether the caller may know of it: write visible=lambda context: context.user.is_staff."
    )
