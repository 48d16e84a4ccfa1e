"""Options that there are not, and things that decorators cannot stand above."""

from typing import Any, cast

import pytest

from django_mcp import InvalidPrimitive, MCPServer, Toolset
from django_mcp.servers import _servers


@pytest.fixture
def server():
    fresh = MCPServer("options")
    yield fresh
    del _servers["options"]


def call(self): ...


def _unknown(called, given):
    return f"{called} was given {given}, which is no option of it. Options are "


@pytest.mark.parametrize(
    ("declare", "message", "remedy"),
    [
        (lambda server: server.tool(permision="a.b"), _unknown("@tool", "permision='a.b'"), "write permission=..."),
        (lambda server: server.prompt(size=1), _unknown("@prompt", "size=1"), "leave it out"),
        (lambda server: server.resource("a:b", sise=1), _unknown("@resource", "sise=1"), "write size=..."),
        (lambda server: server.resource("a:b", uri="c:d"), _unknown("@resource", "uri='c:d'"), "leave it out"),
        (
            lambda server: server.resource_template("a:{b}", size=1),
            _unknown("@resource_template", "size=1"),
            "leave it out",
        ),
        (lambda server: server.define_tool(call, nam="x"), _unknown("define_tool", "nam='x'"), "write name=..."),
        (lambda server: server.define_prompt(call, uri="x"), _unknown("define_prompt", "uri='x'"), "leave it out"),
        (lambda server: server.define_resource("a:b", x=1), _unknown("define_resource", "x=1"), "leave it out"),
        (
            lambda server: server.define_resource_template("a:{b}", x=1),
            _unknown("define_resource_template", "x=1"),
            "leave it out",
        ),
        (lambda server: cast(Any, Toolset).tool(timeot=1), _unknown("@Toolset.tool", "timeot=1"), "write timeout=..."),
    ],
    ids=[str(number) for number in range(10)],
)
def test_what_is_no_option_is_refused_with_those_there_are(declare, message, remedy, server):
    with pytest.raises(InvalidPrimitive) as caught:
        declare(server)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f": {remedy}.")


@pytest.mark.parametrize("given", ["find", property(call), staticmethod(call)], ids=["name", "property", "static"])
def test_only_methods_become_tools_of_a_toolset(given):
    mark: Any = Toolset.tool
    with pytest.raises(InvalidPrimitive, match="which is no method"):
        mark(given)


@pytest.mark.parametrize("decorator", ["method", "notification"])
def test_a_method_of_the_site_has_a_name(decorator, server):
    """Without parentheses the function would be the name, and nothing would be registered."""
    with pytest.raises(InvalidPrimitive, match=rf"where the name belongs.*write @server\.{decorator}\("):
        getattr(server, decorator)(call)
