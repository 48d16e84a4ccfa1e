"""Pages over stdio: the browser talks to another process, and the row is all that both have."""

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import override_settings

from django_mcp.running import close_lanes
from django_mcp.transports.stdio_identity import NamedUser
from tests.stdio.client import talk

from .pages_site import site
from .paging import BEARER, CONSENT, URL_MODE, submit
from .rounds import groups

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("pages_site")]
PUBLIC = {**BEARER, "PUBLIC_URL": "http://testserver/mcp"}
CALL = {"name": "connect", "arguments": {}}


@pytest.fixture(autouse=True)
def lanes_end():
    yield
    close_lanes()


@sync_to_async
def open_page(browser, url):
    """On a thread of its own, as another process would."""
    try:
        submit(browser, url)
    finally:
        connections.close_all()


def text(message):
    return message["result"]["content"][0]["text"]


@override_settings(DJANGO_MCP=PUBLIC)
def test_a_legacy_client(ann, browser):
    """ELI-06, ELI-09, STD-07, S202."""

    async def steps(client):
        info = {"name": "lines", "version": "1"}
        greeting = {"protocolVersion": "2025-11-25", "capabilities": URL_MODE, "clientInfo": info}
        await client.legacy("initialize", greeting)
        client.send(client.request("tools/call", CALL))
        question = await client.receive()
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": CONSENT})
        await open_page(browser, question["params"]["url"])
        done = await client.receive()
        assert done["params"] == {"elicitationId": question["params"]["elicitationId"]}
        assert text(await client.receive()) == "connected as ann@mail"

    talk(steps, server=site, identity=NamedUser(ann))
    assert len(groups()) == 3


@override_settings(DJANGO_MCP=PUBLIC)
def test_a_legacy_client_that_is_sent_away(ann, browser):
    """ELI-08: the process finds the page again when the client sends its request once more."""

    async def steps(client):
        info = {"name": "lines", "version": "1"}
        greeting = {"protocolVersion": "2025-11-25", "capabilities": URL_MODE, "clientInfo": info}
        await client.legacy("initialize", greeting)
        later = {"name": "connect_later", "arguments": {}}
        error = (await client.legacy("tools/call", later))["error"]
        assert error["code"] == -32042
        await open_page(browser, error["data"]["elicitations"][0]["url"])
        assert text(await client.legacy("tools/call", later)) == "connected as ann@mail"

    talk(steps, server=site, identity=NamedUser(ann))


@override_settings(DJANGO_MCP=PUBLIC)
def test_a_modern_client(ann, browser):
    """ELI-07, STD-10."""

    async def steps(client):
        def request(**more):
            message = client.enveloped("tools/call", {**CALL, **more})
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = URL_MODE
            return message

        asked = (await client.ask(request()))["result"]
        await open_page(browser, asked["inputRequests"]["q1"]["params"]["url"])
        again = request(inputResponses={"q1": CONSENT}, requestState=asked["requestState"])
        assert text(await client.ask(again)) == "connected as ann@mail"

    talk(steps, server=site, identity=NamedUser(ann))
    assert len(groups()) == 3


def test_without_an_address_nobody_is_asked(ann):
    async def steps(client):
        message = client.enveloped("tools/call", CALL)
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = URL_MODE
        assert "PUBLIC_URL" in text(await client.ask(message))

    talk(steps, server=site, identity=NamedUser(ann))
