"""Classes, decorators and ``define_*`` give the same primitives: same options, same checks, same answers."""

import asyncio
import inspect
from abc import ABC, abstractmethod
from types import SimpleNamespace
from typing import Any, cast

import pytest

from django_mcp import (
    AlreadyRegistered,
    Context,
    InvalidPrimitive,
    MCPServer,
    Prompt,
    Resource,
    ResourceNotFound,
    ResourceTemplate,
    Tool,
    ToolAnnotations,
    Toolset,
)
from django_mcp.protocol.versions import Revision
from django_mcp.server.classes import BASES, OF_ONE_TOOL
from django_mcp.servers import _servers
from tests.wire.client import WireClient
from tests.wire.doors import consumer

READS = ToolAnnotations(read_only_hint=True)


@pytest.fixture
def server(monkeypatch):
    fresh = MCPServer("styles")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["styles"]


@pytest.fixture
def client(server):
    return WireClient(consumer())


class FindTickets(Tool):
    """Find tickets."""

    title = "Find"
    annotations = READS
    timeout = 5

    def call(self, text: str, limit: int = 20) -> list[str]:
        """Not this.

        Args:
            text: Words of it.
        """
        return [f"{text} {limit} for {self.context.user}"]


class Triage(Prompt):
    """Sort a ticket."""

    complete = {"queue": ["bikes", "bills"]}

    async def get(self, queue: str) -> str:
        return f"Which of {queue}? asks {self.context.user}"


class Hours(Resource):
    """When we are there."""

    uri = "help://hours"
    mime_type = "text/markdown"

    def read(self, context: Context) -> str:
        assert context is self.context
        return "9 to 5"


class Ticket(ResourceTemplate):
    """A ticket."""

    uri_template = "ticket://{pk}"

    def read(self, pk: int) -> str:
        if pk > 9:
            raise ResourceNotFound
        return f"no. {pk + 1}"


def find_tickets(context: Context, text: str, limit: int = 20) -> list[str]:
    """Find tickets.

    Args:
        text: Words of it.
    """
    return [f"{text} {limit} for {context.user}"]


async def triage(context: Context, queue: str) -> str:
    """Sort a ticket."""
    return f"Which of {queue}? asks {context.user}"


def hours() -> str:
    """When we are there."""
    return "9 to 5"


def ticket(pk: int) -> str:
    """A ticket."""
    if pk > 9:
        raise ResourceNotFound
    return f"no. {pk + 1}"


def by_class(server):
    assert [server.register(one) for one in (FindTickets, Triage, Hours, Ticket)] == [
        FindTickets,
        Triage,
        Hours,
        Ticket,
    ]


def by_decorator(server):
    assert server.tool(title="Find", annotations=READS, timeout=5)(find_tickets) is find_tickets
    server.prompt(complete={"queue": ["bikes", "bills"]})(triage)
    server.resource("help://hours", mime_type="text/markdown")(hours)
    server.resource_template("ticket://{pk}")(ticket)


def by_call(server):
    tool = server.define_tool(find_tickets, title="Find", annotations=READS, timeout=5)
    assert tool is server.registry.tools["find_tickets"]
    server.define_prompt(triage, complete={"queue": ["bikes", "bills"]})
    server.define_resource("help://hours", hours, mime_type="text/markdown")
    server.define_resource_template("ticket://{pk}", ticket)


STYLES = [by_class, by_decorator, by_call]


@pytest.mark.django_db
@pytest.mark.parametrize("style", STYLES)
def test_every_style_gives_the_same(style, server, client):
    """S85, S94, S54, S59, M12, X1, X3."""
    style(server)

    [tool] = client.modern("tools/list").result["tools"]
    assert (tool["name"], tool["title"]) == ("find_tickets", "Find")
    assert tool["description"] == "Find tickets."
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "Words of it."},
            "limit": {"type": "integer", "default": 20},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert tool["outputSchema"] == {"type": "array", "items": {"type": "string"}}
    assert tool["annotations"] == {"readOnlyHint": True}
    assert server.registry.tools["find_tickets"].timeout == 5
    [prompt] = client.modern("prompts/list").result["prompts"]
    assert prompt == {
        "name": "triage", "description": "Sort a ticket.", "arguments": [{"name": "queue", "required": True}]
    }  # fmt: skip
    [resource] = client.modern("resources/list").result["resources"]
    assert resource == {
        "uri": "help://hours", "name": "hours", "description": "When we are there.", "mimeType": "text/markdown"
    }  # fmt: skip
    [template] = client.modern("resources/templates/list").result["resourceTemplates"]
    assert template == {"uriTemplate": "ticket://{pk}", "name": "ticket", "description": "A ticket."}

    called = client.modern("tools/call", {"name": "find_tickets", "arguments": {"text": "wheel"}}).result
    assert called["structuredContent"] == ["wheel 20 for AnonymousUser"]
    got = client.modern("prompts/get", {"name": "triage", "arguments": {"queue": "bikes"}}).result
    assert got["messages"][0]["content"]["text"] == "Which of bikes? asks AnonymousUser"
    assert client.modern("resources/read", {"uri": "help://hours"}).result["contents"][0]["text"] == "9 to 5"
    assert client.modern("resources/read", {"uri": "ticket://4"}).result["contents"][0]["text"] == "no. 5"
    assert client.modern("resources/read", {"uri": "ticket://10"}).error["code"] == -32602
    reference = {"ref": {"type": "ref/prompt", "name": "triage"}, "argument": {"name": "queue", "value": "bi"}}
    assert client.modern("completion/complete", reference).result["completion"]["values"] == ["bikes", "bills"]


class Notes(Toolset):
    """What people wrote."""

    permission = None
    annotations = READS

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.seen: list[str] = []

    @Toolset.tool
    def remember(self, text: str) -> list[str]:
        """Remember a text."""
        self.seen.append(text)
        return self.seen

    @Toolset.tool(name="who", annotations=ToolAnnotations(open_world_hint=False))
    async def whoami(self) -> str:
        """Tell who asks."""
        return self._name()

    def _name(self) -> str:
        return str(self.context.user)


class Letters(Notes):
    async def whoami(self) -> str:
        """Tell it in a letter."""
        return f"Dear {self._name()}"

    remember = cast(Any, None)


@pytest.mark.django_db
def test_a_toolset_has_an_object_for_every_call(server, client):
    """BL-034."""
    server.register(Notes)

    listed = {tool["name"]: tool for tool in client.modern("tools/list").result["tools"]}
    assert list(listed) == ["remember", "who"]
    assert listed["remember"]["annotations"] == {"readOnlyHint": True}
    assert listed["who"]["annotations"] == {"openWorldHint": False}
    for text in ("one", "two"):
        result = client.modern("tools/call", {"name": "remember", "arguments": {"text": text}}).result
        assert result["structuredContent"] == [text]
    result = client.modern("tools/call", {"name": "who", "arguments": {}}).result
    assert result["content"][0]["text"] == "AnonymousUser"


def test_toolsets_are_told_apart_by_dotted_path(server):
    """S57, X6, BL-035: a refused class registers none of its tools and leaves the others as they were."""
    server.register(Notes)
    server.register(Notes)
    before = server.registry.snapshot()

    class Other(Toolset):
        @Toolset.tool
        def forget(self) -> None: ...

        @Toolset.tool
        def remember(self) -> None: ...

    path = "tests.server.test_styles"
    with pytest.raises(AlreadyRegistered, match=rf"{path}.Notes.remember \(.*\) and again by {path}.*Other.remember"):
        server.register(Other)
    assert server.registry.snapshot() is before
    assert server.define_tool(Other(cast(Any, None)).remember, name="later").name == "later"


def test_an_overridden_method_stays_a_tool_and_none_takes_it_away(server):
    """S58: options are inherited as attributes are."""
    server.register(Letters)

    assert asyncio.run(Letters(cast(Any, SimpleNamespace(user="Ann"))).whoami()) == "Dear Ann"
    [tool] = server.registry.tools.values()
    assert (tool.name, tool.description) == ("who", "Tell it in a letter.")
    assert tool.to_wire(Revision.V2026_07_28)["annotations"] == {"openWorldHint": False}


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("SearchTickets", "search_tickets"),
        ("HTMLParserTool", "html_parser_tool"),
        ("My2HTTPTool", "my2_http_tool"),
        ("Say", "say"),
    ],
)
def test_a_class_is_named_by_its_words(class_name, name, server):
    """S55."""
    server.register(type(class_name, (Tool,), {"call": lambda self: None}))
    assert list(server.registry.tools) == [name]


@pytest.mark.parametrize("declared", BASES, ids=lambda one: one.__name__)
def test_classes_take_the_options_of_decorators(declared):
    """S54, X3: nothing that one style can say is missing from another."""
    hints = {name for base in declared.__mro__ for name in vars(base).get("__annotations__", {})}
    hints -= {"kind", "method", "primitive"}
    primitive = getattr(declared, "primitive", Tool.primitive)
    options = set(list(inspect.signature(primitive.from_function).parameters)[1:])
    assert hints == options - (OF_ONE_TOOL if declared is Toolset else set()) | (
        {"title", "description"} if declared is Toolset else set()
    )


def _class(base, **body):
    return type("Wrong", (base,), {"__module__": "shop.mcp", **body})


def call(self): ...


class Abstract(Tool, ABC):
    @abstractmethod
    def find(self): ...

    call = call


MISTAKES = [
    (
        Abstract,
        "tests.server.test_styles.Abstract is abstract: it has no find yet. Every call gets an object of its own: "
        "register the subclasses that have one, or write find in the class.",
    ),
    (
        _class(Tool),
        "shop.mcp.Wrong has no method call. It is what a tool does: write def call(self, ...) in the class.",
    ),
    (
        _class(Tool, call=staticmethod(call)),
        "shop.mcp.Wrong.call is a staticmethod. It is called on an object of the call: write def call(self, ...), "
        "without a decorator that changes it.",
    ),
    (
        _class(Tool, call=lambda: None),
        "shop.mcp.Wrong takes no self. It is called on an object of the call: write self first.",
    ),
    (
        _class(Tool, call=call, descripton="x"),
        "shop.mcp.Wrong sets descripton, which is no option of a tool. Options are name, title, description,",
    ),
    (
        _class(Tool, call=call, __init__=lambda self: None),
        "shop.mcp.Wrong cannot be made from a context alone. Every call gets an object of its own: write "
        "def __init__(self, context), or leave it out.",
    ),
    (
        _class(Resource, read=call),
        'shop.mcp.Wrong has no uri. A resource is found by it: write uri = "help://opening-hours" in the class.',
    ),
    (
        _class(ResourceTemplate, read=call),
        "shop.mcp.Wrong has no uri_template. A resource template is found by it: write "
        'uri_template = "ticket://{pk}" in the class.',
    ),
    (
        _class(Toolset, tool_of_mine=call),
        "shop.mcp.Wrong has no tools. Its tools are methods: write @Toolset.tool above each of them.",
    ),
    (
        _class(Toolset, name="x", go=Toolset.tool(lambda self: None)),
        "shop.mcp.Wrong sets name for all its tools. It belongs to one of them: write @Toolset.tool(name=...) "
        "above the method.",
    ),
    (
        Tool,
        "django_mcp.server.classes.Tool was registered itself. Subclasses of it are registered: write @register "
        "above class SearchTickets(Tool).",
    ),
]


@pytest.mark.parametrize(("declared", "message"), MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_mistakes_in_classes_are_refused(declared, message, server):
    with pytest.raises(InvalidPrimitive) as caught:
        server.register(declared)
    assert str(caught.value).startswith(message)
    assert server.registry.tools == {}


def test_names_below_type_checking_are_reported_for_methods_too(server):
    class Wrong(Tool):
        def call(self, money: "Money") -> "Money": ...  # type: ignore[name-defined]  # noqa: F821, empty-body

    with pytest.raises(InvalidPrimitive, match="annotates money with 'Money', which cannot be resolved"):
        server.register(Wrong)


def test_methods_without_a_toolset_are_told_of_it(server):
    with pytest.raises(InvalidPrimitive, match=r"put it in a Toolset and write @Toolset\.tool above it"):
        server.tool(Notes._name)


def test_any_option_is_checked_in_a_class(server):
    class Wrong(FindTickets):
        timeout = 0

    with pytest.raises(InvalidPrimitive, match=r"Wrong was given timeout=0. It is a number of seconds above 0"):
        server.register(Wrong)


@pytest.mark.parametrize("given", [5, "tool", object])
def test_what_is_no_class_of_ours_is_refused(given, server):
    with pytest.raises(InvalidPrimitive, match="write @register above a class, or @tool above a function"):
        server.register(given)
