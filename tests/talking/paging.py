"""A user with a client and a browser, who is asked on pages."""

from django.test import Client

from django_mcp.models import AccessToken
from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from tests.wire.client import META, WireClient
from tests.wire.doors import consumer

BEARER = {"AUTHENTICATION": "django_mcp.auth.BearerToken"}
URL_MODE = {"elicitation": {"form": {}, "url": {}}}
INFO = {"name": "tester", "version": "1"}
CONSENT = {"action": "accept"}
BOTH = (LATEST, LATEST_LEGACY)


def logged_in(user):
    browser = Client()
    browser.force_login(user)
    return browser


def client_of(user, door=None):
    _, token = AccessToken.objects.issue(user)
    return WireClient(door or consumer(), headers={"Authorization": f"Bearer {token}"})


class Talk:
    """A modern call that asks on pages, round by round."""

    def __init__(self, client, name, arguments=None, capabilities=URL_MODE):
        self.client, self.capabilities = client, capabilities
        self.params = {"name": name, "arguments": arguments or {}}
        self.last = self.send()

    def send(self, **more):
        meta = {f"{META}clientCapabilities": self.capabilities, f"{META}clientInfo": INFO}
        self.last = self.client.modern("tools/call", {**self.params, **more}, meta=meta)
        return self.last

    @property
    def asked(self):
        assert self.last.result["resultType"] == "input_required", self.last.json
        return self.last.result["inputRequests"]

    @property
    def url(self):
        [url] = [one["params"]["url"] for one in self.asked.values() if one["params"]["mode"] == "url"]
        return url

    def answer(self, **responses):
        given = {key: responses.get(key, CONSENT) for key in self.asked}
        return self.send(inputResponses=given, requestState=self.last.result["requestState"])


def text_of_message(message):
    return message["result"]["content"][0]["text"]


async def call_and_answer(make):
    return await make().answer()


def submit(browser, url, **data):
    return browser.post(url, data or {"answer": "ann@mail"})
