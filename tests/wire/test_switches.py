"""What the staff has switched off, or keeps for some groups, through every door and in both eras."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import override_settings

from django_mcp import CacheHint, default_server
from django_mcp.models import RegisteredPrimitive
from django_mcp.registry import Kind
from tests.rows import fresh_primitives
from tests.wire.test_identity import BEARER, client_of

CHOSEN = {
    Kind.TOOL: "echo",
    Kind.PROMPT: "greet",
    Kind.RESOURCE: "static://a",
    Kind.TEMPLATE: "note://{name}",
}
PROMPT = {"type": "ref/prompt", "name": "greet"}
TEMPLATE = {"type": "ref/resource", "uri": "note://{name}"}
RESOURCE = {"type": "ref/resource", "uri": "static://a"}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "echo", "arguments": {"text": "a"}}),
    ("tools/call", {"name": "echo", "arguments": {"wrong": 1}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "Ann"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "static://a"}),
    ("resources/read", {"uri": "note://x"}),
    ("completion/complete", {"ref": PROMPT, "argument": {"name": "name", "value": "A"}}),
    ("completion/complete", {"ref": TEMPLATE, "argument": {"name": "name", "value": "a"}}),
    ("completion/complete", {"ref": RESOURCE, "argument": {"name": "name", "value": "a"}}),
]


@pytest.fixture(autouse=True)
def fresh_rows(db):
    fresh_primitives()


def row(kind, key):
    return RegisteredPrimitive.objects.get(server="default", kind=kind, key=key)


def answers(client, era):
    """The status and the bytes of each answer; the ids are the same every time."""
    if era != "modern" and client.version != era:
        client.initialize(era)
    ask = client.modern if era == "modern" else client.legacy
    found = [ask(method, params, id=number) for number, (method, params) in enumerate(REQUESTS)]
    return [(one.status, one.body) for one in found]


def test_what_is_off_is_answered_as_what_was_never_registered(client, era):
    before = answers(client, era)
    for kind, key in CHOSEN.items():
        RegisteredPrimitive.objects.filter(kind=kind, key=key).update(enabled=False)
    off = answers(client, era)
    RegisteredPrimitive.objects.update(enabled=True)
    assert answers(client, era) == before
    with default_server.registry.override() as registry:
        for kind, key in CHOSEN.items():
            registry.unregister(kind, key)
        assert off == answers(client, era)
    assert not [one for one, other in zip(off, before, strict=True) if one == other]


def test_capabilities_follow_what_is_registered(client):
    before = client.modern("server/discover", id=1).body
    RegisteredPrimitive.objects.update(enabled=False)
    assert client.modern("server/discover", id=1).body == before
    assert client.modern("tools/list").result["tools"] == []


@pytest.fixture
def registry():
    with default_server.registry.override() as registry:
        yield registry


@pytest.fixture
def closed():
    with override_settings(DJANGO_MCP=BEARER):
        yield


@pytest.mark.usefixtures("closed")
def test_a_group_decides_who_knows_of_it(door, era):
    agents = Group.objects.create(name="agents")
    for kind, key in CHOSEN.items():
        row(kind, key).groups.add(agents)
    ann, bob = client_of(door, "ann"), client_of(door, "bob")
    User.objects.get(username="ann").groups.add(agents)
    inside, outside = answers(ann, era), answers(bob, era)
    with default_server.registry.override() as registry:
        for kind, key in CHOSEN.items():
            registry.unregister(kind, key)
        for one, other in zip(outside, answers(bob, era), strict=True):
            assert without_cache_hint(one) == without_cache_hint(other)
    RegisteredPrimitive.objects.get(kind=Kind.TOOL, key="echo").groups.clear()
    assert answers(bob, era)[1] == inside[1]


def without_cache_hint(answer):
    status, body = answer
    message = json.loads(body)
    if "result" in message:
        message["result"].pop("cacheScope", None)
    return status, message


@pytest.mark.usefixtures("closed")
def test_superusers_need_no_group_and_heed_the_switch(door):
    User.objects.create_superuser("root")
    root, other = client_of(door, "root", staff=True), Group.objects.create(name="others")
    row(Kind.TOOL, "echo").groups.add(other)
    assert root.call_tool("modern", "echo", {"text": "a"})["content"][0]["text"] == "a"
    RegisteredPrimitive.objects.filter(key="echo").update(enabled=False)
    assert root.modern("tools/call", {"name": "echo", "arguments": {}}).error["message"] == "Unknown tool: echo"


@override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny"})
def test_anonymous_callers_are_in_no_group(client):
    row(Kind.TOOL, "echo").groups.add(Group.objects.create(name="agents"))
    assert "echo" not in {tool["name"] for tool in client.modern("tools/list").result["tools"]}


def test_only_a_group_makes_a_cached_answer_private(client, registry, monkeypatch):
    """CACHE-04, CACHE-07."""
    monkeypatch.setattr(default_server, "cache", CacheHint(ttl_ms=5, scope="public"))

    def hints():
        asked = [("resources/templates/list", {}), ("resources/read", {"uri": "note://x"})]
        found = [client.modern(method, params).result for method, params in asked]
        return [(one["ttlMs"], one["cacheScope"]) for one in found]

    for key, template in list(default_server.registry.templates.items()):
        if template.permission is not None:
            registry.unregister(Kind.TEMPLATE, key)
    RegisteredPrimitive.objects.filter(key="user://{pk}").update(enabled=False)
    assert hints() == [(5, "public"), (5, "public")]
    row(Kind.TEMPLATE, "note://{name}").groups.add(Group.objects.create(name="agents"))
    monkeypatch.setattr("django_mcp.switches._passes_everywhere", lambda user: True)
    assert hints() == [(5, "private"), (5, "private")]
