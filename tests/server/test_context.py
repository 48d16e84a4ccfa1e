"""``Context`` on its own: a mapping that is only ever itself."""

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from django_mcp import Context, default_server
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.envelope import read_legacy
from django_mcp.protocol.jsonrpc import Request
from django_mcp.protocol.versions import LATEST_LEGACY
from django_mcp.server.call import Call, Caller, Locale, Source
from django_mcp.transports.handshake_http import stored_sessions

USER = SimpleNamespace(username="ann")


def context_of(source=None, token=None):
    request = Request(id=7, method="tools/call", params={"_meta": {"progressToken": 1}})
    envelope = read_legacy(request, revision=LATEST_LEGACY, client_info=None, client_capabilities={}, log_level=None)
    caller = Caller(user=USER, principal="user:1", token=token)
    return Context(
        Call(
            server=default_server,
            request=request,
            envelope=envelope,
            caller=caller,
            locale=Locale(),
            source=source or Source(),
            sessions=stored_sessions,
        )
    )


def test_the_values_of_the_processors_are_its_items():
    """S183"""
    context = context_of()
    assert (len(context), list(context), bool(context)) == (0, [], True)
    context.fill({"colour": "red"})
    assert (context["colour"], dict(context), len(context)) == ("red", {"colour": "red"}, 1)


def test_it_is_equal_to_itself_alone():
    context = context_of()
    assert context == context
    assert context != context_of()
    assert {context: 1}[context] == 1


def test_where_there_is_no_request_there_is_none():
    """BL-099."""
    assert context_of().request is None


def test_the_request_is_made_once_and_knows_the_user():
    """S188"""
    made = []

    def make_request():
        made.append(HttpRequest())
        return made[-1]

    context = context_of(Source(make_request=make_request))
    assert context.request is context.request
    assert context.request.user is USER
    assert len(made) == 1


def test_the_user_of_the_request_is_the_caller_whatever_a_cookie_says():
    """BL-006, BL-016."""
    request = HttpRequest()
    request.user = AnonymousUser()
    assert context_of(Source(make_request=lambda: request)).request.user is USER


def test_the_caller_and_his_token_are_shown():
    """S184, W18"""
    context = context_of(token="the token")
    assert (context.user, context.token, context.session) == (USER, "the token", None)
    assert context.meta == {"progressToken": 1}


def test_it_names_the_call_when_it_is_printed():
    assert repr(context_of()).startswith("<Context tools/call id=7 user=")


@pytest.mark.parametrize("name", ["colour", "size"])
def test_a_missing_value_is_a_key_error(name):
    with pytest.raises(KeyError):
        context_of()[name]


def test_its_user_may_have_a_type():
    """S73: whatever a context is annotated with, clients do not see it."""

    def who(context: Context[SimpleNamespace], other: int) -> str:
        return str(context.user.username)

    def who_else(context: "Context[Missing] | None", other: int): ...  # type: ignore[name-defined]  # noqa: F821

    for function in (who, who_else):
        assert list(ToolDefinition.from_function(function).input_schema["properties"]) == ["other"]
    assert who(context_of(), 1) == "ann"


@pytest.mark.parametrize(
    ("origin", "location", "uri"),
    [
        ("https://x.example", "/media/a.png", "https://x.example/media/a.png"),
        (None, "/media/a.png", "/media/a.png"),
        ("https://x.example", "//cdn.example/a.png", "//cdn.example/a.png"),
        ("https://x.example", "https://cdn.example/a.png", "https://cdn.example/a.png"),
    ],
)
def test_paths_of_the_site_become_addresses(origin, location, uri):
    assert context_of(Source(find_origin=lambda: origin)).build_absolute_uri(location) == uri
