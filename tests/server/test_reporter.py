"""EXCEPTION_REPORTER: told once of whatever the client was not told (S189, W19)."""

from unittest.mock import patch

import pytest
from django.contrib.auth.models import User

from django_mcp import Context, ToolError
from django_mcp.testing import MCPClient, MCPError
from django_mcp.transports.outbound import QueueingOutbound
from tests.server.around import HERE

pytestmark = pytest.mark.django_db


class Boom(Exception):
    pass


def boom(*args):
    raise Boom("secret")


def add_things(desk):
    @desk.tool
    def fail(kind: str) -> int:
        """Fail."""
        if kind == "told":
            raise ToolError("Not today.")
        return boom() if kind == "boom" else "no number"  # type: ignore[return-value]

    desk.prompt(name="broken")(lambda: boom())
    desk.resource("note://a", name="broken")(lambda: boom())
    desk.prompt(name="completed", complete={"word": lambda value: boom()})(lambda word: word)
    desk.method("example/fail")(lambda: boom())


def ask_everything(desk, revision="2026-07-28"):
    client = MCPClient(server=desk, revision=revision)
    for kind in ("told", "boom", "output"):
        assert client.call_tool("fail", {"kind": kind}).is_error
    for ask in (
        lambda: client.get_prompt("broken"),
        lambda: client.read_resource("note://a"),
        lambda: client.complete("word", prompt="completed"),
        lambda: client.request("example/fail"),
    ):
        with pytest.raises(MCPError, match="Internal error"):
            ask()
    with pytest.raises(MCPError, match="Unknown tool"):
        client.call_tool("unknown")


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_each_exception_is_reported_once_and_as_it_was_raised(desk, set_around, seen, revision):
    set_around(EXCEPTION_REPORTER=f"{HERE}.report")
    add_things(desk)
    ask_everything(desk, revision)
    assert [entry[:3] for entry in seen if entry[0] == "Boom"] == [
        ("Boom", "secret", method)
        for method in ("tools/call", "prompts/get", "resources/read", "completion/complete", "example/fail")
    ]
    assert [entry[0] for entry in seen if entry[0] != "Boom"] == ["InvalidOutput"]


def test_a_reporter_may_be_async(desk, set_around, seen):
    set_around(EXCEPTION_REPORTER=f"{HERE}.report_async")
    add_things(desk)
    ask_everything(desk)
    assert len(seen) == 6


@pytest.mark.parametrize("name", ["report_badly", "nowhere"])
def test_a_reporter_that_fails_changes_no_answer(desk, set_around, caplog, name):
    set_around(EXCEPTION_REPORTER=f"{HERE}.{name}")
    add_things(desk)
    ask_everything(desk)
    assert f"The exception reporter {HERE}.{name} failed" in caplog.text


def test_a_fault_of_ours_is_reported_as_well(desk, set_around, seen, monkeypatch):
    set_around(EXCEPTION_REPORTER=f"{HERE}.report")
    add_things(desk)
    monkeypatch.setattr(type(desk), "listing_page_size", boom)
    with pytest.raises(MCPError, match="Internal error"):
        MCPClient(User.objects.create(username="ann"), server=desk).list_tools()
    assert seen == [("Boom", "secret", "tools/list", True, 1)]


def test_without_a_reporter_the_log_knows(desk, caplog):
    add_things(desk)
    ask_everything(desk)
    assert caplog.text.count("Boom: secret") == 5


@pytest.mark.parametrize("method", ["log", "report_progress"])
def test_a_client_that_cannot_be_told_is_reported_as_what_it_is(desk, set_around, seen, method, caplog):
    """X5: by the error that sending raised, and no other one in its place."""
    set_around(EXCEPTION_REPORTER=f"{HERE}.report")

    @desk.tool
    def talk(context: Context) -> str:
        """Tell the client something."""
        getattr(context, method)(*(("info", "text") if method == "log" else (1,)))
        raise AssertionError("the call went on")  # pragma: no cover - it never comes so far

    client = MCPClient(server=desk, revision="2025-11-25")
    with patch.object(QueueingOutbound, "notify", side_effect=Boom("broken pipe")):
        reply = client.request("tools/call", {"name": "talk", "_meta": {"progressToken": "p"}})
    assert reply["isError"]
    assert "broken pipe" not in str(reply)
    assert [entry[:3] for entry in seen] == [("Boom", "broken pipe", "tools/call")]
    assert "Boom: broken pipe" in caplog.text
