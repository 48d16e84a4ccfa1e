"""What is believed of a request, and what is fetched or sent elsewhere because of it: nothing."""

from typing import Annotated

import pytest
from django.contrib.auth.models import User
from django.core.management import get_commands, load_command_class
from django.core.management.commands.runserver import Command as Runserver
from django.test import override_settings

from django_mcp import Context, Header, default_server
from django_mcp.models import AccessToken
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.server.rates import BURST, RateLimit
from tests.wire.client import META, WireClient

TALKING = {"com.example/talking": {}}


def reserve(clinic: Annotated[str, Header("Clinic")] = "") -> str:
    """Its caller is told nothing of it, or everything."""
    return f"reserved in {clinic}"


def talk(context: Context) -> str:
    """Talk, or at least write."""
    spoken = "com.example/talking" in context.client_capabilities.get("extensions", {})
    return "spoken" if spoken else "written"


def only_talk(context: Context) -> str:
    """Do nothing for a client without the extension."""
    context.require_capability({"extensions": TALKING})
    return "spoken"


@pytest.fixture
def offered():
    with default_server.registry.override():
        for function in (talk, only_talk):
            default_server.register(ToolDefinition.from_function(function))
        default_server.register(ToolDefinition.from_function(reserve, permission=lambda context: context.user.is_staff))
        yield


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken"})
def test_headers_are_checked_against_what_the_caller_was_shown(door, offered):
    """MH-21, MH-36: they lead to no tool that the caller has not, and tell him nothing about it."""
    for name, is_staff in (("ann", False), ("staff", True)):
        _token, value = AccessToken.objects.issue(User.objects.create(username=name, is_staff=is_staff))
        client = WireClient(door, headers={"Authorization": f"Bearer {value}"})
        params = {"name": "reserve", "arguments": {"clinic": "Bern"}}
        right, wrong = (
            client.modern("tools/call", params, id=1, headers={"Mcp-Param-Clinic": clinic, "Mcp-Param-User": "staff"})
            for clinic in ("Bern", "Basel")
        )
        if is_staff:
            assert right.result["content"][0]["text"] == "reserved in Bern"
            assert (wrong.status, wrong.error["code"]) == (400, -32020)
        else:
            unknown = client.modern("tools/call", {**params, "name": "resorve"}, id=1)
            assert right.body == wrong.body == unknown.body.replace(b"resorve", b"reserve")
            disguised = client.modern("tools/call", params, headers={"Mcp-Name": "noargs"})
            assert disguised.error["code"] == -32020


@pytest.mark.parametrize(
    ("method", "params", "headers", "status", "code"),
    [
        ("no/such", {}, {}, 404, -32601),
        ("tools/call", {"name": "nope"}, {}, 400, -32602),
        ("tools/call", {"name": "noargs"}, {"Mcp-Name": "echo"}, 400, -32020),
        ("tools/call", {"name": "needs_sampling"}, {}, 400, -32021),
        ("tools/list", {"cursor": "x"}, {}, 400, -32602),
    ],
)
def test_no_stream_begins_for_a_request_that_is_refused(client, method, params, headers, status, code):
    """MH-21, MH-24: the status is that of the error, also for a client that takes streams alone."""
    answer = client.modern(method, params, headers={"Accept": "text/event-stream", **headers})
    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.header("Content-Type") == "application/json"


def test_an_extension_is_used_with_clients_that_have_it(client, era, offered):
    """EXT-03, VER-26: a tool does without it, or refuses and says what is missing."""

    def call(name, extensions=None):
        capabilities = {} if extensions is None else {"extensions": extensions}
        params = {"name": name, "arguments": {}}
        if era == "modern":
            return client.modern("tools/call", params, meta={f"{META}clientCapabilities": capabilities})
        greeting = {
            "protocolVersion": era,
            "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"},
        }
        client.session = client.post(client.message("initialize", greeting)).header("Mcp-Session-Id")
        return client.legacy("tools/call", params)

    for name in ("talk", "only_talk"):
        assert call(name, TALKING).result["content"][0]["text"] == "spoken"
    for extensions in (None, {"com.example/other": {}}):
        assert call("talk", extensions).result["content"][0]["text"] == "written"
        refused = call("only_talk", extensions)
        if era == "modern":
            assert (refused.status, refused.error["code"]) == (400, -32021)
            assert refused.error["data"] == {"requiredCapabilities": {"extensions": TALKING}}
        else:
            assert refused.result["isError"] is True


@override_settings(ALLOWED_HOSTS=["*"])
def test_a_site_may_let_every_host_pass(client):
    """S232: as everywhere in Django. The origin of a browser has to be that host still."""
    assert client.modern("tools/list", headers={"Host": "any.example"}).status == 200
    foreign = {"Host": "any.example", "Origin": "http://evil.example"}
    assert client.modern("tools/list", headers=foreign).status == 403


@override_settings(DJANGO_MCP={})
def test_a_server_that_nobody_configured_is_local_and_closed(client):
    """LH-03, MH-03, SEC-11: it listens on the own machine and asks for a token all the same."""
    command = load_command_class(get_commands()["runserver"], "runserver")
    assert isinstance(command, Runserver)
    assert command.default_addr == "127.0.0.1"
    assert client.modern("tools/list").status == 401
    assert client.initialize().status == 401


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken", "TOOL_RATE": 1})
def test_a_user_who_calls_too_often_is_told_to_wait(door, era, monkeypatch):
    """SEC-12, TOOL-27: the tool does not run, lists are served, and others call on."""
    monkeypatch.setattr(default_server, "calls", RateLimit(lambda: 0.0))
    ann, bob = (
        WireClient(door, headers={"Authorization": f"Bearer {AccessToken.objects.issue(user)[1]}"})
        for user in (User.objects.create(username="ann"), User.objects.create(username="bob"))
    )
    for _ in range(int(BURST)):
        assert ann.call_tool(era, "noargs")["content"][0]["text"] == "ok"
    refused = ann.call_tool(era, "make_row")
    assert refused["isError"] is True
    assert refused["content"][0]["text"] == "Too many calls: at most 1 a second. Wait a moment."
    assert ann.call(era, "tools/list").status == 200
    assert bob.call_tool(era, "noargs")["content"][0]["text"] == "ok"
    assert User.objects.count() == 2
