"""Questions to legacy clients: requests of ours on the call's own stream, and replies by POST."""

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db import OperationalError, connection
from django.test import override_settings

from django_mcp.models import PendingRequest
from django_mcp.server.rates import BURST, RateLimit
from django_mcp.transports.shutdown import detached_exchanges
from tests.stdio.client import talk
from tests.wire.client import WireClient
from tests.wire.doors import consumer

from .asking_site import runs, site
from .legacy_client import ask, asked, open_session, reply, texts
from .live import LIMIT, OPEN, Live, legacy, notices
from .rounds import BOOKING, CAPABILITIES, Talk, groups, text_of, usual_answer

pytestmark = pytest.mark.usefixtures("asking_site")


@pytest.fixture
def client(db, asking_site):
    return open_session()


def test_a_question_rides_the_stream_of_its_call(door, client):
    """S2C-02, RPC-10, S161, S166, ELI-01: and the function runs again when the reply is there."""
    messages = ask(door, client, "book")
    [question] = asked(messages)
    assert question["method"] == "elicitation/create"
    assert question["params"]["mode"] == "form"
    assert isinstance(question["id"], str)
    assert len(question["id"]) > 16
    assert texts(messages) == "3 guests of Ann"
    assert groups() == ["asked monday", "booked monday"]
    assert runs == ["book", "book"]
    assert not PendingRequest.objects.exists()


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("abook", "3 guests"),
        ("two_rounds", "2 blue"),
        ("at_once", "2 Hello m endTurn A"),
        ("in_tasks", "2 blue"),
        ("ask_model", "Hello"),
        ("aask_model", "Hello 2"),
        ("ask_roots", "file:///a file:///b"),
        ("remembering", "1 of 1"),
        ("delete_all", "deleted"),
        ("pay", "paid"),
        ("drop", "dropped"),
    ],
)
def test_one_source_serves_both_eras(client, tool, text):
    """S160, S164, S180."""
    arguments = {"kind": "cats"} if tool == "delete_all" else {}
    assert texts(ask("consumer", client, tool, arguments)) == text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("atomic_requests", [False, True])
def test_writes_before_and_after_a_question_are_there_once(door, atomic_requests, monkeypatch):
    """MRTR-16: the legacy half of it, whatever transaction a site wants around its requests."""
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic_requests)
    client = open_session()
    for tool, count in (("book", 2), ("abook", 2), ("slow_after_write", 1)):
        Group.objects.all().delete()
        messages = ask(door, client, tool)
        assert not messages[-1]["result"]["isError"]
        assert len(groups()) == count


def test_the_choices_of_a_form_may_be_rows(client, door):
    """Their queries run where the tool does, and not in the event loop."""
    Group.objects.create(name="first")
    row = Group.objects.create(name="second")
    answer = {"action": "accept", "content": {"group": str(row.pk)}}
    messages = ask(door, client, "choose_a_row", answer=lambda question: answer)
    assert texts(messages) == "second"
    [question] = asked(messages)
    assert question["params"]["requestedSchema"]["properties"]["group"]["oneOf"][-1]["title"] == "second"
    assert text_of(Talk(WireClient(consumer()), "choose_a_row").answer(q1=answer)) == "second"


def test_requests_by_hand_are_sent_as_requests(client):
    """S180."""

    def answer(request):
        return {"action": "accept", "content": {"x": 7}} if request.get("params") else {"roots": []}

    assert texts(ask("consumer", client, "by_hand", answer=answer)) == "7 0"


def test_the_older_revision_has_no_modes(db):
    """ELI-01, ELI-04."""
    client = open_session("2025-06-18")
    [question] = asked(ask("consumer", client, "book"))
    assert set(question["params"]) == {"message", "requestedSchema"}
    assert "default" not in question["params"]["requestedSchema"]["properties"]["name"]


@pytest.mark.parametrize(("tool", "code"), [("book", None), ("by_hand", -32603)])
def test_what_the_client_has_not_declared_is_not_asked(db, tool, code):
    """S2C-01, S161."""
    [answer] = ask("consumer", open_session(capabilities={}), tool)
    if code is None:
        assert answer["result"]["isError"]
        assert "capability elicitation" in answer["result"]["content"][0]["text"]
    else:
        assert answer["error"]["code"] == code


def test_an_error_of_the_client_is_one_of_the_tool(client):
    """S2C-05, S168."""

    async def steps():
        call = legacy("consumer", client.session, "ask_model")
        await call.start()
        question = await call.event()
        await reply("consumer", client, question["id"], {"error": {"code": -1, "message": "User rejected"}})
        assert texts([await call.event()]) == "The client answered with an error: User rejected (-1)"
        await call.ended()

    async_to_sync(steps)()


def test_an_answer_that_does_not_fit_fails_the_call(client):
    """ELI-16."""
    messages = ask("consumer", client, "book", answer=lambda request: {"action": "maybe"})
    assert texts(messages) == "The answer to q1 does not fit: action is not accept, decline or cancel"


def test_a_question_that_changes_is_asked_three_times(client):
    messages = ask("consumer", client, "restless")
    assert len(asked(messages)) == 3
    assert "'restless' was asked 3 times" in texts(messages)


def test_what_the_client_has_heard_is_not_told_again(client):
    """PRG-02: but what the rerun adds is."""
    messages = ask("consumer", client, "progress_and_ask", progressToken=1)
    assert [each["progress"] for each in notices(messages, "notifications/progress")] == [1, 2]
    assert [each["data"] for each in notices(messages, "notifications/message")] == ["begun", "begun", "asked"]


@pytest.mark.parametrize("kind", ["stranger", "unknown", "number", "twice"])
def test_only_the_first_reply_of_the_session_that_was_asked_counts(client, kind):
    """BL-012, S169, RPC-27."""
    stranger = open_session()

    async def steps():
        call = legacy("consumer", client.session, "book")
        await call.start()
        ref = (await call.event())["id"]
        other = {"result": {"action": "decline"}}
        if kind == "twice":
            await reply("consumer", client, ref, {"result": BOOKING})
            await reply("consumer", client, ref, other)
        else:
            sender = stranger if kind == "stranger" else client
            await reply("consumer", sender, {"stranger": ref, "unknown": "x" * 70, "number": 7}[kind], other)
            await reply("consumer", client, ref, {"result": BOOKING})
        assert texts([await call.event()]) == "3 guests of Ann"
        await call.ended()

    async_to_sync(steps)()


def test_a_reply_counts_though_its_row_cannot_be_removed(client, caplog, monkeypatch):
    def away(refs):
        raise OperationalError("away")

    monkeypatch.setattr("django_mcp.transports.replies.close_requests", away)
    assert texts(ask("consumer", client, "book")) == "3 guests of Ann"
    assert "A question was not removed: away" in caplog.text


@override_settings(DJANGO_MCP={**OPEN, "TOOL_RATE": 1})
def test_a_call_that_runs_again_counts_as_one(client, monkeypatch):
    """SEC-12: a client is not charged for what the server asks it."""
    monkeypatch.setattr(site, "calls", RateLimit(lambda: 0.0))
    for _ in range(int(BURST)):
        assert texts(ask("consumer", client, "two_rounds")) == "2 blue"
    assert texts(ask("consumer", client, "two_rounds")).startswith("Too many calls")


@override_settings(DJANGO_MCP={**OPEN, "STATE_TTL": 0.2})
def test_a_client_that_does_not_reply_is_given_up(door, client):
    """S167, INIT-14, CAN-08."""

    async def steps():
        call = legacy(door, client.session, "book")
        await call.start()
        question = await call.event()
        withdrawn = await call.event()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "No reply came in time"}
        assert texts([await call.event()]) == "The client answered with an error: No reply came in time (-32001)"
        await call.ended()

    async_to_sync(steps)()
    assert not PendingRequest.objects.exists()


def test_a_call_that_is_cancelled_while_it_waits_takes_its_question_back(door, client):
    """S156, CAN-08."""

    async def steps():
        call = legacy(door, client.session, "book", id=9)
        await call.start()
        question = await call.event()
        params = {"requestId": 9}
        notice = Live(
            door, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}, client.session_headers
        )
        await notice.start()
        await notice.ended()
        withdrawn = await call.event()
        assert withdrawn["params"]["requestId"] == question["id"]
        assert await call.frame() == b": cancelled\n\n"
        assert await call.frame() == b""
        await call.ended()

    async_to_sync(steps)()
    assert not PendingRequest.objects.exists()


def test_a_session_that_ends_ends_the_question(client):
    """S171."""

    async def steps():
        call = legacy("consumer", client.session, "book")
        await call.start()
        await call.event()
        delete = Live("consumer", None, client.session_headers, method="DELETE")
        status, _ = await delete.start()
        assert status == 204
        await delete.ended()
        assert texts([await call.event()]) == "The client answered with an error: The session has ended (-32001)"
        await call.ended()

    async_to_sync(steps)()


def test_a_client_that_hangs_up_may_reply_all_the_same(client):
    """S2C-04, LH-14."""

    async def steps():
        call = legacy("consumer", client.session, "book")
        await call.start()
        ref = (await call.event())["id"]
        call.hang_up()
        await call.ended()
        await reply("consumer", client, ref, {"result": BOOKING})
        await detached_exchanges.drain(LIMIT)
        assert len(detached_exchanges) == 0

    async_to_sync(steps)()
    assert groups() == ["asked monday", "booked monday"]


@override_settings(DJANGO_MCP={**OPEN, "STATE_TTL": 0.3})
def test_one_reply_of_three_is_not_enough(client):
    async def steps():
        call = legacy("consumer", client.session, "at_once")
        await call.start()
        questions = [await call.event() for _ in range(3)]
        await reply("consumer", client, questions[0]["id"], {"result": usual_answer(questions[0])})
        withdrawn = [await call.event() for _ in range(2)]
        assert {each["params"]["requestId"] for each in withdrawn} == {each["id"] for each in questions[1:]}
        assert "No reply came in time" in texts([await call.event()])
        await call.ended()

    async_to_sync(steps)()


@override_settings(DJANGO_MCP={**OPEN, "STATE_TTL": 0.2})
def test_a_client_that_does_not_reply_over_stdio_is_given_up():
    """W13, CAN-08."""

    async def steps(client):
        await greet(client)
        client.send(client.request("tools/call", {"name": "two_rounds", "arguments": {}}))
        question = await client.receive()
        withdrawn = await client.receive()
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "No reply came in time"}
        assert texts([await client.receive()]) == "The client answered with an error: No reply came in time (-32001)"

    talk(steps, server=site)


async def greet(client):
    """The handshake of a client over stdio that can be asked everything."""
    about = {"clientInfo": {"name": "c", "version": "1"}, "capabilities": CAPABILITIES}
    await client.legacy("initialize", {"protocolVersion": "2025-11-25", **about})


def test_stdio_asks_in_both_eras():
    """STD-06, STD-07, S202."""

    async def steps(client):
        await greet(client)
        client.send(client.request("tools/call", {"name": "two_rounds", "arguments": {}}))
        for _ in range(2):
            question = await client.receive()
            client.send({"jsonrpc": "2.0", "id": "unknown", "result": {}})
            for _ in range(2):
                client.send({"jsonrpc": "2.0", "id": question["id"], "result": usual_answer(question)})
        assert texts([await client.receive()]) == "2 blue"
        client.send(client.request("tools/call", {"name": "two_rounds", "arguments": {}}, id="c"))
        question = await client.receive()
        client.notify("notifications/cancelled", requestId="c")
        assert (await client.receive())["params"]["requestId"] == question["id"]
        request = client.enveloped("tools/call", {"name": "two_rounds", "arguments": {}})
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = CAPABILITIES
        result = (await client.ask(request))["result"]
        assert result["resultType"] == "input_required"

    talk(steps, server=site)
