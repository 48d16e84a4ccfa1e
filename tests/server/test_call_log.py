"""One structured record a call, and what stays out of it."""

import logging
from contextlib import suppress

import pytest
from django.contrib.auth.models import User

from django_mcp.testing import MCPClient, MCPError

pytestmark = pytest.mark.django_db

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def add_things(desk):
    @desk.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @desk.resource("note://a")
    def note() -> str:
        """A note."""
        return "text"

    @desk.resource_template("user://{pk}")
    def user(pk: str) -> str:
        """A user."""
        return pk


def test_a_record_has_all_that_a_search_needs(desk, records):
    """S195, TRC-01, M13"""
    add_things(desk)
    ann = User.objects.create(username="ann")
    client = MCPClient(ann, server=desk, client_info={"name": "cli\nent", "version": "9"})
    meta = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "b=2"}
    client.request("tools/call", {"name": "add", "arguments": {"a": 987_654_321, "b": 2}, "_meta": meta})
    [record] = records()
    fields = {key: value for key, value in vars(record).items() if key.startswith("mcp_")}
    assert 0 < fields.pop("mcp_duration") < 5
    assert fields == {
        "mcp_server": "desk",
        "mcp_method": "tools/call",
        "mcp_name": "add",
        "mcp_user": ann.pk,
        "mcp_principal": f"user:{ann.pk}",
        "mcp_revision": "2026-07-28",
        "mcp_era": "modern",
        "mcp_outcome": "ok",
        "mcp_code": None,
        "mcp_client": "cli\N{REPLACEMENT CHARACTER}ent",
        "mcp_client_version": "9",
        "mcp_traceparent": PARENT,
        "mcp_tracestate": "a=1",
        "mcp_baggage": "b=2",
    }
    assert record.getMessage().startswith(f"tools/call add by user:{ann.pk}: ok in ")
    assert "987654321" not in record.getMessage()


def test_failures_are_records_too(desk, records):
    add_things(desk)
    client = MCPClient(server=desk, revision="2025-11-25")
    for name, arguments in (("nope\nINFO forged", {}), ("add", {"a": "x"})):
        with suppress(MCPError):
            client.call_tool(name, arguments)
    found = [(one.mcp_method, one.mcp_outcome, one.mcp_code, one.mcp_user) for one in records()]
    assert found[0] == ("initialize", "ok", None, None)
    assert found[-2:] == [("tools/call", "error", -32602, None), ("tools/call", "tool_error", None, None)]
    assert not any("\n" in one.getMessage() for one in records())


def test_the_variables_of_a_uri_are_arguments(desk, records):
    add_things(desk)
    client = MCPClient(server=desk)
    for uri in ("note://a", "user://secret", "other://secret"):
        with suppress(MCPError):
            client.read_resource(uri)
    assert [one.mcp_name for one in records()] == ["note://a", "user://{pk}", None]
    assert not any("secret" in str(vars(one)) for one in records())


def test_arguments_are_there_if_a_setting_asks(desk, records, set_around):
    add_things(desk)
    client = MCPClient(server=desk)
    client.call_tool("add", {"a": 1, "b": 2})
    set_around(LOG_ARGUMENTS=True)
    client.call_tool("add", {"a": 1, "b": 2})
    client.request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    assert [hasattr(one, "mcp_arguments") for one in records()] == [False, True, True]
    assert records()[1].mcp_arguments == {"name": "add", "arguments": {"a": 1, "b": 2}}


def test_no_record_is_made_where_nobody_asked_for_it(desk, caplog):
    caplog.set_level(logging.WARNING, "django_mcp.calls")
    add_things(desk)
    assert desk.services.hooks.is_idle(desk)
    MCPClient(server=desk).list_tools()
    assert not caplog.records


def test_signals_alone_make_no_record(desk, caplog):
    from django_mcp.signals import request_finished

    def listen(**values):
        pass

    caplog.set_level(logging.WARNING, "django_mcp.calls")
    request_finished.connect(listen)
    try:
        add_things(desk)
        assert not desk.services.hooks.is_idle(desk)
        MCPClient(server=desk).list_tools()
    finally:
        request_finished.disconnect(listen)
    assert not caplog.records


def test_nothing_that_a_client_made_up_begins_a_line_of_a_log(desk, caplog):
    """What fails is named in the log, and the name of a resource is the client's own."""
    caplog.set_level("INFO", "django_mcp")

    @desk.resource_template("file://{+path}")
    def read(path: str) -> str:
        raise RuntimeError

    @desk.read_resource
    def other(uri: str) -> None:
        raise RuntimeError

    @desk.notification("notifications/example/note")
    def note(text: str) -> None: ...

    client = MCPClient(server=desk, client_info={"name": "a\nFORGED", "version": "\rFORGED"})
    for uri in ("file://a\nFORGED", "other:\r\nFORGED", "file://" + "a" * 5000):
        with suppress(MCPError):
            client.read_resource(uri)
    client.notify("notifications/example/note", {"text\nFORGED": 1})
    messages = [record.getMessage() for record in caplog.records if record.name != "django_mcp.calls"]
    assert len(messages) == 4
    assert not any(message.splitlines()[1:] for message in map(logging.LogRecord.getMessage, caplog.records))
    assert max(map(len, messages)) < 500
