"""Whose page it is, where it is, and who can be asked on one."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client, override_settings

from django_mcp.auth import Authentication
from django_mcp.models import PendingRequest
from django_mcp.pending import clear_pending
from django_mcp.server.call import Caller
from django_mcp.testing import MCPClient
from tests.wire.client import WireClient
from tests.wire.doors import consumer

from .pages_site import site
from .paging import (
    BEARER,
    URL_MODE,
    Talk,
    client_of,
    logged_in,
    submit,
)
from .rounds import groups, text_of

pytestmark = pytest.mark.usefixtures("pages_site")


class TestWhoMayAnswer:
    """ELI-12, ELI-15: the user who was asked, and nobody else, whatever is done to the link."""

    def test_somebody_else(self, ann):
        talk = Talk(client_of(ann), "connect")
        eve = logged_in(User.objects.create_user("eve"))
        assert eve.get(talk.url).status_code == 403
        assert submit(eve, talk.url).status_code == 403
        talk.answer()
        assert talk.url
        assert groups() == []

    def test_who_is_not_logged_in_is_led_to_the_login(self, ann):
        talk = Talk(client_of(ann), "connect")
        page = Client().get(talk.url)
        assert page.status_code == 302
        assert parse_qs(urlsplit(page.headers["Location"]).query)["next"] == [
            talk.url.removeprefix("http://testserver")
        ]
        assert "no-store" in page.headers["Cache-Control"]

    @pytest.mark.parametrize("change", ["cut", "other", "unsigned", "none", "foreign key"])
    def test_a_link_that_was_tampered_with(self, ann, browser, change):
        talk = Talk(client_of(ann), "connect")
        [token] = parse_qs(urlsplit(talk.url).query)["elicitation"]
        ref = PendingRequest.objects.get().ref
        changed = {
            "cut": token[:-1],
            "other": f"x{token}",
            "unsigned": ref,
            "none": "",
            "foreign key": signing.Signer(key="foreign", salt="django_mcp.elicitation").sign(ref),
        }[change]
        assert submit(browser, f"/connect/inbox?elicitation={changed}").status_code == 404
        assert not PendingRequest.objects.get().answered

    def test_a_link_signed_with_an_older_key(self, ann, browser):
        """MRTR-19."""
        with override_settings(SECRET_KEY="older"):
            url = Talk(client_of(ann), "connect").url
        assert browser.get(url).status_code == 404
        with override_settings(SECRET_KEY_FALLBACKS=["older"]):
            assert browser.get(url).status_code == 200

    def test_a_question_to_a_client_is_no_page(self, ann, browser):
        ref = PendingRequest.objects.create(ref="r" * 22, expires="2100-01-01T00:00Z").ref
        signed = signing.Signer(salt="django_mcp.elicitation").sign(ref)
        assert browser.get("/bare", {"elicitation": signed}).status_code == 404

    def test_who_is_nobody_is_not_asked(self, settings):
        settings.DJANGO_MCP = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
        answer = Talk(WireClient(consumer()), "connect").last
        assert text_of(answer) == "This is asked on a page of the site, which takes a user who has logged in."


class Passing(Authentication):
    """Users that are nowhere stored."""

    def authenticate(self, request):
        return Caller(user=User(username="passing"), principal="passing")


def test_who_is_not_stored_is_not_asked(settings):
    """ELI-12: nobody could log in as him."""
    settings.DJANGO_MCP = {"AUTHENTICATION": Passing}
    answer = Talk(WireClient(consumer()), "connect").last
    assert text_of(answer) == "This is asked on a page of the site, which takes a user who has logged in."


def test_a_link_is_good_until_it_expires(ann, browser):
    talk = Talk(client_of(ann), "connect")
    url = talk.url
    PendingRequest.objects.update(expires="2020-01-01T00:00Z")
    assert browser.get(url).status_code == 404
    assert submit(browser, url).status_code == 404
    talk.answer()
    assert talk.url != url
    assert clear_pending() == 1


def test_of_two_who_submit_at_once_one_is_told_so(ann, browser, monkeypatch):
    talk = Talk(client_of(ann), "connect")
    from django_mcp import elicitation

    real = elicitation.get_elicitation

    def and_somebody_is_faster(request):
        found = real(request)
        PendingRequest.objects.update(answered=True, answer='{"action": "accept", "content": "first"}')
        return found

    monkeypatch.setattr(elicitation, "get_elicitation", and_somebody_is_faster)
    assert submit(browser, talk.url).status_code == 404
    assert text_of(talk.answer()) == "connected as first"


def test_the_address_is_that_of_the_site(ann, settings):
    """Behind a proxy that PUBLIC_URL names, and below the path that the site is mounted at."""
    settings.DJANGO_MCP = {**BEARER, "PUBLIC_URL": "https://desk.example/mcp"}
    assert Talk(client_of(ann), "connect").url.startswith("https://desk.example/connect/inbox?")
    with override_settings(FORCE_SCRIPT_NAME="/sub"):
        assert Talk(client_of(ann), "connect").url.startswith("https://desk.example/sub/connect/inbox?")


def test_a_page_that_does_not_exist_is_a_fault_of_the_site(ann, caplog):
    assert Talk(client_of(ann), "lost").last.error == {"code": -32603, "message": "Internal error"}
    assert "NoReverseMatch" in caplog.text


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
def test_a_client_that_opens_no_pages_is_not_asked(ann, capabilities):
    """ELI-02, MRTR-05, S162."""
    answer = Talk(client_of(ann), "connect", capabilities=capabilities).last
    assert answer.error["code"] == -32021
    assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
    for revision in ("2025-11-25", "2025-06-18"):
        client = MCPClient(ann, server=site, revision=revision, capabilities=capabilities)
        assert "This needs a client" in client.call_tool("connect").text
        assert client.call_tool("pages_are_possible").text == "false"


def test_an_older_revision_has_no_pages(ann):
    client = MCPClient(ann, server=site, revision="2025-06-18", capabilities=URL_MODE)
    assert client.call_tool("connect").text == "This needs a client that opens pages, which those of 2025-06-18 do not."
    assert client.call_tool("pages_are_possible").text == "false"
