"""Answers that count for one call, and tools that are confirmed first."""

import pytest
from django.contrib.auth.models import Group

from django_mcp.models import SpentState
from django_mcp.questions import clear_spent

from .rounds import COLOUR, Talk, groups, is_error, refused, text_of


@pytest.mark.parametrize("tool", ["pay", "apay"])
def test_an_answer_that_is_good_once_cannot_be_used_twice(client, tool):
    """MRTR-08: after a commit; and no state of the conversation can."""
    talk = Talk(client, tool)
    states = []
    while talk.last.result["resultType"] == "input_required":
        states.append({"inputResponses": dict.fromkeys(talk.requests, COLOUR), "requestState": talk.state})
        talk.answer()
    assert text_of(talk.last) == "paid"
    assert len(groups()) == 1
    assert refused(talk.send(states[-1]))
    assert (len(groups()), SpentState.objects.count()) == (1, 1)
    assert clear_spent() == 0
    SpentState.objects.update(expires="2020-01-01T00:00Z")
    assert clear_spent() == 1


def test_a_site_without_time_zones_remembers_what_was_used(one, settings):
    """MRTR-08."""
    settings.USE_TZ = False
    talk = Talk(one, "pay")
    talk.answer()
    given = {"inputResponses": dict.fromkeys(talk.requests, COLOUR), "requestState": talk.state}
    assert text_of(talk.send(given)) == "paid"
    assert refused(talk.send(given))
    assert clear_spent() == 0


def test_a_run_that_failed_may_be_tried_again(one):
    """MRTR-08: nothing was committed, so nothing was used."""
    Group.objects.create(name="broke")
    talk = Talk(one, "pay")
    talk.answer()
    given = {"inputResponses": dict.fromkeys(talk.requests, COLOUR), "requestState": talk.state}
    assert is_error(talk.send(given))
    Group.objects.all().delete()
    assert text_of(talk.send(given)) == "paid"


def test_answers_that_count_once_need_the_state(one):
    talk = Talk(one, "pay")
    talk.send({"inputResponses": {"q1": COLOUR}})
    assert "q1" in talk.requests


def test_a_destructive_tool_runs_once_for_its_answers(one):
    """MRTR-08."""
    talk = Talk(one, "drop")
    given = {"inputResponses": {"q1": COLOUR}, "requestState": talk.state}
    assert text_of(talk.answer()) == "dropped"
    assert refused(talk.send(given))


@pytest.mark.parametrize(("tool", "arguments"), [("delete_all", {"kind": "cats"}), ("forget_all", None)])
def test_a_tool_can_be_confirmed_first(client, tool, arguments):
    talk = Talk(client, tool, arguments)
    message = talk.requests["confirm"]["params"]["message"]
    assert message == ('Run delete_all?\n{"kind":"cats"}' if arguments else "Forget everything?")
    agreed = {"action": "accept", "content": {"confirm": True}}
    given = {"inputResponses": {"confirm": agreed}, "requestState": talk.state}
    assert not is_error(talk.answer())
    assert refused(talk.send(given))
    assert len(groups()) == 1


@pytest.mark.parametrize("response", [{"action": "decline"}, {"action": "accept", "content": {"confirm": False}}])
def test_a_tool_that_is_not_confirmed_does_not_run(one, response):
    answer = Talk(one, "delete_all", {"kind": "cats"}).answer(confirm=response)
    assert (is_error(answer), text_of(answer)) == (True, "The call was not confirmed, so nothing was done.")
    assert groups() == []


def test_a_client_that_cannot_ask_its_person_is_not_asked(one):
    answer = one.modern("tools/call", {"name": "delete_all", "arguments": {"kind": "cats"}})
    assert text_of(answer) == "deleted"
