"""Rows of the bug log about legacy sessions and the life of their calls and streams."""

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import OperationalError, connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_mcp.models import AccessToken, Session
from django_mcp.sessions import touch_session
from django_mcp.transports import session_use, sweeps
from tests.shop.mcp import gate
from tests.wire.client import WireClient
from tests.wire.test_bug_cases_crowds import comes_true
from tests.wire.test_connections import Connection, happened, in_a_loop, stream_headers, tool_call

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
STREAM = {"Accept": "text/event-stream"}


def asking(client, verb, headers):
    """The verb with the session that *headers* name, as the client would send it."""
    if verb == "POST":
        return client.legacy("ping", headers=headers, id=4)
    return client.send(verb, headers={**client.session_headers, **headers, **STREAM})


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("end", ["delete", "age", "idleness"])
def test_a_session_that_has_ended_is_not_found_by_any_verb(client, verb, end):
    """BL-051, LH-31: in JSON, with the id of the request if there is one."""
    if verb == "GET" and not client.door.can_stream:
        pytest.skip("no streams here")
    client.initialize()
    now = timezone.now()
    if end == "delete":
        assert client.send("DELETE", headers=client.session_headers).status == 204
    elif end == "age":
        Session.objects.update(expires=now)
    else:
        Session.objects.update(last_seen=now - timedelta(days=1))
    answer = asking(client, verb, {})
    assert (answer.status, answer.header("Content-Type")) == (404, "application/json")
    assert answer.error["code"] == -32001
    assert answer.json.get("id") == (4 if verb == "POST" else None)


def test_nobody_else_opens_a_stream_of_a_session(door):
    """BL-012, SEC-03, LH-40: the answer has the bytes of one for an unknown session."""
    if not door.can_stream:
        pytest.skip("no streams here")
    with override_settings(DJANGO_MCP={}):
        clients = [
            WireClient(door, headers={"Authorization": f"Bearer {AccessToken.objects.issue(user)[1]}"})
            for user in (User.objects.create(username="ann"), User.objects.create(username="bob"))
        ]
        clients[0].initialize()
        foreign = asking(clients[1], "GET", {"Mcp-Session-Id": clients[0].session})
        unknown = asking(clients[1], "GET", {"Mcp-Session-Id": "unknown"})
        assert (foreign.status, foreign.body) == (404, unknown.body)
        assert clients[0].legacy("ping").status == 200


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/event-stream", 200),
        ("*/*", 200),
        ("text/*", 200),
        (None, 200),
        ("application/json, text/event-stream;q=0.1", 200),
        ("text/html", 406),
        ("application/json", 406),
        ("text/event-stream;q=0", 406),
        ("*/*;q=0", 406),
    ],
)
@in_a_loop
async def test_a_get_takes_a_stream_in_every_spelling(session, accept, status):
    """LH-01, S206, BL-048, BL-049, LH-16."""
    headers = [("Mcp-Session-Id", session)] + ([("Accept", accept)] if accept else [])
    connection_ = Connection("GET", headers)
    [start] = await connection_.until_sent(1)
    assert start["status"] == status
    connection_.hang_up()
    await connection_.ended()


@in_a_loop
async def test_a_dead_stream_does_not_lock_out_the_next(session):
    """X10, BL-024: the first client is gone without a word."""
    dead = Connection("GET", stream_headers(session))
    await dead.until_sent(2)
    alive = Connection("GET", stream_headers(session))
    start, _first = await alive.until_sent(2)
    assert start["status"] == 200
    for one in (dead, alive):
        one.hang_up()
        await one.ended()


@in_a_loop
async def test_a_stream_of_one_event_does_not_close_the_open_stream(session):
    """BL-055, LH-20: a POST that is answered as a stream, while a GET stream is open."""
    open_stream = Connection("GET", stream_headers(session))
    await open_stream.until_sent(2)
    call = Connection(headers=stream_headers(session), body=b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    await call.ended()
    assert call.sent[1]["body"].startswith(b"event: message\n")
    assert not open_stream.task.done()
    open_stream.hang_up()
    await open_stream.ended()


def test_an_idle_stream_asks_the_database_nothing(session, monkeypatch):
    """BL-102: not before its session has to be touched."""
    monkeypatch.setattr(sweeps, "KEEP_ALIVE_SECONDS", 0.005)
    monkeypatch.setattr(sweeps, "SWEEP_EVERY", 0.005)

    async def scenario():
        stream = Connection("GET", stream_headers(session))
        await stream.until_sent(2)
        before = len(connection.queries_log)
        await stream.until_sent(10)
        assert len(connection.queries_log) == before
        stream.hang_up()
        await stream.ended()

    with CaptureQueriesContext(connection) as queries:
        async_to_sync(scenario)()
    assert len(queries) > 0  # the session was looked up


@pytest.mark.parametrize(
    "params",
    [None, {"requestId": "1"}, {"requestId": "unknown"}, {"requestId": None}, {"requestId": {}}, {"reason": "x"}],
)
@in_a_loop
async def test_a_cancellation_that_fits_nothing_is_accepted_and_changes_nothing(session, params):
    """BL-027, CAN-02, INIT-10: among others, "1" does not cancel 1."""
    call = tool_call("wait_at_gate", session=session)
    await happened(gate.entered)
    members = '"jsonrpc":"2.0","method":"notifications/cancelled"'
    if params is not None:
        text = str(params).replace("'", '"').replace("None", "null")
        members += f',"params":{text}'
    notice = Connection(headers=[("Mcp-Session-Id", session)], body=f"{{{members}}}".encode())
    await notice.ended()
    assert [notice.sent[0]["status"], notice.sent[1]["body"]] == [202, b""]
    gate.opened.set()
    await call.ended()
    assert gate.outcome == "finished"
    assert [message["type"] for message in call.sent] == ["http.response.start", "http.response.body"]


IDLE = override_settings(DJANGO_MCP={**OPEN, "SESSION_IDLE": 1000})


def make_idle():
    Session.objects.update(last_seen=timezone.now() - timedelta(hours=1))


@IDLE
def test_a_long_call_keeps_its_session_from_being_cleared(session, monkeypatch):
    """X11, BL-059: the clean-up runs while the call does, and the call's end is the session's last use."""
    monkeypatch.setattr(session_use, "touch_interval", lambda: 0.005)

    async def scenario():
        call = tool_call("wait_at_gate", session=session)
        await happened(gate.entered)
        await comes_true(lambda: touched > 1)
        gate.opened.set()
        await call.ended()

    touched = 0

    def counted(state):
        nonlocal touched
        touched += 1
        return touch(state)

    touch = touch_session
    monkeypatch.setattr(session_use, "touch_session", counted)
    make_idle()
    monkeypatch.setattr("django_mcp.sessions._idle_since", lambda now: now - timedelta(days=1))
    async_to_sync(scenario)()
    monkeypatch.undo()
    call_command("mcp_clear", verbosity=0)
    assert timezone.now() - Session.objects.get().last_seen < timedelta(minutes=1)


def test_nobody_holds_on_to_a_session_that_ends_during_a_call(session, monkeypatch):
    """BL-059: the call is answered all the same (LH-14)."""
    touches: list[bool] = []
    monkeypatch.setattr(session_use, "touch_interval", lambda: 0.005)
    monkeypatch.setattr(session_use, "touch_session", lambda state: touches.append(True))

    async def scenario():
        call = tool_call("wait_at_gate", session=session)
        await happened(gate.entered)
        await comes_true(lambda: touches)
        await asyncio.sleep(0.02)
        assert len(touches) == 1
        gate.opened.set()
        await call.ended()
        assert call.sent[0]["status"] == 200

    async_to_sync(scenario)()


def test_a_long_call_ends_as_use_of_its_session_through_every_door(client, monkeypatch):
    """BL-059."""
    client.initialize()
    monkeypatch.setattr(session_use, "touch_interval", lambda: 0)
    monkeypatch.setattr("django_mcp.sessions._note_use", lambda *args: noted.append(args))
    noted: list = []
    assert client.legacy("ping").result == {}
    assert len(noted) >= 2  # when the session was found, and at the end of the call


def test_a_use_that_cannot_be_noted_fails_no_call(client, monkeypatch, caplog):
    """BL-059, BL-087."""

    def locked(state):
        raise OperationalError("database is locked")

    client.initialize()
    monkeypatch.setattr(session_use, "touch_interval", lambda: 0)
    monkeypatch.setattr(session_use, "touch_session", locked)
    assert client.legacy("ping").result == {}
    assert "database is locked" in caplog.text


def test_sessions_without_a_delete_are_cleared(client):
    """BL-060."""
    for _ in range(100):
        client.initialize()
    assert Session.objects.count() == 100
    make_idle()
    call_command("mcp_clear", verbosity=0)
    assert not Session.objects.exists()
    assert client.legacy("tools/list").status == 404


def test_levels_belong_to_their_sessions(door):
    """X7, BL-082, LOG-02."""
    if not door.can_stream:
        pytest.skip("no logging where nothing can be sent")
    one, two = WireClient(door), WireClient(door)
    for client, level in ((one, "error"), (two, "debug")):
        client.initialize()
        assert client.legacy("logging/setLevel", {"level": level}).result == {}
    assert sorted(Session.objects.values_list("log_level", flat=True)) == ["debug", "error"]
    for params in ({"level": "verbose"}, {"level": "ERROR"}, {"level": None}, {"level": 3}, {}):
        assert one.legacy("logging/setLevel", params).error["code"] == -32602
    assert sorted(Session.objects.values_list("log_level", flat=True)) == ["debug", "error"]


@pytest.mark.parametrize("message", [{}, {"params": {}}, {"params": None}, {"params": []}])
def test_a_handshake_without_params_opens_nothing(client, message):
    """BL-095."""
    answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", **message})
    assert answer.error["code"] == -32602
    assert (answer.status in (200, 400), answer.header("Mcp-Session-Id")) == (True, None)
    assert not Session.objects.exists()


@pytest.mark.parametrize("token", [0, "", "0", 7, True, 1.5, None, {}], ids=ascii)
def test_a_progress_token_of_any_kind_is_no_crash(client, token):
    """BL-080, META-11: what is neither string nor integer is ignored, or refused in the strict era."""
    params = {"name": "noargs", "_meta": {"progressToken": token}}
    assert client.call_tool("2025-11-25", "noargs")["content"]
    assert client.legacy("tools/call", params).result["content"][0]["text"] == "ok"
    answer = client.modern("tools/call", {"name": "noargs"}, meta={"progressToken": token})
    assert answer.status == (200 if token is None or type(token) in (int, str) else 400)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("era", ["modern", "2025-11-25"])
def test_requests_that_are_atomic_keep_calls_all_or_nothing(client, era, monkeypatch):
    """BL-101: with ATOMIC_REQUESTS the failed tool leaves no row, the good one and the session stay."""
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert client.call_tool(era, "make_row", {"name": "ann"})["content"][0]["text"] == "ann"
    assert client.call_tool(era, "make_row_then_boom", {"name": "eve"})["isError"]
    assert client.call_tool(era, "amake_row", {"name": "bob"})["content"][0]["text"] == "bob"
    assert sorted(User.objects.values_list("username", flat=True)) == ["ann", "bob"]
    assert client.call(era, "tools/list").status == 200
