"""The client of the testing package answers what tools ask, in both eras."""

import pytest
from django.contrib.auth.models import Group

from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from django_mcp.testing import MCPClient
from tests.talking.asking_site import site
from tests.talking.rounds import CAPABILITIES, usual_answer

BOTH = (LATEST, LATEST_LEGACY)
pytestmark = pytest.mark.django_db


def client_of(revision, **options):
    return MCPClient(server=site, revision=revision, capabilities=CAPABILITIES, **options)


@pytest.mark.parametrize("revision", BOTH)
def test_questions_are_answered_until_there_is_a_result(revision):
    client = client_of(revision, answer=usual_answer)
    assert client.call_tool("book").text == "3 guests of Ann"
    assert client.call_tool("two_rounds").text == "2 blue"
    assert client.call_tool("at_once").text == "2 Hello m endTurn A"
    assert client.read_resource("ask://name").text == "Ann"
    assert Group.objects.count() == 2


def test_a_modern_client_without_answers_shows_what_was_asked():
    result = client_of(LATEST).request("tools/call", {"name": "book", "arguments": {}})
    assert result["resultType"] == "input_required"
    assert set(result["inputRequests"]) == {"q1"}
    again = client_of(LATEST, answer=usual_answer).request("tools/call", {"name": "come_back", "arguments": {}})
    assert again["content"][0]["text"] == "back"


def test_a_legacy_client_without_answers_says_so():
    reply = client_of(LATEST_LEGACY).call_tool("book")
    assert reply.is_error
    assert reply.text == "The client answered with an error: This client answers nothing (-32601)"
