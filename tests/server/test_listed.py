"""Resources that are only listed, the functions that read them, and what apps tell models about themselves."""

import pytest
from django.contrib.auth.models import User

from django_mcp import AlreadyRegistered, Context, InvalidPrimitive, MCPServer, Resource, ResourceTemplate
from django_mcp.servers import _servers
from tests.wire.client import WireClient
from tests.wire.doors import consumer


@pytest.fixture
def server(monkeypatch):
    fresh = MCPServer("listed")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["listed"]


@pytest.fixture
def client(server):
    return WireClient(consumer())


class Hours(Resource):
    """When we are there."""

    uri = "help://hours"

    def read(self) -> str:
        return "9 to 5"


class Ticket(ResourceTemplate):
    """A ticket."""

    uri_template = "ticket://{pk}"

    def read(self, pk: int) -> str:
        return f"no. {pk + 1}"


def hours() -> str: ...  # type: ignore[empty-body]


@pytest.mark.django_db
def test_a_resource_may_be_listed_without_a_function(server, client):
    """S98, S103, S113, W14, X13: readers are asked for it, and what they leave goes on to the templates."""
    server.define_resource("file:///manual.pdf", name="manual", mime_type="application/pdf", size=4)
    server.define_resource("ticket://3", name="third")
    server.define_resource_template("ticket://{number}", name="any")
    server.define_resource_template("file:///{name}", name="files", description="Any file")
    server.register(Hours)
    server.register(Ticket)
    asked = []

    @server.read_resource
    def read_nothing(uri):
        asked.append(uri)

    @server.read_resource
    async def read_files(uri: str, context: Context) -> bytes | None:
        if uri.startswith("file:///"):
            return f"{uri} for {context.user}".encode()
        return None

    server.read_resource(read_nothing)
    listed = client.modern("resources/list").result["resources"]
    assert listed[0] == {"uri": "file:///manual.pdf", "name": "manual", "mimeType": "application/pdf", "size": 4}
    [_, files, _] = client.modern("resources/templates/list").result["resourceTemplates"]
    assert files == {"uriTemplate": "file:///{name}", "name": "files", "description": "Any file"}

    def read(uri):
        return client.modern("resources/read", {"uri": uri})

    assert read("file:///manual.pdf").result["contents"][0]["mimeType"] == "application/pdf"
    assert read("file:///a").result["contents"][0]["blob"]
    assert read("help://hours").result["contents"][0]["text"] == "9 to 5"
    assert read("ticket://3").result["contents"][0]["text"] == "no. 4"
    assert read("nothing://here").error["code"] == -32602
    assert asked == ["file:///manual.pdf", "file:///a", "ticket://3", "nothing://here"]


@pytest.mark.django_db
def test_readers_alone_are_a_reason_to_offer_resources(server, client):
    server.read_resource(lambda uri: uri.upper())
    assert client.modern("resources/read", {"uri": "a:b"}).result["contents"][0]["text"] == "A:B"


@pytest.mark.django_db
def test_a_listed_resource_keeps_its_permission(server, client):
    """BL-073."""
    server.read_resource(lambda uri: "secret")
    server.define_resource("file:///x", name="x", permission="auth.view_user")
    assert User.objects.count() == 0
    assert client.modern("resources/read", {"uri": "file:///x"}).error["code"] == -32602


def test_listed_resources_are_told_apart_by_their_place(server):
    for _ in range(2):
        server.define_resource("file:///x", name="x")
    with pytest.raises(AlreadyRegistered, match=r"define_resource\('file:///x'\) \(.*test_listed.py:\d+\) and again"):
        server.define_resource("file:///x", hours)


def test_what_is_only_listed_needs_a_name(server):
    with pytest.raises(InvalidPrimitive) as caught:
        server.define_resource("file:///x")
    assert str(caught.value) == (
        "define_resource('file:///x') in tests.server.test_listed has neither a function nor a name. What is only "
        "listed needs one: write define_resource('file:///x', name=\"manual\")."
    )


def test_readers_take_the_uri(server):
    with pytest.raises(InvalidPrimitive) as caught:
        server.read_resource(hours)
    assert str(caught.value) == (
        "tests.server.test_listed.hours reads resources and takes nothing. It is called with the URI and, if it "
        "likes, the context: write def read(uri, context)."
    )


def test_define_resource_needs_the_uri(server):
    with pytest.raises(InvalidPrimitive, match=r'write define_resource\("help://opening-hours"\)\.'):
        server.define_resource(hours)


def test_listed_resources_have_no_function_to_call(server):
    with pytest.raises(NotImplementedError):
        server.define_resource("file:///x", name="x").function()


@pytest.mark.django_db
def test_every_app_adds_its_instructions(server, client):
    """S18, DISC-02."""
    server.instructions = "Be kind."
    for text in ("Tickets are called HD-12.", "Tickets are called HD-12.", "Prices are in euros."):
        server.add_instructions(text)

    told = client.modern("server/discover").result["instructions"]
    assert told == "Be kind.\n\nTickets are called HD-12.\n\nPrices are in euros."
