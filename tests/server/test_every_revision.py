"""What holds for tools in every revision alike."""

from typing import Any

import pytest

from django_mcp import MCPServer
from django_mcp.primitives.schema import DIALECTS
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.versions import Revision
from django_mcp.servers import _servers
from tests.documents import DOCS
from tests.wire.client import LEGACY, WireClient
from tests.wire.doors import consumer

pytestmark = pytest.mark.django_db
ERAS = ("modern", *LEGACY)


@pytest.fixture
def server(monkeypatch):
    fresh = MCPServer("eras", extensions={"com.example/x": {"a": 1}}, experimental={"com.example/y": {}}, version="2")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["eras"]


@pytest.fixture
def client(server):
    return WireClient(consumer())


LOOSE = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}, "n": {"maximum": 3}}}


@pytest.mark.parametrize("era", ERAS)
def test_a_schema_means_the_same_in_every_revision(server, client, era):
    """S65, S70, S71, JS-09, TOOL-25, TOOL-26, TOOL-27: ``format`` is a note, and what is not forbidden is allowed."""
    server.tool(input_schema=LOOSE)(lambda_tool)

    good = client.call(era, "tools/call", {"name": "lambda_tool", "arguments": {"day": "no date", "more": 1}}).result
    assert not good["isError"]
    bad = client.call(era, "tools/call", {"name": "lambda_tool", "arguments": {"day": 5, "n": 4}}).result
    assert bad["isError"]
    assert bad["content"] == [
        {"type": "text", "text": "day: must be of type string, not 5; n: must satisfy maximum 3, not 4"}
    ]


def lambda_tool(arguments: dict[str, Any]) -> str:
    return "fine"


@pytest.mark.parametrize("era", ERAS)
def test_the_list_is_the_same_before_and_after_calls_and_for_everybody(server, client, era):
    """TOOL-02, TOOL-03, TOOL-04, TOOL-22."""
    server.tool(lambda_tool)
    server.tool(name="another")(lambda_tool)

    before = client.call(era, "tools/list").result["tools"]
    client.call(era, "tools/call", {"name": "another", "arguments": {"arguments": {}}})
    other = WireClient(consumer())
    assert client.call(era, "tools/list").result["tools"] == other.call(era, "tools/list").result["tools"] == before
    assert [tool["name"] for tool in before] == ["lambda_tool", "another"]
    assert all("execution" not in tool for tool in before)


def test_an_error_of_the_protocol_passes_through(server, client):
    """S75: with its own code and data."""

    @server.tool
    def refuse() -> None:
        raise ProtocolError(-32050, "Not today", data={"until": "tomorrow"})

    error = client.modern("tools/call", {"name": "refuse", "arguments": {}}).error
    assert error == {"code": -32050, "message": "Not today", "data": {"until": "tomorrow"}}


def test_extensions_and_experiments_are_announced_as_they_are(server, client):
    """S23."""
    server.tool(lambda_tool)
    capabilities = client.modern("server/discover").result["capabilities"]
    assert capabilities["extensions"]["com.example/x"] == {"a": 1}
    assert capabilities["experimental"] == {"com.example/y": {}}


def test_every_revision_can_list_what_newer_ones_know_more_of(server):
    """S20: nothing that a revision lacks is refused at registration, it is left out of what that one sees."""
    tool = server.define_tool(lambda_tool, title="T", description="D")
    wires = {revision: tool.to_wire(revision) for revision in Revision}
    assert "title" not in wires[Revision.V2025_03_26]
    assert wires[Revision.V2025_06_18]["title"] == "T"


def test_the_documentation_names_the_dialects():
    """JS-02, JS-04."""
    page = (DOCS / "tools.md").read_text()
    for dialect in ("2020-12", "2019-09", "draft-07", "draft-06", "draft-04"):
        assert dialect in page
        assert dialect in DIALECTS
