"""Who the caller is, and what he may see."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.test import override_settings

from django_mcp.auth import Authentication
from django_mcp.models import AccessToken, Session
from django_mcp.server.call import Caller
from tests.wire.client import WireClient

BEARER = {"AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}


@pytest.fixture(autouse=True)
def closed_server():
    with override_settings(DJANGO_MCP=BEARER):
        yield


def client_of(door, username, *permissions, staff=False):
    user, _created = User.objects.get_or_create(username=username, is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    _token, value = AccessToken.objects.issue(user)
    return WireClient(door, headers={"Authorization": f"Bearer {value}"})


def call_text(client, name, arguments=None):
    return client.call_tool("modern", name, arguments)["content"][0]["text"]


@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
def test_no_credentials_are_a_challenge_without_an_error(client, verb):
    """AUTH-08..10, BL-103."""
    answer = client.send(verb, b"garbage")
    assert (answer.status, answer.error["code"]) == (401, -32600)
    assert answer.header("WWW-Authenticate") == 'Bearer realm="mcp"'


@pytest.mark.parametrize("value", ["Bearer mcp_wrong", "Bearer", "bearer  a b", "Bearer \xfc"])
def test_bad_credentials_are_a_challenge_that_says_so(client, value):
    """AUTH-13, AUTH-09, BL-103."""
    answer = client.modern("tools/list", headers={"Authorization": value})
    assert answer.status == 401
    assert 'error="invalid_token"' in answer.header("WWW-Authenticate")


def test_a_token_in_the_query_string_counts_for_nothing(door):
    """AUTH-11."""
    _token, value = AccessToken.objects.issue(User.objects.create(username="ann"))
    assert WireClient(door, path=f"/mcp?access_token={value}").modern("tools/list").status == 401


def test_each_call_runs_as_its_own_caller(door):
    """W6, BL-016, AUTH-21."""
    ann, bob = client_of(door, "ann"), client_of(door, "bob")
    assert [call_text(one, "whoami") for one in (ann, bob, ann)] == ["ann", "bob", "ann"]
    assert [call_text(one, "awhoami") for one in (bob, ann)] == ["bob False", "ann False"]
    assert WireClient(door).modern("tools/call", {"name": "whoami"}).status == 401


def test_the_user_is_loaded_for_async_code(door):
    """BL-006."""
    assert call_text(client_of(door, "ann", "view_user"), "awhoami") == "ann True"


def test_a_foreign_session_is_an_unknown_one(door):
    """S228, W5, SEC-01, SEC-03, LH-40, BL-012."""
    ann, bob = client_of(door, "ann"), client_of(door, "bob")
    ann.initialize()
    bob.session, bob.version = ann.session, ann.version
    unknown = bob.legacy("tools/list", id=1, headers={"Mcp-Session-Id": "unknown"})
    foreign = bob.legacy("tools/list", id=1)
    assert (foreign.status, foreign.body) == (404, unknown.body)
    assert bob.notify("notifications/cancelled").status == 404
    assert bob.send("DELETE", headers=bob.session_headers).status == 404
    assert ann.legacy("tools/list").status == 200


def test_another_token_of_the_same_user_goes_on_with_the_session(door):
    """BL-012."""
    first = client_of(door, "ann")
    first.initialize()
    second = client_of(door, "ann")
    second.session, second.version = first.session, first.version
    assert second.legacy("tools/list").status == 200


def test_a_revoked_token_ends_the_session_of_its_bearer(door):
    """AUTH-10: a session id is no credential."""
    ann = client_of(door, "ann")
    ann.initialize()
    AccessToken.objects.get().revoke()
    assert ann.legacy("tools/list").status == 401
    assert Session.objects.exists()


def tools_of(client):
    return {tool["name"] for tool in client.modern("tools/list").result["tools"]}


def test_what_a_user_may_not_do_is_not_listed(door):
    ann, boss, staff = (
        client_of(door, "ann"),
        client_of(door, "boss", "change_user"),
        client_of(door, "staff", staff=True),
    )
    assert tools_of(boss) - tools_of(ann) == {"rename"}
    assert tools_of(staff) - tools_of(ann) == {"staff_only"}
    assert call_text(boss, "rename", {"username": "x"}) == "x"
    assert call_text(staff, "staff_only") == "staff"
    assert [one["name"] for one in boss.modern("prompts/list").result["prompts"]] == [
        "greet",
        "plain",
        "secret",
        "broken",
    ]
    assert staff.modern("resources/read", {"uri": "static://staff"}).result["contents"][0]["text"] == "for staff"


def test_what_a_user_may_do_works(door):
    boss = client_of(door, "boss", "change_user")
    assert boss.modern("prompts/get", {"name": "secret"}).result["messages"][0]["content"]["text"] == "secret"


class ParisianAuthentication(Authentication):
    """Knows where its callers live and what they speak."""

    uses_database = False

    def authenticate(self, request):
        return Caller(user=AnonymousUser(), principal="paris", language="fr", time_zone="Europe/Paris")


def test_the_callers_own_language_and_time_zone_are_active_during_the_call(door):
    """AUTH-26."""
    authentication = {"AUTHENTICATION": "tests.wire.test_identity.ParisianAuthentication"}
    with override_settings(DJANGO_MCP=authentication):
        client = WireClient(door, headers={"Accept-Language": "de"})
        assert (call_text(client, "lang"), call_text(client, "zone")) == ("fr", "Europe/Paris")
    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny"}):
        assert (call_text(client, "lang"), call_text(client, "zone")) == ("de", "UTC")


def test_lists_for_one_user_are_private(door):
    """CACHE-04, CACHE-07."""
    assert client_of(door, "ann").modern("tools/list").result["cacheScope"] == "private"


def test_a_cursor_of_another_user_is_invalid(door):
    """PAG-05, BL-074."""
    with override_settings(DJANGO_MCP={**BEARER, "PAGE_SIZE": 1}):
        ann, bob = client_of(door, "ann"), client_of(door, "bob")
        cursor = ann.modern("tools/list").result["nextCursor"]
        assert ann.modern("tools/list", {"cursor": cursor}).status == 200
        assert bob.modern("tools/list", {"cursor": cursor}).error["code"] == -32602


def test_sessions_of_one_user_are_capped(door):
    """SEC-12, W10."""
    with override_settings(DJANGO_MCP={**BEARER, "SESSIONS_PER_USER": 2}):
        ann = client_of(door, "ann")
        ann.initialize()
        oldest = ann.session
        ann.initialize()
        ann.initialize()
        assert ann.legacy("tools/list", headers={"Mcp-Session-Id": oldest}).status == 404
        assert Session.objects.count() == 2
