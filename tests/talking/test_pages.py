"""Questions that a person answers on a page of the site (URL mode), through the site's own views."""

from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.test import AsyncClient, Client

from django_mcp.models import PendingRequest
from tests.wire.doors import WSGIDoor, consumer

from .pages_site import SECRET, site
from .paging import (
    CONSENT,
    INFO,
    Talk,
    client_of,
    logged_in,
    submit,
)
from .rounds import BOOKING, groups, is_error, text_of

pytestmark = pytest.mark.usefixtures("pages_site")


@pytest.fixture(params=["consumer", "wsgi"])
def client(request, ann):
    return client_of(ann, WSGIDoor() if request.param == "wsgi" else consumer())


def test_a_question_on_a_page_ends_the_request_and_the_page_answers_it(client, browser):
    """ELI-07, ELI-11, ELI-13, S162: the client learns the address, and neither data nor answer."""
    talk = Talk(client, "connect")
    [(key, question)] = talk.asked.items()
    assert (key, question["method"]) == ("q1", "elicitation/create")
    assert set(question["params"]) == {"mode", "message", "url"}
    assert question["params"]["message"] == "Connect inbox"
    parts = urlsplit(talk.url)
    assert (parts.scheme, parts.netloc, parts.path) == ("http", "testserver", "/connect/inbox")
    assert set(parse_qs(parts.query)) == {"elicitation"}
    for private in (SECRET, "ann", "tester"):
        assert private not in talk.url
    page = browser.get(talk.url)
    assert page.json() == {
        "message": "Connect inbox",
        "data": {"secret": SECRET, "amount": "12.50"},
        "client": "tester",
        "box": "inbox",
    }
    assert "no-store" in page.headers["Cache-Control"]
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert groups() == []
    assert submit(browser, talk.url).content == b"thanks"
    assert text_of(talk.answer()) == "connected as ann@mail"
    assert groups() == ["asked inbox", "connected inbox as ann@mail", "page of ann"]
    assert not PendingRequest.objects.exists()


def test_a_page_is_told_so_much_of_the_clients_name(client, browser):
    with patch.dict(INFO, name="x" * 1000):
        talk = Talk(client, "connect")
    assert browser.get(talk.url).json()["client"] == "x" * 200


def test_a_page_may_be_done_before_its_question_is_put_again(client, browser):
    """ELI-13: the function runs once more instead."""
    talk = Talk(client, "connect")
    submit(browser, talk.url)
    with patch("django_mcp.server.askers._read_pages"):  # it was sent while the function ran
        assert text_of(talk.send(requestState=talk.last.result["requestState"])) == "connected as ann@mail"


def test_consent_alone_is_no_answer(client, browser):
    """ELI-11: the same page is put again, however often, until it is done."""
    talk = Talk(client, "connect")
    url = talk.url
    for _ in range(5):
        talk.answer(q1={"action": "accept", "content": "forged"})
        assert talk.url == url
    submit(browser, url)
    assert text_of(talk.answer()) == "connected as ann@mail"


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_may_not_want_to_open_the_page(client, browser, action):
    """ELI-05, MRTR-14: then nobody may answer there any more."""
    talk = Talk(client, "connect")
    url = talk.url
    assert text_of(talk.answer(q1={"action": action})) == action
    assert submit(browser, url).status_code == 404


def test_a_person_may_say_no_on_the_page(client, browser):
    talk = Talk(client, "connect")
    url = talk.url
    submit(browser, url, no="1")
    assert text_of(talk.answer()) == "decline"
    assert submit(browser, url).status_code == 404
    assert not PendingRequest.objects.exists()


def test_a_person_may_have_said_no_before_the_question_is_put_again(client, browser):
    talk = Talk(client, "connect")
    submit(browser, talk.url, no="1")
    with patch("django_mcp.server.askers._read_pages"):  # it was sent while the function ran
        assert text_of(talk.send(requestState=talk.last.result["requestState"])) == "decline"
    assert not PendingRequest.objects.exists()


def test_a_question_that_changes_is_put_on_a_page_three_times(client, browser):
    """The answer to an earlier one is none to it."""
    talk = Talk(client, "connect_to_another")
    for _ in range(2):
        submit(browser, talk.url)
        talk.answer()
    submit(browser, talk.url)
    assert "was asked 3 times and is another one each time" in text_of(talk.answer())


@pytest.mark.parametrize("response", ["yes", {"action": "maybe"}])
def test_a_response_that_is_none_is_refused(client, response):
    """MRTR-13."""
    talk = Talk(client, "connect")
    assert talk.answer(q1=response).error["code"] == -32602


def test_a_response_without_a_state_counts_for_nothing(client, browser):
    """MRTR-17."""
    talk = Talk(client, "connect")
    url = talk.url
    talk.send(inputResponses={"q1": {"action": "accept", "content": "forged"}})
    assert talk.url != url


def test_an_answer_counts_for_one_call(client, browser):
    """MRTR-08: the state may be sent again, and asks again."""
    talk = Talk(client, "connect")
    given = {"inputResponses": {"q1": CONSENT}, "requestState": talk.last.result["requestState"]}
    url = talk.url
    submit(browser, url)
    assert text_of(talk.send(**given)) == "connected as ann@mail"
    talk.send(**given)
    assert talk.url != url
    assert submit(browser, url).status_code == 404
    assert len(groups()) == 3


def test_a_call_that_failed_may_use_the_answer_again(client, browser):
    talk = Talk(client, "connect")
    given = {"inputResponses": {"q1": CONSENT}, "requestState": talk.last.result["requestState"]}
    submit(browser, talk.url)
    Group.objects.create(name="broke")
    assert is_error(talk.send(**given))
    Group.objects.filter(name="broke").delete()
    assert text_of(talk.send(**given)) == "connected as ann@mail"


def test_a_call_that_lost_its_answer_to_another_one_saves_nothing(client, browser, monkeypatch):
    talk = Talk(client, "connect")
    submit(browser, talk.url)
    found = {"ref": "gone", "action": "accept", "content": "x"}

    async def find(places):
        return dict.fromkeys(places, found)

    monkeypatch.setattr(site.services.pages, "find", find)
    assert text_of(talk.answer()) == "Another call has used this answer already, so nothing was done."
    assert groups() == ["page of ann"]


def test_answers_of_pages_do_not_travel_with_the_client(client, browser):
    """ELI-14, MRTR-15: later rounds read them from their rows."""
    talk = Talk(client, "connect_and_book")
    submit(browser, talk.url, answer="ann@mail")
    talk.answer()
    assert set(talk.asked) == {"q2"}
    assert PendingRequest.objects.count() == 1
    assert text_of(talk.answer(q2=BOOKING)) == "ann@mail Ann"
    assert not PendingRequest.objects.exists()


def test_pages_and_forms_may_be_asked_together(client, browser):
    talk = Talk(client, "at_once")
    assert set(talk.asked) == {"page", "who"}
    url = talk.url
    talk.answer(who=BOOKING)
    assert set(talk.asked) == {"page"}
    submit(browser, url)
    assert text_of(talk.answer()) == "ann@mail Ann"


@pytest.mark.parametrize("name", ["aconnect", "connect_and_book"])
def test_async_and_class_based_views_answer_too(ann, name):
    talk = Talk(client_of(ann), name)
    if name == "connect_and_book":
        page = logged_in(ann)
        assert page.post(talk.url, {}).status_code == 200  # the form again
        assert submit(page, talk.url).status_code == 302
        assert set(talk.answer().result["inputRequests"]) == {"q2"}
    else:
        submit(logged_in(ann), talk.url)
        assert text_of(talk.answer()) == "accept {'answer': 'ann@mail'}"


def test_an_async_page_is_served_by_an_async_client(ann):
    talk = Talk(client_of(ann), "aconnect")
    url = talk.url.removeprefix("http://testserver")

    async def steps():
        browser = AsyncClient()
        await browser.aforce_login(ann)
        query = urlsplit(url).query
        assert (await browser.get(f"/async?{query}")).content == b"Connect"
        assert (await browser.get("/async")).status_code == 404
        assert (await browser.post(url, {"no": "1"})).content == b"thanks"

    async_to_sync(steps)()
    assert text_of(talk.answer()) == "decline None"


def test_a_view_may_check_its_link_itself(ann, browser):
    talk = Talk(client_of(ann), "connect")
    bare = f"/bare?{urlsplit(talk.url).query}"
    assert Client().get(bare).status_code == 403
    assert browser.get(bare).content == b"thanks"
    assert browser.get(bare).status_code == 404
    assert text_of(talk.answer()) == "connected as None"
