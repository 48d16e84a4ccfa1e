"""Answers that count for one call, in calls that ask again after them."""

import asyncio
import time
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import Group
from django.test import override_settings

from django_mcp.models import PendingRequest, SpentState
from django_mcp.running import close_lanes
from django_mcp.server import askers, rounds

from .live import Live
from .paging import BEARER, CONSENT, INFO, URL_MODE, Talk, client_of, submit, text_of_message
from .rounds import BOOKING, COLOUR, groups, refused, text_of
from .rounds import Talk as AnyTalk

NOT_GIVEN_BACK = (
    "The answer of a page counts for one call, and a tool with atomic=False cannot give it back to ask again: it "
    "asks everything else first."
)


@pytest.fixture(autouse=True)
def once_site(db, settings):
    settings.ROOT_URLCONF = "tests.talking.once_site"
    settings.DJANGO_MCP = BEARER


@pytest.fixture
def client(ann):
    return client_of(ann)


@pytest.fixture
def session(client):
    params = {"protocolVersion": "2025-11-25", "capabilities": URL_MODE, "clientInfo": INFO}
    client.session = client.post(client.message("initialize", params)).header("Mcp-Session-Id")
    client.version = "2025-11-25"
    return client


async def finish(session, browser, name):
    """The answer of a legacy call whose questions are all answered, and the addresses it had."""
    headers = {**session.headers, **session.session_headers}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    call, urls = Live("consumer", message, headers), []
    await call.start()
    while "result" not in (message := await call.event()):
        if "id" not in message:
            continue
        url = message["params"].get("url")
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": BOOKING if url is None else CONSENT}
        await Live("consumer", reply, headers).ended()
        if url is not None:
            await sync_to_async(submit)(browser, url)
            urls.append(url)
    await call.ended()
    return text_of_message(message), urls


def given(talk, **responses):
    return {"inputResponses": responses, "requestState": talk.last.result["requestState"]}


def test_an_answer_that_a_run_had_used_is_used_by_the_run_after_it_too(client, browser):
    """MRTR-08: the first run of the request was undone, its use of the answer with it."""
    talk = Talk(client, "consent_then_page")
    consented = given(talk, q1=COLOUR)
    talk.answer(q1=COLOUR)
    submit(browser, talk.url)
    with patch("django_mcp.server.askers._read_pages"):  # the page was submitted while the function ran
        assert text_of(talk.send(requestState=talk.last.result["requestState"])) == "done"
    assert SpentState.objects.count() == 1
    assert refused(talk.send(**consented))
    assert groups() == ["done"]


@pytest.mark.parametrize("tool", ["try_again", "go_on"])
@pytest.mark.parametrize("on_page", [False, True])
def test_an_answer_whose_use_was_undone_within_the_run_is_used_all_the_same(client, browser, tool, on_page):
    """MRTR-08: the tool has caught the error that undid it, and reads the answer again, or commits without it."""
    talk = Talk(client, tool, {"on_page": on_page})
    consented = given(talk, consent=CONSENT if on_page else COLOUR)
    if on_page:
        submit(browser, talk.url)
    assert text_of(talk.send(**consented)) == "done"
    talk.send(**consented)
    assert groups() == ["done 0"]


@pytest.mark.parametrize(("method", "name"), [("prompts/get", "go_on"), ("resources/read", "once://go-on")])
def test_prompts_and_resources_keep_the_uses_of_their_answers_too(client, method, name):
    """MRTR-08, MRTR-02."""
    talk = AnyTalk(client, name, method=method)
    consented = given(talk, consent=COLOUR)
    assert "error" not in talk.send(consented).json
    assert refused(talk.send(consented))
    assert groups() == ["done 0"]


@pytest.mark.parametrize("tool", ["loose", "loose_and_destructive"])
def test_a_tool_without_a_transaction_may_ask_again_after_it(client, tool):
    """MRTR-08: and each of its states is good once."""
    talk = Talk(client, tool)
    first = given(talk, q1=COLOUR)
    talk.answer(q1=COLOUR)
    assert groups() == ["consented"]
    assert refused(talk.send(**first))
    assert groups() == ["consented"]


@pytest.mark.parametrize("tool", ["loose", "loose_and_destructive"])
def test_a_tool_without_a_transaction_comes_to_its_end(client, tool):
    talk = Talk(client, tool)
    talk.answer(q1=COLOUR)
    Group.objects.all().delete()
    last = given(talk, q2=BOOKING)
    assert text_of(talk.answer(q2=BOOKING)) == "for Ann"
    assert refused(talk.send(**last))
    assert groups() == ["consented"]


def test_a_page_cannot_be_given_back_without_a_transaction(client, browser):
    """MRTR-08: so the modern client, which would have to open it again and again, is told."""
    talk = Talk(client, "page_then_form")
    submit(browser, talk.url)
    assert text_of(talk.answer()) == NOT_GIVEN_BACK
    talk = Talk(client, "form_then_page")
    talk.answer(q1=BOOKING)
    submit(browser, talk.url)
    assert text_of(talk.answer()) == "ann@mail for Ann"


@pytest.mark.parametrize("tool", ["page_then_form", "form_then_page"])
def test_a_client_that_waits_on_its_stream_opens_such_a_page_once(session, browser, tool):
    text, urls = async_to_sync(finish)(session, browser, tool)
    assert (text, len(urls)) == ("ann@mail for Ann", 1)
    assert not PendingRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("tool", "expected", "count"),
    [
        ("wait_here", "ann@mail ann@mail ann@mail for Ann", 2),
        ("wait_and_stop", "ann@mail for Ann", 1),
        ("wait_and_stop_twice", "ann@mail ann@mail for Ann", 2),
    ],
)
def test_a_function_that_waits_where_it_stands_may_ask_again_after_a_page(session, browser, tool, expected, count):
    """S2C-06: the page is used up without a transaction that would have to wait for a person."""
    try:
        text, urls = asyncio.run(finish(session, browser, tool))
    finally:
        close_lanes()
    assert (text, len(urls)) == (expected, count)
    assert not PendingRequest.objects.exists()


class TestTheEndOfAConversation:
    """MRTR-08: what was used is remembered for longer than any state of the conversation is good."""

    @pytest.fixture
    def clock(self, settings, monkeypatch):
        settings.DJANGO_MCP = {**BEARER, "MAX_ROUNDS": 2, "STATE_TTL": 600}
        now = SimpleNamespace(seconds=time.time())
        now.time = lambda: now.seconds
        monkeypatch.setattr(askers, "time", now)
        monkeypatch.setattr(rounds, "time", now)
        return now

    def test_is_when_all_its_rounds_could_have_been_asked(self, client, clock):
        talk = Talk(client, "consent_then_page")
        ends = clock.seconds + 3 * 600
        for seconds in (500, 1000, 1500, 1799):
            clock.seconds = ends - 1800 + seconds
            talk.answer(q1=COLOUR)  # a page may be put any number of times
            assert talk.url
        clock.seconds = ends
        assert refused(talk.answer())

    def test_is_noted_with_what_was_used(self, client, clock):
        ends = clock.seconds + 3 * 600
        talk = Talk(client, "loose")
        clock.seconds += 599
        talk.answer(q1=COLOUR)
        assert SpentState.objects.get().expires.timestamp() == pytest.approx(ends, abs=1)


@override_settings(DJANGO_MCP={**BEARER, "MAX_ROUNDS": 2})
def test_a_page_that_is_not_done_yet_is_no_further_round(client, browser):
    """The person may take their time."""
    talk = Talk(client, "form_then_page")
    talk.answer(q1=BOOKING)
    for _ in range(5):
        talk.answer()
    submit(browser, talk.url)
    assert text_of(talk.answer()) == "ann@mail for Ann"
