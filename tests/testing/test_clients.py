"""``MCPClient`` and ``AsyncMCPClient``: what comes back, who is asked, and what runs at the end of a call."""

import asyncio
import uuid

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.test import TestCase, override_settings

from django_mcp import Context, default_server, get_server
from django_mcp.events import reader
from django_mcp.protocol.versions import ALL, LATEST, LATEST_LEGACY
from django_mcp.testing import AsyncMCPClient, MCPClient, MCPError, WireObject
from tests.testing.conftest import hooks

BOTH = (LATEST, LATEST_LEGACY)


def client_of(user=None, **options):
    return MCPClient(user, server="testing-desk", **options)


@pytest.mark.django_db
@pytest.mark.parametrize("revision", ALL)
def test_every_revision_gives_the_same_answers(revision):
    """S1."""
    client = client_of(revision=revision)
    assert client.revision == revision
    assert [tool.name for tool in client.list_tools()] == ["whoami", "ainvite", "where"]
    assert client.call_tool("whoami").text == "AnonymousUser"
    assert [one.uri for one in client.list_resources()] == ["note://a", "note://b"]
    assert [one.uri_template for one in client.list_resource_templates()] == ["user://{name}"]
    assert client.read_resource("note://a").text == "text"
    assert client.read_resource("user://ann").text == "ann"
    assert client.read_resource("note://b").blob == b"\x00\x01"
    assert [prompt.name for prompt in client.list_prompts()] == ["paint"]
    assert client.get_prompt("paint", {"color": "red"}).text == "Paint it small and red."
    assert client.complete("name", "b", resource="user://{name}") == ["bob"]


@pytest.mark.django_db
def test_a_client_leaves_nobody_behind_who_reads_the_log():
    """A thread that is still connected keeps a test database from being dropped."""
    client = client_of(revision=LATEST_LEGACY)
    client.list_tools()
    assert not reader.is_running
    client.list_tools()
    assert not reader.is_running


@pytest.mark.django_db
def test_completions_know_how_many_there_are():
    found = client_of().complete("color", "color", prompt="paint")
    assert (len(found), found.total, found.has_more) == (100, 150, True)
    assert client_of().complete("color", "color 149", prompt="paint").has_more is False
    assert client_of().complete("color", prompt="paint", context={"size": "none"}) == []
    with pytest.raises(ValueError, match="Say what the argument belongs to"):
        client_of().complete("color")


@pytest.mark.django_db
def test_a_result_is_the_wires_own_and_has_attributes():
    root = User.objects.create_superuser("root")
    reply = client_of(root).call_tool("invite", {"username": "bob"})
    pk = User.objects.get(username="bob").pk
    assert reply == {
        "content": reply["content"],
        "structuredContent": {"pk": pk},
        "isError": False,
        "resultType": "complete",
        "_meta": reply["_meta"],
    }
    assert (reply.is_error, reply.structured, reply.structured_content.pk) == (False, {"pk": pk}, pk)
    assert isinstance(reply.content[0], WireObject)
    assert reply.result_type == "complete"
    with pytest.raises(AttributeError, match=r"There is no meaning in this ToolReply\. It has: "):
        _ = reply.meaning
    assert client_of().call_tool("whoami").structured is None
    assert client_of().list_tools()[0].input_schema.type == "object"


@pytest.mark.django_db
@pytest.mark.parametrize("revision", BOTH)
def test_errors_are_exceptions_with_all_that_was_sent(revision):
    client = client_of(revision=revision)
    with pytest.raises(MCPError) as raised:
        client.read_resource("note://missing")
    assert raised.value.code == (-32602 if revision == LATEST else -32002)
    assert raised.value.data == {"uri": "note://missing"}
    assert str(raised.value) == f"Resource not found ({raised.value.code})"
    with pytest.raises(MCPError, match="Method not found"):
        client.request("nope")


@pytest.mark.django_db
def test_a_user_is_read_again_for_each_request():
    ann = User.objects.create_user("ann")
    client = client_of(ann)
    assert client.user is ann
    assert client.call_tool("whoami").text == "ann"
    with pytest.raises(MCPError, match="Unknown tool"):
        client.call_tool("invite", {"username": "bob"})
    User.objects.filter(pk=ann.pk).update(is_superuser=True)
    assert client.call_tool("invite", {"username": "bob"}).is_error is False
    User.objects.filter(pk=ann.pk).update(is_active=False)
    with pytest.raises(MCPError, match="may not use it any more"):
        client.list_tools()


@pytest.mark.django_db
@pytest.mark.parametrize("revision", BOTH)
def test_one_client_may_be_several_users(revision):
    client = client_of(revision=revision)
    for user in (User.objects.create_user("ann"), User.objects.create_user("bob")):
        client.login(user)
        assert client.call_tool("whoami").text == user.username
        client.force_login(user)
    for nobody in (client.logout, lambda: client.login(AnonymousUser()), lambda: client.login(None)):
        nobody()
        assert client.call_tool("whoami").text == "AnonymousUser"
    with pytest.raises(ValueError, match="save the user first"):
        client.login(User(username="eve"))


@pytest.mark.django_db
def test_what_else_a_call_may_know():
    client = client_of(path_params={"tenant": "acme"}, language="de", capabilities={"sampling": {}})
    assert client.call_tool("where").text == "{'tenant': 'acme'} de ['sampling']"
    assert client_of(revision="2025-11-25").call_tool("where").text == "{} en []"


@pytest.mark.django_db
def test_arguments_are_written_as_django_writes_json():
    with get_server("testing-desk").registry.override():

        @get_server("testing-desk").tool
        def show(key: uuid.UUID) -> str:
            """Show it."""
            return str(key)

        key = uuid.uuid4()
        assert client_of().call_tool("show", {"key": key}).text == str(key)


def test_a_server_or_revision_that_does_not_exist_is_told_with_those_that_do():
    with pytest.raises(LookupError, match="testing-desk"):
        MCPClient(server="nowhere")
    with pytest.raises(ValueError, match=r"There is no revision '2020-01-01'\. Use one of: 2024-11-05, "):
        client_of(revision="2020-01-01")


@pytest.mark.django_db
def test_what_the_server_says_by_itself_is_kept():
    client = client_of()
    line = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"a":{"b":1}}}'
    client._client._conversation._take(line)
    [message] = client.notifications
    assert (message.method, message.params.a.b) == ("notifications/tools/list_changed", 1)
    assert client.server is get_server("testing-desk")


class HookTests(TestCase):
    """Inside ``TestCase``, whose transaction is never committed."""

    root: User

    @classmethod
    def setUpTestData(cls):
        cls.root = User.objects.create_superuser("root")

    def test_the_hooks_of_a_call_run_at_its_end_and_once(self):
        client = client_of(self.root)
        with self.captureOnCommitCallbacks(execute=True) as captured:
            client.call_tool("invite", {"username": "bob"})
            assert hooks == ["mail to bob"]
            client.call_tool("ainvite", {"username": "eve"})
        assert hooks == ["mail to bob", "mail to eve"]
        assert captured == []

    async def test_in_async_code_too(self):
        client = AsyncMCPClient(self.root, server="testing-desk")
        await client.call_tool("invite", {"username": "bob"})
        await client.call_tool("ainvite", {"username": "eve"})
        assert hooks == ["mail to bob", "mail to eve"]

    def test_a_call_that_failed_has_none(self):
        assert client_of(self.root).call_tool("invite", {"username": "far too long"}).is_error
        assert hooks == []

    def test_hooks_of_the_test_itself_are_left_alone(self):
        transaction.on_commit(lambda: hooks.append("own"))
        client_of(self.root).call_tool("invite", {"username": "bob"})
        assert hooks == ["mail to bob"]

    def test_hooks_wait_for_a_transaction_that_may_still_fail(self):
        with transaction.atomic():
            client_of(self.root).call_tool("invite", {"username": "bob"})
            assert hooks == []

    def test_a_hook_may_register_another(self):
        server = get_server("testing-desk")

        @server.tool
        def twice() -> None:
            """Do it later, and then once more."""
            transaction.on_commit(lambda: transaction.on_commit(lambda: hooks.append("second")))

        client_of().call_tool("twice")
        assert hooks == ["second"]

    def test_a_hook_that_fails_is_logged_as_after_a_commit(self):
        server = get_server("testing-desk")

        @server.tool
        def fail() -> None:
            """Fail later."""
            transaction.on_commit(lambda: hooks[5])

        with self.assertLogs("django_mcp.testing", "ERROR") as logs:
            assert client_of().call_tool("fail").is_error is False
        assert "IndexError" in logs.output[0]

    def test_a_hook_of_a_call_without_a_transaction_fails_as_django_lets_it(self):
        server = get_server("testing-desk")

        @server.tool(atomic=False)
        def fail() -> None:
            """Fail later."""
            transaction.on_commit(lambda: hooks[5])

        with self.assertRaises(IndexError):
            client_of().call_tool("fail")

    def test_a_hook_of_a_custom_notification_runs_too(self):
        @get_server("testing-desk").notification("notifications/example/later")
        def later() -> None:
            transaction.on_commit(lambda: hooks.append("noted"))

        client_of().notify("notifications/example/later")
        assert hooks == ["noted"]


@pytest.mark.django_db(transaction=True)
def test_outside_a_testcase_commits_are_real():
    client = client_of(User.objects.create_superuser("root"))
    client.call_tool("invite", {"username": "bob"})
    assert hooks == ["mail to bob"]
    assert User.objects.filter(username="bob").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("revision", BOTH)
def test_an_agent_in_the_site_may_ask_many_things_at_once(revision):
    """On an event loop without a test above it: each call on a lane of its own."""

    async def ask():
        client = AsyncMCPClient(server="testing-desk", revision=revision)
        async with asyncio.timeout(30):
            return await asyncio.gather(*(client.call_tool("ainvite", {"username": f"user{n}"}) for n in range(8)))

    replies = asyncio.run(ask())
    assert [reply.text for reply in replies] == [f"user{n}" for n in range(8)]
    assert User.objects.count() == 8


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "told"), [(None, "http://testserver/a"), ("https://x.example/mcp", "https://x.example/a")]
)
def test_addresses_are_those_of_the_test_server_or_of_public_url(url, told):
    def where(context: Context) -> str:
        return context.build_absolute_uri("/a")

    with default_server.registry.override(), override_settings(DJANGO_MCP={"PUBLIC_URL": url}):
        default_server.tool(where)
        assert MCPClient().call_tool("where").text == told


@pytest.mark.parametrize("user", ["alice", 5])
def test_what_is_no_user_is_refused_and_not_taken_for_nobody(user):
    """A test that somebody may not see a tool would pass."""
    with pytest.raises(TypeError, match="It takes a user object, or None for nobody"):
        MCPClient(user)
