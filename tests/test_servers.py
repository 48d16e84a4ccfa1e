"""``MCPServer`` objects and what the composition root hands to the core."""

import pytest
from django.core.exceptions import ImproperlyConfigured, PermissionDenied, ValidationError
from django.http import Http404
from django.test import override_settings
from django.utils import timezone, translation

from django_mcp import MCPServer, ToolError, all_servers, default_server, get_server
from django_mcp.auth import AllowAny, BearerToken
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.pagination import decode_cursor, encode_cursor
from django_mcp.protocol.results import CacheHint
from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from django_mcp.running import activated
from django_mcp.server.call import Locale, Source
from django_mcp.server.server import Server
from django_mcp.servers import SERVICES, _servers
from django_mcp.transports.language import language_of


@pytest.fixture
def make_server():
    known = dict(_servers)
    yield MCPServer
    _servers.clear()
    _servers.update(known)


def test_servers_are_found_by_name(make_server):
    """S27."""
    server = make_server("support")
    assert get_server("support") is server
    assert get_server() is default_server
    assert {default_server, server} <= set(all_servers())
    assert repr(server) == "<MCPServer 'support'>"


def test_a_server_without_settings_has_no_limits():
    server = Server("bare", services=SERVICES)
    assert server.result_limit() is server.completion_rate() is server.tool_rate() is server.listing_page_size() is None


def test_a_name_is_given_once(make_server):
    make_server("support")
    with pytest.raises(ValueError, match="There is a server named 'support' already"):
        make_server("support")


@pytest.mark.parametrize("name", ["", "x" * 101])
def test_a_name_must_fit_its_column(make_server, name):
    with pytest.raises(ValueError, match="A name has 1 to 100 characters"):
        make_server(name)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(LookupError, match=r"No server is named 'nope'. Known: default"):
        get_server("nope")


def test_a_server_may_have_settings_of_its_own(make_server):
    """S28."""
    server = make_server(
        "open", settings={"AUTHENTICATION": "django_mcp.auth.AllowAny", "MAX_BODY": 1000, "PAGE_SIZE": 3}
    )
    with override_settings(DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken", "PAGE_SIZE": 9}):
        assert (server.settings.max_body, server.listing_page_size()) == (1000, 3)
        assert isinstance(server.authentications[0], AllowAny)
        assert isinstance(default_server.authentications[0], BearerToken)
        assert default_server.listing_page_size() == 9
        server.page_size = 5
        assert server.listing_page_size() == 5


@pytest.mark.parametrize("size", [0, -1, True, "50", 1.5])
def test_a_page_holds_something(make_server, size):
    """S29."""
    with pytest.raises(ValueError, match=r"The server 'paged' was given page_size=.* write page_size=50"):
        make_server("paged", page_size=size)


def test_a_version_is_a_text(make_server):
    """S29."""
    with pytest.raises(ValueError, match=r"The server 'versioned' was given version=2\. It is a text of yours"):
        make_server("versioned", version=2)


def test_a_wrong_setting_names_the_server(make_server):
    server = make_server("odd", settings={"PAGE_SIZE": 0})
    with pytest.raises(ImproperlyConfigured, match=r"MCPServer\('odd'\)"):
        server.settings  # noqa: B018 - reading it is what is tested


def test_urls_are_for_path_like_those_of_the_admin(make_server):
    patterns, app_name, namespace = make_server("support").urls
    assert (app_name, namespace) == ("django_mcp", "support")
    assert patterns[0].callback.server.name == "support"


def test_what_a_server_says_of_itself(make_server):
    """S19, S20."""
    server = make_server("support", title="Support", version="3", description="Help", instructions="Be kind.")
    assert server.identity(LATEST, Locale(), Source()) == {
        "name": "support",
        "version": "3",
        "title": "Support",
        "description": "Help",
    }
    assert server.identity(LATEST, Locale(language="de"), Source())["title"] == "Support"
    assert server.instructions_text() == "Be kind."
    offer = server.offer(LATEST_LEGACY, can_stream=True)
    assert (offer.tools, offer.prompts, offer.resources, offer.completions, offer.logging) == (
        False,
        False,
        False,
        False,
        True,
    )


def test_cache_hints_are_private_and_empty_unless_given(make_server):
    assert make_server("plain").cache == CacheHint()
    assert make_server("cached", cache=CacheHint(ttl_ms=5)).cache.ttl_ms == 5


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("try later"), "try later"),
        (
            ValidationError({"email": ["Not an address."], "age": ["Too young.", "Odd."]}),
            "email: Not an address.\nage: Too young. Odd.",
        ),
        (ValidationError(["One.", "Two."]), "One.\nTwo."),
        (PermissionDenied("Not yours."), "Not yours."),
        (PermissionDenied(), "Permission denied."),
        (Http404("No such ticket."), "No such ticket."),
        (Http404(), "Not found."),
        (RuntimeError("secret"), None),
    ],
)
def test_only_errors_meant_for_users_are_shown(error, text):
    """BL-066, BL-067."""
    assert SERVICES.errors.public_text(error) == text


@pytest.mark.parametrize(
    ("header", "language"),
    [(None, None), ("de", "de"), ("de-CH, en;q=0.5", "de"), ("xx", None), ("*", None), ("xx, fr;q=0.3", "fr")],
)
def test_the_language_is_the_best_of_the_sites_own(header, language):
    assert language_of(header) == language


@override_settings(USE_I18N=False)
def test_a_site_without_translations_has_no_language():
    assert language_of("de") is None


def test_language_and_zone_hold_inside_the_block_only():
    before = translation.get_language(), timezone.get_current_timezone_name()
    with activated(Locale(language="de", time_zone="Europe/Zurich")):
        assert translation.get_language() == "de"
        assert timezone.get_current_timezone_name() == "Europe/Zurich"
    with activated(Locale(language="de")):
        assert translation.get_language() == "de"
    with activated(Locale(time_zone="Europe/Zurich")):
        assert translation.get_language() == "en"
    assert (translation.get_language(), timezone.get_current_timezone_name()) == before


def test_a_forged_cursor_is_no_cursor():
    cursor = encode_cursor(SERVICES.sealer, "tools/list", "user:1", "text")
    assert decode_cursor(SERVICES.sealer, "tools/list", "user:1", cursor) == "text"
    for forged in (f"x{cursor}", cursor[:-1], SERVICES.sealer.seal(b"text", b"another use")):
        with pytest.raises(ProtocolError, match="cursor is invalid"):
            decode_cursor(SERVICES.sealer, "tools/list", "user:1", forged)


def test_cursors_survive_a_rotation_of_the_key():
    """MRTR-19 for cursors."""
    cursor = encode_cursor(SERVICES.sealer, "tools/list", "user:1", "text")
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=["tests"]):
        assert decode_cursor(SERVICES.sealer, "tools/list", "user:1", cursor) == "text"
