"""What is done in the admin on one worker holds for the clients of another one within about a second."""

import pytest

from tests.browser.browser import open_browser
from tests.browser.workers import seconds_until, served

pytestmark = pytest.mark.integration

ABOUT_A_SECOND = 3  # on a machine that is busy with other things
ERAS = ("modern", "2025-11-25")
PRIMITIVES = "/admin/django_mcp/registeredprimitive/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def desk(folder):
    with served(folder) as desk:
        yield desk


@pytest.fixture(scope="module")
def browser(desk, folder):
    with open_browser(desk.site(), folder) as browser:
        browser.log_in("admin", desk.password)
        yield browser


def seconds_until_listed(client, name, era="modern", *, is_listed=True):
    return seconds_until(lambda: (name in tools(client, era)) is is_listed)


def tools(client, era="modern"):
    return {tool["name"] for tool in client.call(era, "tools/list", {}).result["tools"]}


def test_a_ticket_that_is_changed_is_what_tools_read(desk, browser):
    client = desk.client()
    found = client.call_tool("modern", "search_tickets", {"queue": "workshop", "limit": 1})
    number = found["structuredContent"]["tickets"][0]["number"]
    browser.open("/admin/helpdesk/ticket/")
    browser.photograph("tickets")
    browser.open(f"/admin/helpdesk/ticket/{number}/change/")
    browser.fill("#id_subject", "Bell rings by itself")
    browser.click("[name=_save]")
    assert "was changed successfully" in browser.text
    ticket = client.call_tool("modern", "get_ticket", {"number": number})["structuredContent"]
    assert "Bell rings by itself" in str(ticket)


def test_a_tool_that_is_switched_off_is_gone_for_everybody(desk, browser):
    client = desk.client()
    assert all("draw_ticket_chart" in tools(client, era) for era in ERAS)
    browser.open(PRIMITIVES)
    browser.photograph("primitives")
    browser.act("Switch off the selected ones", "draw_ticket_chart")
    assert "1 was switched off." in browser.text
    browser.photograph("switched-off")
    for era in ERAS:
        assert seconds_until_listed(client, "draw_ticket_chart", era, is_listed=False) < ABOUT_A_SECOND
        error = client.call(era, "tools/call", {"name": "draw_ticket_chart", "arguments": {}}).error
        assert error == {"code": -32602, "message": "Unknown tool: draw_ticket_chart"}
    browser.open(PRIMITIVES)
    browser.act("Switch on the selected ones", "draw_ticket_chart")
    for era in ERAS:
        assert seconds_until_listed(client, "draw_ticket_chart", era) < ABOUT_A_SECOND


def test_a_tool_that_is_for_a_group_is_gone_for_others(desk, browser):
    client = desk.client()
    browser.open(f"{PRIMITIVES}?q=merge_tickets")
    browser.click("#result_list tbody th a")
    browser.choose("#id_only_for_from", "manager")
    browser.find("#id_only_for_add, .selector-add").click()
    browser.photograph("primitive")
    browser.click("[name=_save]")
    browser.photograph("restricted")
    assert seconds_until_listed(client, "merge_tickets", is_listed=False) < ABOUT_A_SECOND


def test_a_token_is_shown_once_and_good_until_it_is_revoked(desk, browser):
    browser.open("/admin/django_mcp/accesstoken/add/")
    browser.pick_user("manager")
    browser.fill("#id_name", "laptop")
    browser.photograph("new-token")
    browser.click("[name=_save]")
    browser.photograph("issued")
    client = desk.client(browser.find("#mcp-token").get_attribute("value"))
    assert "merge_tickets" in tools(client)
    browser.open("/admin/django_mcp/accesstoken/?q=laptop")
    browser.photograph("tokens")
    browser.click("#result_list tbody th a")
    browser.photograph("token")
    browser.click("[name=_revoke]")
    assert "1 token was revoked." in browser.text
    assert seconds_until(lambda: client.modern("tools/list").status == 401) < ABOUT_A_SECOND


def test_a_session_that_is_ended_is_not_found(desk, browser):
    client = desk.client()
    client.initialize()
    assert client.legacy("tools/list").status == 200
    browser.open("/admin/django_mcp/session/?q=wire-client")
    browser.photograph("sessions")
    browser.click("#result_list tbody th a")
    browser.photograph("session")
    browser.open("/admin/django_mcp/session/")
    browser.act("End the selected sessions", "wire-client")
    browser.click("[type=submit]:not(#logout-form button)")
    assert seconds_until(lambda: client.legacy("tools/list").status == 404) < ABOUT_A_SECOND
