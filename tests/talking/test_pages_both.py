"""Pages in both eras with the client of the testing package, and requests for pages built by hand."""

import pytest
from django.test import override_settings

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.models import PendingRequest
from django_mcp.primitives.questions import InputRequiredResult, URLElicitation
from django_mcp.protocol.versions import LATEST_LEGACY, Revision
from django_mcp.questions import read_any_form
from django_mcp.testing import MCPClient

from .pages_site import site
from .paging import (
    BEARER,
    BOTH,
    CONSENT,
    URL_MODE,
    submit,
)
from .rounds import groups

pytestmark = pytest.mark.usefixtures("pages_site")


@pytest.mark.parametrize("revision", BOTH)
def test_the_client_of_the_testing_package_opens_pages(ann, browser, revision):
    """ELI-06, ELI-09: both eras, and the same source."""
    seen = []

    def answer(request):
        seen.append(request["params"])
        submit(browser, request["params"]["url"])
        return CONSENT

    client = MCPClient(ann, server=site, revision=revision, capabilities=URL_MODE, answer=answer)
    assert client.call_tool("pages_are_possible").text == "true"
    assert client.call_tool("connect").text == "connected as ann@mail"
    assert ("elicitationId" in seen[0]) == (revision == LATEST_LEGACY)
    assert client.call_tool("aconnect").text == "accept {'answer': 'ann@mail'}"
    assert client.read_resource("page://answer").text == "ann@mail"
    assert client.get_prompt("connected_prompt").text == "ann@mail"
    completed = [one["params"] for one in client.notifications]
    ids = [{"elicitationId": each["elicitationId"]} for each in seen if "elicitationId" in each]
    assert completed == ids
    assert not PendingRequest.objects.exists()
    assert groups() == ["asked", "asked inbox", "connected inbox as ann@mail", "page of ann"]


@pytest.mark.parametrize("revision", BOTH)
@pytest.mark.parametrize("action", ["decline", "cancel", "page"])
def test_every_outcome_in_both_eras(ann, browser, revision, action):
    def answer(request):
        if action == "page":
            submit(browser, request["params"]["url"], no="1")
            return CONSENT
        return {"action": action}

    client = MCPClient(ann, server=site, revision=revision, capabilities=URL_MODE, answer=answer)
    assert client.call_tool("connect").text == ("decline" if action == "page" else action)
    assert not PendingRequest.objects.exists()


@override_settings(DJANGO_MCP={**BEARER, "STATE_TTL": 0.2})
def test_a_page_that_is_not_submitted_in_time(ann, browser):
    """S167."""
    urls = []

    def answer(request):
        urls.append(request["params"]["url"])
        return CONSENT

    client = MCPClient(ann, server=site, revision=LATEST_LEGACY, capabilities=URL_MODE, answer=answer)
    assert client.call_tool("connect").text == "The client answered with an error: No reply came in time (-32001)"
    assert client.notifications == []
    assert not PendingRequest.objects.exists()


class TestByHand:
    def test_both_eras(self, ann):
        """ELI-06, ELI-07, ELI-09, S162, S180, S187."""
        for revision in BOTH:
            seen = []

            def answer(request, seen=seen):
                seen.append(request["params"])
                return CONSENT

            client = MCPClient(ann, server=site, revision=revision, capabilities=URL_MODE, answer=answer)
            assert client.call_tool("by_hand").text == "accept"
            is_legacy = revision == LATEST_LEGACY
            assert seen[0].get("elicitationId") == ("mine" if is_legacy else None)
            assert len(client.notifications) == (2 if is_legacy else 0)
            assert client.call_tool("by_hand_without_id").text == "done"
            assert ("elicitationId" in seen[1]) == is_legacy

    @pytest.mark.parametrize(
        "url",
        [None, 7, "javascript:alert(1)", "file:///etc/passwd", "/relative", "https:", "https:///path", "http://[oh"],
    )
    def test_only_http(self, url):
        """ELI-13."""
        request = {"method": "elicitation/create", "params": {"mode": "url", "message": "m", "url": url}}
        with pytest.raises(InvalidPrimitive, match="http or https"):
            InputRequiredResult({"page": request})

    def test_pages_of_the_site_are_not_asked_by_hand(self):
        with pytest.raises(InvalidPrimitive, match="elicit_url"):
            InputRequiredResult({"page": URLElicitation("form", "Connect")})

    def test_a_page_without_an_address_cannot_be_sent(self):
        with pytest.raises(TypeError, match="opened"):
            URLElicitation("form", "Connect").to_wire(Revision.V2026_07_28, read_any_form)


def test_what_an_answer_of_the_test_raises_the_call_raises(ann):
    def answer(request):
        raise AssertionError("not what I expected")

    for revision in BOTH:
        client = MCPClient(ann, server=site, revision=revision, capabilities=URL_MODE, answer=answer)
        with pytest.raises(AssertionError, match="not what I expected"):
            client.call_tool("connect")


def test_answers_may_be_async(ann):
    async def answer(request):
        return {"action": "decline"}

    for revision in BOTH:
        client = MCPClient(ann, server=site, revision=revision, capabilities=URL_MODE, answer=answer)
        assert client.call_tool("connect").text == "decline"
