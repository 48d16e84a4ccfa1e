"""W007 and W011."""

from typing import Any

import pytest
from django.core.checks import WARNING
from django.test import override_settings

from django_mcp import MCPServer, default_server
from django_mcp.checks.offers import check_offers, check_tool_names
from django_mcp.registry import Snapshot
from tests.checks import urls
from tests.checks.messages import only


def today():
    """The note of today."""
    ...


def note(day: str):
    """The note of a day."""
    ...


@pytest.fixture
def nothing():
    with default_server.registry.override() as registry:
        registry.restore(Snapshot())
        yield


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("mount", ["without slash", "nowhere"])
def test_a_server_that_offers_nothing_is_told_how_to_register(mount):
    """BL-034."""
    with override_settings(ROOT_URLCONF=urls.GOOD[mount]):
        warning = only(check_offers())
    assert (warning.id, warning.level, warning.obj) == ("django_mcp.W007", WARNING, default_server)
    assert warning.msg == "The server 'default' offers nothing: no tool, prompt or resource is registered."
    assert "Write @django_mcp.tool above a function in the mcp.py of an installed app." in warning.hint
    assert "SimpleMCPConfig imports no mcp.py" in warning.hint


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize("kind", ["tool", "prompt", "resource", "template"])
def test_a_server_that_offers_anything_is_silent(kind):
    decorators: dict[str, Any] = {
        "tool": default_server.tool,
        "prompt": default_server.prompt,
        "resource": default_server.resource("note://today"),
        "template": default_server.resource_template("note://{day}"),
    }
    decorators[kind](note if kind == "template" else today)
    assert check_offers() == []


def test_a_mounted_server_that_offers_nothing_is_told_its_own_line(make_server):
    support: MCPServer = make_server("support")
    with override_settings(ROOT_URLCONF=urls.mounted(support, "support")):
        warning = only(check_offers())
    assert warning.obj is support
    assert '@django_mcp.get_server("support").tool' in warning.hint


def test_a_server_that_is_not_mounted_may_be_empty(make_server):
    make_server("support")
    assert check_offers() == []


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(
    ("name", "better"), [("shop.list", "shop_list"), ("a" * 65, "a" * 64), ("shop." + "a" * 65, "shop_" + "a" * 59)]
)
def test_a_name_that_clients_refuse_is_told_a_better_one(name, better):
    """BL-033."""
    default_server.tool(name=name)(today)
    default_server.tool(name="fine-Name_1")(today)
    warning = only(check_tool_names())
    assert (warning.id, warning.level, warning.obj) == ("django_mcp.W011", WARNING, default_server)
    assert f"The tool {name!r} (tests.checks.test_offers.today)" in warning.msg
    assert warning.hint == f'Write @tool(name="{better}").'
