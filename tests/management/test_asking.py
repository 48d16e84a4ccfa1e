"""manage.py mcp_list, mcp_call and mcp_read: clients on the command line."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import path

from django_mcp import Context, MCPServer, ToolError
from django_mcp.servers import _servers

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    fresh = MCPServer("desk", page_size=1)
    yield fresh
    del _servers["desk"]


@pytest.fixture
def desk(server):
    @server.tool
    def whoami(context: Context, shout: bool = False) -> str:
        """Tell the name.

        At length.
        """
        name = str(context.user)
        return name.upper() if shout else name

    @server.tool(permission="auth.add_user")
    def invite(username: str) -> str:
        """Create a user."""
        User.objects.create(username=username)
        if len(username) > 9:
            raise ToolError("Too long.")
        return "ä"

    @server.resource("note://a", title="Note")
    def note() -> str:
        return "text"

    @server.resource_template("user://{pk}")
    def user(pk: str) -> str:
        """A user."""
        return pk

    return server


@pytest.fixture
def root():
    return User.objects.create_superuser("root")


def run(*arguments):
    out = StringIO()
    call_command(*arguments, "--server=desk", stdout=out)
    return out.getvalue()


def test_the_list_is_what_the_user_sees_on_all_pages(desk, root):
    out = run("mcp_list").splitlines()
    assert out[0] == "Tools (1):"
    [tool] = json.loads(run("mcp_list", "--json"))["tools"]
    size = len(json.dumps(tool, separators=(",", ":")))
    assert out[1] == f"  whoami     {size}  Tell the name."
    assert "invite" not in "".join(out)
    assert "Tools (2):" in run("mcp_list", "--user=root")


def test_the_list_tells_its_size_as_clients_get_it(desk, root):
    found = json.loads(run("mcp_list", "--json", "--user=root"))
    assert list(found) == [
        *("server", "user", "tools", "prompts", "resources", "resourceTemplates"),
        *("characters", "tokens"),
    ]
    assert [tool["name"] for tool in found["tools"]] == ["whoami", "invite"]
    lists = [found[member] for member in ("tools", "resources", "resourceTemplates")]
    assert found["characters"] == sum(len(json.dumps(one, separators=(",", ":"))) for one in lists)
    assert found["tokens"] == found["characters"] // 4
    assert run("mcp_list", "--user=root").splitlines()[-1] == (
        f"{found['characters']} characters, about {found['tokens']} tokens."
    )


def test_a_server_without_anything_is_an_empty_list(server):
    assert run("mcp_list") == "0 characters, about 0 tokens.\n"


def test_a_call_prints_its_result_and_is_saved(desk, root):
    result = json.loads(run("mcp_call", "whoami", '{"shout": true}', "--user=root"))
    assert result["content"] == [{"type": "text", "text": "ROOT"}]
    assert json.loads(run("mcp_call", "whoami"))["content"][0]["text"] == "AnonymousUser"
    assert '"ä"' in run("mcp_call", "invite", '{"username": "bob"}', "--user=root")
    assert User.objects.filter(username="bob").exists()


def test_a_resource_is_printed(desk):
    for uri, text in (("note://a", "text"), ("user://ann", "ann")):
        assert json.loads(run("mcp_read", uri))["contents"][0]["text"] == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("mcp_call", "invite", '{"username": "far too long"}', "--user=root"), "Too long."),
        (("mcp_call", "invite", "{}", "--user=root"), "username is required but was not given"),
        (("mcp_call", "invite", "{}"), "Unknown tool: invite (-32602)"),
        (("mcp_call", "whoami", "{"), "The arguments are no JSON ("),
        (("mcp_call", "whoami", "[1]"), "The arguments are [1]. Write a JSON object: '{\"limit\": 5}'."),
        (("mcp_call", "whoami", "--user=eve"), "No user with username 'eve'."),
        (("mcp_read", "note://b"), "Resource not found (-32602)"),
        (("mcp_read", "no uri"), "uri is not a URI (-32602)"),
    ],
)
def test_what_goes_wrong_is_told_in_plain_words(desk, root, arguments, text):
    with pytest.raises(CommandError) as raised:
        run(*arguments)
    assert str(raised.value).startswith(text)
    assert raised.value.returncode == 1
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(("mcp_call", "any"), "The server 'desk' has no tools."), (("mcp_read", "a:b"), "The server 'desk' has no res")],
)
def test_a_server_without_any_says_so(server, arguments, text):
    with pytest.raises(CommandError, match=text):
        run(*arguments)


def test_a_server_that_is_made_where_it_is_mounted_is_found(settings, monkeypatch):
    with pytest.raises(CommandError, match="No server is named 'desk'"):
        run("mcp_list")
    settings.ROOT_URLCONF = "tests.urls"
    monkeypatch.setattr("django_mcp.discovery.import_module", lambda name: path("mcp", MCPServer("desk").urls))
    try:
        assert run("mcp_list")
    finally:
        del _servers["desk"]
