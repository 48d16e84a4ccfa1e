"""Async tools that wait for a legacy client where they stand, pings, and roots that change."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import override_settings

from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from django_mcp.running import close_lanes, lanes_in_use
from django_mcp.running.pauses import Pauses
from django_mcp.running.runs import Run
from django_mcp.running.threads import Job
from django_mcp.testing import MCPClient
from tests.stdio.client import talk

from .inline_site import roots_changed, runs, site
from .legacy_client import converse, open_session, reply, texts
from .live import LIMIT, OPEN, Live, legacy
from .rounds import BOOKING, CAPABILITIES, groups, usual_answer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def inline_site(settings):
    settings.ROOT_URLCONF = "tests.talking.inline_site"
    runs.clear()
    roots_changed.clear()
    yield
    close_lanes()


@pytest.fixture
def client():
    return open_session()


def conversation(client, name, arguments=None, **options):
    return asyncio.run(converse("consumer", client, name, arguments, **options))


async def no_lanes():
    """Once whoever held one has given it back."""
    until = time.monotonic() + 20
    while lanes_in_use():  # pragma: no branch - it may be so at once, or not
        assert time.monotonic() < until  # pragma: no cover - nor is it waited for then
        await asyncio.sleep(0.005)  # pragma: no cover - likewise


def test_a_loop_of_samples_runs_once(client):
    """S2C-06."""
    assert texts(conversation(client, "chat")) == "Hello Hello Hello"
    assert runs == ["chat"]
    assert groups() == ["chatted"]


def test_a_modern_client_is_asked_as_always():
    """S2C-06: and where a thread of somebody else would have to wait, a legacy one too."""
    client = MCPClient(server=site, revision=LATEST, capabilities=CAPABILITIES, answer=usual_answer)
    assert client.call_tool("chat").text == "Hello Hello Hello"
    assert len(runs) == 4


def test_inside_of_a_test_the_tool_runs_again():
    client = MCPClient(server=site, revision=LATEST_LEGACY, capabilities=CAPABILITIES, answer=usual_answer)
    assert client.call_tool("chat", {"times": 2}).text == "Hello Hello"
    assert len(runs) == 3


def test_who_waits_in_place_holds_no_lane_either(client):
    """S2C-04, MRTR-09."""

    async def steps():
        calls = [legacy("consumer", client.session, "read_and_ask", id=number) for number in range(12)]
        for call in calls:
            await call.start()
        for _ in range(2):
            refs = [(await call.event())["id"] for call in calls]
            await no_lanes()
            for ref in refs:
                await reply("consumer", client, ref, {"result": BOOKING})
        answers = [texts([await call.event()]) for call in calls]
        for call in calls:
            await call.ended()
        return answers

    answers = asyncio.run(steps())
    assert answers == ["done"] * 12
    assert runs == ["read"] * 12


def test_a_transaction_waits_for_nobody(client, caplog):
    """MRTR-09: what was written is undone."""
    [answer] = conversation(client, "write_and_ask")
    assert answer["result"]["isError"]
    assert "asked its client after it had written to the database" in caplog.text
    assert groups() == []


def test_what_other_tasks_want_meanwhile_is_done_on_the_next_connection():
    async def steps():
        loop, put, other = asyncio.get_running_loop(), [], Job(lambda: "done")

        def put_at_once(job):
            put.append(job)
            if job is other:
                job.run()
            else:
                loop.call_soon(ask_and_run, job)

        def ask_and_run(job):
            held.append(pauses.holds_back(other))
            job.run()

        call: Any = SimpleNamespace(has_begun=True, stop_reading=lambda: True, let_go=lambda: put.append("let go"))
        call.put_at_once, call.timer, call.add_time = put_at_once, None, lambda seconds: None
        held: list[bool] = []
        pauses = Pauses(call)
        assert not pauses.holds_back(other)
        async with pauses.pause():
            assert held == [True]
            assert put[1:] == ["let go", other]
            assert other.future.result() == "done"

    asyncio.run(steps())


def test_what_is_held_back_needs_no_connection():
    run = Run.__new__(Run)
    run._lease, run._pauses = None, Mock(holds_back=Mock(return_value=True))
    job = Job(print)
    run.put(job)
    run._pauses.holds_back.assert_called_once_with(job)
    assert run._lease is None


def test_tasks_of_one_tool_wait_side_by_side(client):
    assert texts(conversation(client, "ask_side_by_side")) == "6"
    assert runs == ["side by side"]


def test_a_tool_has_its_time_for_itself(client):
    """A person may take longer than the time limit of the tool, which goes on counting after it."""

    async def steps(then):
        call = legacy("consumer", client.session, "slow_person", {"then": then})
        await call.start()
        ref = (await call.event())["id"]
        await asyncio.sleep(0.7)
        await reply("consumer", client, ref, {"result": BOOKING})
        text = texts([await call.event()])
        await call.ended()
        return text

    assert asyncio.run(steps(0)) == "in time"
    assert "took longer than 0.5 seconds" in asyncio.run(steps(LIMIT))


def test_a_loop_of_samples_ends_by_itself(client):
    """SMP-06."""
    with override_settings(DJANGO_MCP={**OPEN, "MAX_ROUNDS": 4}):
        messages = conversation(client, "tool_loop")
    assert len(messages) == 5
    assert texts(messages) == "The client was asked 4 times in one call, which is all that is allowed."


def test_a_call_that_waits_in_place_can_be_cancelled(client):
    async def steps():
        call = legacy("consumer", client.session, "chat", id=5)
        await call.start()
        question = await call.event()
        params = {"requestId": 5}
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await Live("consumer", notice, client.session_headers).ended()
        assert (await call.event())["params"]["requestId"] == question["id"]
        assert await call.frame() == b": cancelled\n\n"
        await call.rest()
        await call.ended()

    asyncio.run(steps())
    assert groups() == []


@pytest.mark.parametrize("name", ["pinging", "apinging"])
def test_a_client_that_is_there_answers_a_ping(client, name):
    """S165."""
    messages = conversation(client, name, answer=lambda request: {})
    assert {message["method"] for message in messages[:-1]} == {"ping"}
    assert texts(messages) == "there"
    tester = MCPClient(server=site, revision=LATEST_LEGACY)
    assert tester.call_tool(name).text == "there"


def test_a_client_that_is_away_does_not(client):
    """S158, S165, S167, CAN-08."""

    async def steps():
        call = legacy("consumer", client.session, "pinging")
        await call.start()
        ref = (await call.event())["id"]
        assert (await call.event())["params"] == {"requestId": ref, "reason": "No reply came in time"}
        assert texts([await call.event()]) == "The client answered with an error: No reply came in time (-32001)"
        await call.ended()

    asyncio.run(steps())


@pytest.mark.parametrize("name", ["pinging", "apinging"])
def test_a_modern_client_cannot_be_pinged(name):
    """S52, S165: its requests get no requests of the server."""
    answer = MCPClient(server=site, revision=LATEST).call_tool(name)
    assert answer.is_error
    assert answer.text.startswith("A client of 2026-07-28 cannot be pinged")


def test_roots_are_asked_for_again_in_each_call(client):
    """S2C-07, RTS-01, S137, S198: nothing that has changed is remembered, and the site may hear of it."""
    roots = ["file:///a"]

    def answer(request):
        return {"roots": [{"uri": uri} for uri in roots]}

    assert texts(conversation(client, "where", answer=answer)) == "file:///a"
    roots[:] = ["file:///b", "file:///c"]
    assert client.notify("notifications/roots/list_changed").status == 202
    assert texts(conversation(client, "where", answer=answer)) == "file:///b file:///c"
    assert roots_changed == ["inline"]


def test_roots_change_over_stdio():
    """S2C-07, S137."""

    async def steps(client):
        await client.initialize()
        client.notify("notifications/roots/list_changed")
        await client.exchange.drain(20)
        assert roots_changed == ["inline"]

    talk(steps, server=site)


def test_a_tool_use_without_its_result_is_not_sent(client):
    """SMP-04."""
    [answer] = conversation(client, "unanswered_tools")
    assert texts([answer]) == "Tools were used as 1 and their results are missing."
