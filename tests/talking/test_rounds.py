"""Questions to modern clients: the request ends with them and comes back with the answers (MRTR)."""

import time

import pytest
from django.contrib.auth.models import Group, User
from django.test import override_settings

from django_mcp.models import AccessToken
from django_mcp.protocol.versions import Revision
from tests.wire.client import META, WireClient
from tests.wire.doors import WSGIDoor, consumer

from .asking_site import runs, site
from .rounds import BOOKING, DECLARED, Talk, groups, is_error, refused, text_of

OPEN = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}


def test_a_question_ends_the_request_and_its_answer_finishes_it(client):
    """TOOL-29, RPC-26, MRTR-01, MRTR-03, MRTR-04, MRTR-10, MRTR-11, MRTR-16, S173, S174, S175, ELI-01, ELI-05."""
    talk = Talk(client, "book", {"day": "friday"})
    assert set(talk.last.result) - {"_meta"} == {"resultType", "inputRequests", "requestState"}
    assert talk.requests == {
        "q1": {
            "method": "elicitation/create",
            "params": {
                "mode": "form",
                "message": "Who comes on friday?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"guests": {"type": "integer"}, "name": {"type": "string", "default": "nobody"}},
                    "required": ["guests"],
                },
            },
        }
    }
    assert groups() == []
    assert text_of(talk.answer()) == "3 guests of Ann"
    assert groups() == ["asked friday", "booked friday"]


def test_async_code_asks_in_the_same_way(client):
    talk = Talk(client, "abook")
    assert groups() == []
    assert text_of(talk.answer(q1={"action": "accept", "content": {"guests": "4"}})) == "5 guests"
    assert groups() == ["asked", "booked"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_may_say_no_or_nothing(one, action):
    """MRTR-14, ELI-05."""
    declined = action == "decline"
    assert text_of(Talk(one, "book").answer(q1={"action": action})) == f"{action} {declined} {not declined}"


def test_earlier_answers_travel_in_the_state(client):
    """MRTR-15."""
    talk = Talk(client, "two_rounds")
    first = talk.state
    assert list(talk.requests) == ["q1"]
    talk.answer()
    assert list(talk.requests) == ["q2"]
    assert talk.state != first
    assert text_of(talk.answer()) == "2 blue"


def test_several_questions_go_out_at_once(client):
    talk = Talk(client, "at_once")
    assert {key: one["method"] for key, one in talk.requests.items()} == {
        "who": "elicitation/create",
        "greeting": "sampling/createMessage",
        "q1": "roots/list",
    }
    assert text_of(talk.answer()) == "2 Hello m endTurn A"


def test_an_answer_that_is_missing_is_asked_for_again(one):
    """MRTR-12: and a key that nobody knows is ignored."""
    talk = Talk(one, "at_once")
    talk.send({"inputResponses": {"who": BOOKING, "stranger": 1}, "requestState": talk.state})
    assert set(talk.requests) == {"greeting", "q1"}
    assert text_of(talk.answer()) == "2 Hello m endTurn A"


def test_questions_of_several_tasks_are_one_round(one):
    talk = Talk(one, "in_tasks")
    asked = set(talk.requests)
    assert asked <= {"who", "colour"}
    assert text_of(talk.finish()) == "2 blue"


def test_a_failure_beside_a_question_is_a_failure(one):
    answer = Talk(one, "fails_in_tasks").last
    assert is_error(answer)
    assert text_of(answer) == "The tool failed because of an internal error. The details are in the server's log."


def test_no_except_exception_swallows_a_question(one):
    talk = Talk(one, "swallow")
    assert text_of(talk.answer()) == "2"


def test_the_client_s_model_and_its_roots_can_be_asked(one):
    """SMP-01, SMP-05, RTS-01, S160, S164."""
    talk = Talk(one, "ask_model", {"with_tools": True})
    params = talk.requests["q1"]["params"]
    assert params == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}],
        "maxTokens": 10,
        "systemPrompt": "Be brief",
        "temperature": 0.5,
        "tools": [{"name": "dice", "inputSchema": {"type": "object"}}],
    }
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "image/png"}]
    answer = {"role": "assistant", "content": blocks, "model": "m"}
    assert text_of(talk.answer(q1=answer)) == "a"
    assert text_of(Talk(one, "aask_model").finish()) == "Hello 2"
    assert text_of(Talk(one, "ask_roots").finish()) == "file:///a file:///b"


def test_prompts_and_resources_ask_too(client):
    """MRTR-02, MRTR-18, RES-18."""
    talk = Talk(client, "about", {"topic": "tea"}, method="prompts/get")
    assert talk.answer().result["messages"][0]["content"]["text"] == "tea for Ann"
    talk = Talk(client, "ask://name", method="resources/read")
    assert not {"ttlMs", "cacheScope"} & set(talk.last.result)
    assert talk.answer().result["contents"][0]["text"] == "Ann"


def test_nothing_else_can_ask(one, caplog):
    """MRTR-02."""
    params = {"ref": {"type": "ref/prompt", "name": "about"}, "argument": {"name": "topic", "value": "t"}}
    assert one.modern("completion/complete", params, meta=DECLARED).error["code"] == -32603
    assert "completion/complete cannot ask the client" in caplog.text


@pytest.mark.parametrize(
    ("tool", "needed"),
    [
        ("book", {"elicitation": {"form": {}}}),
        ("ask_model", {"sampling": {}}),
        ("ask_roots", {"roots": {}}),
        ("by_hand", {"elicitation": {"form": {}}}),
        ("raw_model", {"sampling": {"tools": {}}}),
    ],
)
def test_what_the_client_cannot_do_is_said(one, tool, needed):
    """MRTR-05, SMP-02, S176."""
    answer = one.modern("tools/call", {"name": tool})
    assert (answer.status, answer.error["code"]) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": needed}


def test_a_url_only_client_gets_no_form(one):
    """ELI-02."""
    capabilities = {f"{META}clientCapabilities": {"elicitation": {"url": {}}}}
    assert one.modern("tools/call", {"name": "book"}, meta=capabilities).error["code"] == -32021


def test_a_state_that_is_not_as_it_was_is_refused(client):
    """MRTR-06, S178, W9: with one sentence and without running anything."""
    talk = Talk(client, "book")
    state, ran = talk.state, len(runs)
    last = "A" if state[-1] != "A" else "B"
    for bad in (state[:-1] + last, state[:-4], "v1.", "v2." + state[3:], "é", "", 7, None, state + "=", "x" * 70_000):
        assert refused(talk.send({"inputResponses": {"q1": BOOKING}, "requestState": bad})), bad
    assert (len(runs), groups()) == (ran, [])


def test_a_state_is_good_for_its_own_request_alone(one):
    """MRTR-07, S177, S178."""
    talk = Talk(one, "book", {"day": "monday"})
    given = {"inputResponses": {"q1": BOOKING}, "requestState": talk.state}
    assert refused(talk.send(given, arguments={"day": "tuesday"}))
    assert refused(talk.send(given, name="two_rounds", arguments={}))
    elsewhere = WireClient(consumer(), path="/other")
    assert refused(elsewhere.modern("tools/call", {**talk.params, **given}, meta=DECLARED))
    assert groups() == []
    assert text_of(talk.send(given)) == "3 guests of Ann"


def test_a_state_is_good_at_its_own_path_alone(client):
    """MRTR-07: what the person was asked about one tenant is no answer about another."""
    client.path = "/of/ours"
    talk = Talk(client, "book")
    given = {"inputResponses": {"q1": BOOKING}, "requestState": talk.state}
    client.path = "/of/theirs"
    assert refused(talk.send(given))
    assert groups() == []
    client.path = "/of/ours"
    assert text_of(talk.send(given)) == "3 guests of Ann"


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken"})
def test_a_state_is_good_for_its_own_user_alone(one):
    """MRTR-07, SEC-05, BL-012."""
    clients = {}
    for name in ("ann", "bob"):
        _, value = AccessToken.objects.issue(User.objects.create(username=name))
        clients[name] = WireClient(consumer(), headers={"Authorization": f"Bearer {value}"})
    talk = Talk(clients["ann"], "book")
    given = {"inputResponses": {"q1": BOOKING}, "requestState": talk.state}
    assert refused(clients["bob"].modern("tools/call", {**talk.params, **given}, meta=DECLARED))
    assert text_of(talk.send(given)) == "3 guests of Ann"


def test_a_state_expires(one, monkeypatch):
    """MRTR-07."""
    talk = Talk(one, "book")
    later = time.time() + 601
    monkeypatch.setattr("django_mcp.server.rounds.time.time", lambda: later)
    assert refused(talk.send({"inputResponses": {"q1": BOOKING}, "requestState": talk.state}))


def test_a_state_survives_a_new_key_as_long_as_the_old_one_is_kept(one):
    """MRTR-19, S179."""
    talk = Talk(one, "book")
    given = {"inputResponses": {"q1": BOOKING}, "requestState": talk.state}
    with override_settings(SECRET_KEY="new"):
        assert refused(talk.send(given))
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=["tests"]):
        assert text_of(talk.send(given)) == "3 guests of Ann"


def test_answers_without_a_state_count_if_they_fit(one):
    """MRTR-17: one that does not is no answer."""
    talk = Talk(one, "book")
    assert text_of(talk.send({"inputResponses": {"q1": BOOKING}})) == "3 guests of Ann"
    Group.objects.all().delete()
    for odd in (
        7,
        None,
        {"action": "accept"},
        {"action": "accept", "content": {"guests": "many"}},
        {"action": "maybe"},
    ):
        talk.send({"inputResponses": {"q1": odd}})
        assert "q1" in talk.requests
    talk.send({"inputResponses": None})
    assert "q1" in talk.requests
    talk.send({"requestState": talk.state})
    assert "q1" in talk.requests


@pytest.mark.parametrize(
    ("tool", "odd", "hint"),
    [
        ("book", 7, "object"),
        ("book", {"action": "maybe"}, "action"),
        ("book", {"action": "accept", "content": 7}, "content"),
        ("book", {"action": "accept", "content": {"guests": True}}, "guests"),
        ("ask_model", {"role": "assistant", "model": "m", "content": 7}, "content"),
        ("ask_model", {"role": "assistant", "model": "m", "content": {"type": "text"}}, "text"),
        ("ask_model", {"role": "assistant", "content": {"type": "text", "text": "x"}}, "model"),
        ("ask_roots", {"roots": [1]}, "roots"),
    ],
    ids=range(8),
)
def test_an_answer_that_does_not_fit_its_question_is_refused(one, tool, odd, hint):
    """MRTR-13, ELI-16."""
    error = Talk(one, tool).answer(q1=odd).error
    assert error["code"] == -32602
    assert error["message"].startswith("inputResponses.q1: ")
    assert hint in error["message"]


def test_a_client_may_answer_with_an_error(one):
    """S2C-05, S168: the tool meets an exception of its own kind."""
    answer = Talk(one, "ask_model").answer(q1={"error": {"code": -1, "message": "User rejected"}})
    assert is_error(answer)
    assert text_of(answer) == "The client answered with an error: User rejected (-1)"


def test_a_question_that_changes_is_asked_three_times(one):
    talk = Talk(one, "restless")
    for _ in range(2):
        talk.answer()
    answer = talk.answer()
    assert is_error(answer)
    assert "'restless' was asked 3 times" in text_of(answer)


@override_settings(DJANGO_MCP={**OPEN, "MAX_ROUNDS": 2})
def test_a_call_asks_no_more_than_max_rounds(one):
    talk = Talk(one, "endless")
    talk.answer()
    answer = talk.answer()
    assert is_error(answer)
    assert "asked 2 times in one call" in text_of(answer)
    one_round = Talk(one, "by_hand")
    one_round.answer(raw={"action": "accept", "content": {"x": 1}})
    assert one_round.answer().result["content"][0]["text"] == "1 2"


@override_settings(DJANGO_MCP={**OPEN, "MAX_ROUNDS": 1})
def test_requests_built_by_hand_count_as_rounds(one):
    error = Talk(one, "by_hand").answer(raw={"action": "accept", "content": {"x": 1}}).error
    assert (error["code"], error["message"]) == (-32603, "The client was asked too often in one call")


@override_settings(DJANGO_MCP={**OPEN, "STATE_MAX_BYTES": 1000})
def test_a_state_that_grows_too_large_is_an_error(one):
    talk = Talk(one, "two_rounds")
    error = talk.answer(q1={"action": "accept", "content": {"guests": 1, "name": "x" * 1000}}).error
    assert error["code"] == -32603
    assert "1000 may travel" in error["message"]


def test_what_must_not_run_twice_is_remembered(client):
    talk = Talk(client, "remembering")
    assert text_of(talk.answer()) == "1 of 1"
    Group.objects.create(name="late")
    runs.clear()
    talk = Talk(client, "aremembering")
    Group.objects.all().delete()
    assert text_of(talk.answer()) == "1 1"
    assert runs == ["once"]


def test_what_is_remembered_may_not_write(one, caplog):
    assert is_error(Talk(one, "remembering_a_write").last)
    assert "A function given to context.remember() wrote to the database" in caplog.text
    assert groups() == []


def test_requests_can_be_built_by_hand(client):
    """MRTR-03, S173."""
    talk = Talk(client, "by_hand")
    talk.answer(raw={"action": "accept", "content": {"x": 7}})
    assert text_of(talk.answer()) == "7 2"
    talk = Talk(client, "come_back")
    assert "inputRequests" not in talk.last.result
    assert text_of(talk.answer()) == "back"
    assert is_error(Talk(client, "bad_by_hand").last)
    assert "outputSchema" not in site.registry.tools["raw_model"].to_wire(Revision.V2026_07_28)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", ["consumer", "wsgi"])
@pytest.mark.parametrize("atomic_requests", [False, True])
def test_writes_before_and_after_a_question_are_there_once(settings, door, atomic_requests):
    """MRTR-16: whatever transaction is around the call."""
    from django.db import connection

    settings.ROOT_URLCONF = "tests.talking.asking_site"
    connection.settings_dict["ATOMIC_REQUESTS"] = atomic_requests
    try:
        for tool in ("book", "abook", "slow_after_write"):
            Group.objects.all().delete()
            talk = Talk(WireClient(WSGIDoor() if door == "wsgi" else consumer()), tool)
            assert groups() == []
            assert not is_error(talk.answer())
            assert len(groups()) == (1 if tool == "slow_after_write" else 2)
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False


def test_a_legacy_client_cannot_be_asked_in_json(one):
    """S172."""
    one.initialize()
    headers = {"Accept": "application/json"}
    answer = one.post(one.message("tools/call", {"name": "book"}), {**one.session_headers, **headers})
    assert "needs an event stream" in answer.result["content"][0]["text"]
    answer = one.post(one.message("tools/call", {"name": "by_hand"}), {**one.session_headers, **headers})
    assert answer.error["code"] == -32603
