"""The assertions: that they hold where they should, and what they say where they do not."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from django_mcp import MCPServer, ToolResult, get_server
from django_mcp.protocol.versions import LATEST, LATEST_LEGACY, Revision
from django_mcp.servers import _servers
from django_mcp.testing import AsyncMCPTestCase, MCPAssertions, MCPClient, MCPTestCase, Reply, ToolReply
from django_mcp.testing.shapes import result_faults


class Cases(MCPTestCase):
    mcp_server = "testing-desk"
    root: User

    @classmethod
    def setUpTestData(cls):
        cls.root = User.objects.create_superuser("root")

    def test_visible(self):
        self.assertToolVisible("whoami")
        self.assertToolVisible("invite", user=self.root)
        with self.assertRaisesMessage(
            AssertionError, "Nobody (not logged in) does not see the tool 'invite', but: whoami, ainvite, where."
        ):
            self.assertToolVisible("invite")

    def test_hidden(self):
        self.assertToolHidden("invite")
        self.mcp_client.login(self.root)
        with self.assertRaisesMessage(AssertionError, "root sees the tool 'invite'."):
            self.assertToolHidden("invite")
        with self.assertRaisesMessage(AssertionError, "There is no tool 'invites' to be hidden. Registered: whoami,"):
            self.assertToolHidden("invites")

    def test_error(self):
        reply = self.assertToolError("invite", {"username": "far too long"}, "Too long", user=self.root)
        assert reply.text == "Too long."
        self.assertToolError("ainvite", text="username")
        with self.assertRaisesMessage(AssertionError, "The tool 'whoami' did not fail. It answered: AnonymousUser"):
            self.assertToolError("whoami")
        with self.assertRaisesMessage(AssertionError, "The error of 'ainvite' does not say 'color', but: username"):
            self.assertToolError("ainvite", {}, "color")

    def test_everything_conforms(self):
        for revision in (LATEST, LATEST_LEGACY):
            client = MCPClient(server=self.mcp_server, revision=revision)
            self.mcp_client = client
            client.login(self.root)
            for reply in (
                client.call_tool("invite", {"username": str(revision)}),
                client.call_tool("invite", {"username": "far too long"}),
                client.read_resource("note://a"),
                client.read_resource("note://b"),
                client.get_prompt("paint", {"color": "red"}),
                client.request("tools/list"),
                client.request("prompts/list"),
                client.request("resources/list"),
                client.request("resources/templates/list"),
                client.request("ping" if revision == LATEST_LEGACY else "server/discover"),
            ):
                self.assertConforms(reply)

    def test_what_does_not_conform_is_told_by_place(self):
        client = self.mcp_client
        client.login(self.root)
        reply = client.call_tool("invite", {"username": "bob"})
        for change, text in (
            ({"content": [{"type": "text"}]}, "$.content[0]: "),
            ({"structuredContent": {"pk": "7"}}, "structuredContent $.pk: '7' is not of type 'integer'"),
            ({"resultType": 5}, "$.resultType: 5 is not of type 'string'"),
        ):
            with self.assertRaisesMessage(AssertionError, text):
                self.assertConforms(ToolReply.of({**reply, **change}, "tools/call", {"name": "invite"}, LATEST))
        del reply["structuredContent"]
        with self.assertRaisesMessage(AssertionError, "structuredContent is missing, although the tool publishes"):
            self.assertConforms(reply)
        client.logout()
        with self.assertRaisesMessage(AssertionError, "does not see the tool 'invite', so its schema is not known"):
            self.assertConforms(reply)
        with self.assertRaisesMessage(TypeError, "takes what a method of the client returned, not dict"):
            self.assertConforms({})  # type: ignore[arg-type]

    def test_a_tool_without_a_schema_conforms_by_its_content(self):
        @get_server("testing-desk").tool
        def plain() -> ToolResult:
            """Return no structure."""
            return ToolResult()

        self.assertConforms(self.mcp_client.call_tool("plain"))

    def test_the_catalogue_is_that_of_the_file(self):
        self.assertCatalogueUnchanged()
        self.assertCatalogueUnchanged("root", user=self.root)


class AsyncCases(AsyncMCPTestCase):
    mcp_server = "testing-desk"
    mcp_revision = LATEST_LEGACY

    async def test_all_of_them(self):
        root = await User.objects.acreate(username="root", is_superuser=True)
        await self.assertToolVisible("whoami")
        await self.assertToolVisible("invite", user=root)
        await self.assertToolHidden("invite")
        await self.assertToolError("ainvite", text="username")
        await self.assertConforms(await self.mcp_client.call_tool("whoami"))
        await self.assertCatalogueUnchanged()
        assert self.mcp_client.revision == LATEST_LEGACY


@pytest.mark.django_db
class TestWithPytest(MCPAssertions):
    """The mixin needs no ``TestCase``."""

    mcp_server: MCPServer | str = "testing-desk"

    def test_visible(self):
        self.assertToolVisible("whoami")


@pytest.fixture
def empty():
    server = MCPServer("empty")
    yield server
    del _servers["empty"]


@pytest.mark.django_db
def test_a_server_without_anything(empty):
    case = TestWithPytest()
    case.mcp_server = empty
    with pytest.raises(AssertionError, match=r"does not see the tool 'a', but: none\."):
        case.assertToolVisible("a")
    with pytest.raises(AssertionError, match=r"Registered: none\."):
        case.assertToolHidden("a")
    with pytest.raises(AssertionError, match=r"There is no snapshot test_cases\.nothing\.json next to the test"):
        case.assertCatalogueUnchanged("nothing")


@pytest.mark.django_db
def test_a_tool_that_is_hidden_in_lists_alone_is_not_hidden(empty, monkeypatch):
    """Both of what a client may try are tried."""
    case = MCPAssertions()
    case.mcp_server = empty

    @empty.tool(permission="auth.add_user")
    def secret() -> str:
        """Tell it."""
        return "told"

    async def anyone(call, primitive, context):
        return primitive

    monkeypatch.setattr("django_mcp.server.methods.tools.find_permitted", anyone)
    with pytest.raises(AssertionError, match="does not see the tool 'secret', but can call it"):
        case.assertToolHidden("secret")

    async def broken(call, primitive, context):
        raise RuntimeError("broken")

    monkeypatch.setattr("django_mcp.server.methods.tools.find_permitted", broken)
    with pytest.raises(Exception, match="Internal error"):
        case.assertToolHidden("secret")


class Elsewhere(MCPAssertions):
    """Its snapshots lie where the test says."""

    mcp_server = "testing-desk"
    folder: Path

    def _snapshot(self, name):
        return self.folder / f"test_it.{name}.json"


@pytest.mark.django_db
def test_a_snapshot_is_written_on_demand_and_shows_what_changed(tmp_path, monkeypatch):
    case = Elsewhere()
    case.folder = tmp_path
    monkeypatch.delenv("MCP_UPDATE_SNAPSHOTS", raising=False)
    with pytest.raises(
        AssertionError, match=r"There is no snapshot test_it\.it\.json next to the test\. Run the test with"
    ):
        case.assertCatalogueUnchanged("it")
    monkeypatch.setenv("MCP_UPDATE_SNAPSHOTS", "1")
    case.assertCatalogueUnchanged("it")
    monkeypatch.delenv("MCP_UPDATE_SNAPSHOTS")
    case.assertCatalogueUnchanged("it")
    stored = json.loads((tmp_path / "test_it.it.json").read_text())
    assert list(stored) == ["prompts", "resourceTemplates", "resources", "tools"]
    assert [tool["name"] for tool in stored["tools"]] == ["ainvite", "where", "whoami"]

    @get_server("testing-desk").tool
    def whoami_really() -> str:
        """Tell it again."""
        return "again"

    assert case.mcp_client.call_tool("whoami_really").text == "again"
    with pytest.raises(AssertionError) as raised:
        case.assertCatalogueUnchanged("it")
    lines = str(raised.value).splitlines()
    assert lines[0] == "The catalogue is not that of test_it.it.json."
    assert '+      "name": "whoami_really"' in lines
    assert lines[-1] == "Run the test with MCP_UPDATE_SNAPSHOTS=1 to write it, and commit the file."


@pytest.mark.parametrize(
    ("method", "result", "fault"),
    [
        ("tools/list", {"tools": [{"name": "a"}]}, "$.tools[0]: 'inputSchema' is a required property"),
        ("resources/read", {"contents": [{"uri": "a:b", "text": "", "blob": ""}]}, "$.contents[0]: "),
        ("prompts/get", {"messages": [{"role": "system", "content": {}}]}, "$.messages[0].role: 'system' is not one"),
        ("completion/complete", {"completion": {"values": ["a"] * 101}}, "$.completion.values: "),
        ("tools/list", {"tools": [], "ttlMs": 0}, "$.ttlMs: 2025-11-25 has no such member"),
        ("other/method", {"cacheScope": "public"}, "$.cacheScope: 2025-11-25 has no such member"),
    ],
)
def test_the_shape_of_each_result_is_known(method, result, fault):
    found = list(result_faults(Reply.of(result, method, {}, Revision.V2025_11_25)))
    assert any(one.startswith(fault) for one in found), found


def test_modern_lists_say_how_long_they_keep():
    """CACHE-01, RPC-15"""
    for result, missing in (({"tools": []}, "resultType"), ({"tools": [], "resultType": "complete"}, "ttlMs")):
        found = list(result_faults(Reply.of(result, "tools/list", {}, LATEST)))
        assert f"$: '{missing}' is a required property" in found
