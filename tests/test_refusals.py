"""Mistakes outside the primitives are refused word for word, too: what was given, what is allowed, what to do.

The last test asks whether the tests say the words of every refusal that there is when a site starts.
"""

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured

import django_mcp
from django_mcp import MCPServer, QuerySetCompleter, Toolset
from django_mcp.auth.base import load_authentication
from django_mcp.conf import mcp_settings, with_overrides
from django_mcp.exceptions import AlreadyRegistered, InvalidPrimitive, NotRegistered
from django_mcp.middleware import build_chain, load_middleware
from django_mcp.primitives.methods import CustomMethod, CustomNotification
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.registry import Kind, Registry
from tests.shop.models import Category

HERE = "tests.test_refusals"


def nothing() -> None: ...


def other() -> None: ...


def of(number: str) -> None: ...


def mixed(params: dict[str, Any], more: str) -> None: ...


def chained(get_result: Any) -> Any:
    return "no function"


def method(name: Any, function: Any = nothing) -> Any:
    return lambda: CustomMethod.from_function(name, function)


def notification(name: Any) -> Any:
    return lambda: CustomNotification.from_function(name, nothing)


def watched(**options: Any) -> Any:
    return lambda: ResourceDefinition.from_function(nothing, uri="a:b", **options)


def invalidating(invalidates: Any) -> Any:
    return lambda: ToolDefinition.from_function(of, invalidates=invalidates)


def answered_twice() -> None:
    registry = Registry()
    registry.register_method(CustomMethod.from_function("example/do", nothing))
    registry.register_method(CustomMethod.from_function("example/do", other))


REFUSALS: list[tuple[Any, type[Exception], str]] = [
    (
        lambda: load_authentication([]),
        ImproperlyConfigured,
        "DJANGO_MCP['AUTHENTICATION'] is empty. Write 'django_mcp.auth.AllowAny' if the server is to be open.",
    ),
    (
        lambda: load_authentication("tests.nowhere.Auth"),
        ImproperlyConfigured,
        "DJANGO_MCP['AUTHENTICATION'] names 'tests.nowhere.Auth', which cannot be imported: No module "
        "named 'tests.nowhere'. Write the dotted path of a class, such as "
        "'django_mcp.auth.BearerToken'.",
    ),
    (
        lambda: load_authentication(7),
        ImproperlyConfigured,
        "DJANGO_MCP['AUTHENTICATION'] names 7, which is no authentication: subclass django_mcp.auth.Authentication.",
    ),
    (
        lambda: with_overrides(mcp_settings(), 5),  # type: ignore[arg-type]
        ImproperlyConfigured,
        "DJANGO_MCP is 5, but must be a dict of settings, like {'PAGE_SIZE': 50}.",
    ),
    (
        lambda: load_middleware("tests.nowhere.middleware"),
        ImproperlyConfigured,
        "DJANGO_MCP['MIDDLEWARE'] names 'tests.nowhere.middleware', which cannot be imported: No module"
        " named 'tests.nowhere'. Write the dotted path of a function that takes get_result.",
    ),
    (
        lambda: load_middleware(f"{HERE}.HERE"),
        ImproperlyConfigured,
        "DJANGO_MCP['MIDDLEWARE'] names 'tests.test_refusals.HERE', which is 'tests.test_refusals'. A "
        "middleware is a function that takes get_result and returns a function.",
    ),
    (
        lambda: build_chain((f"{HERE}.chained",), nothing),  # type: ignore[arg-type]
        ImproperlyConfigured,
        "The middleware tests.test_refusals.chained returned 'no function' when the chain was built. It"
        " takes get_result and returns a function that takes the context.",
    ),
    (
        lambda: QuerySetCompleter(Category, "nome"),
        InvalidPrimitive,
        "A QuerySetCompleter of Category was given the field 'nome' and the search_fields ['nome'], by which its rows "
        "cannot be searched (Cannot resolve keyword 'nome' into field. Choices are: id, name, product). Name fields "
        "of the model, or of rows it points to, and give a QuerySet that is not sliced.",
    ),
    (
        method("no spaces"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given 'no spaces' as a method. A name has 1 to 128 printable "
        'ASCII characters and no spaces: write @server.method("example/do").',
    ),
    (
        method("notifications/example/do"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given 'notifications/example/do' as a method. Names that begin"
        " with notifications/ are notifications, which get no answer: write "
        '@server.notification("notifications/example/do").',
    ),
    (
        method("tools/list"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given 'tools/list' as a method, which belongs to the protocol."
        " Methods of a site have names of their own: write one with a prefix, such as "
        '@server.method("example/do").',
    ),
    (
        method("example/do", mixed),
        InvalidPrimitive,
        "tests.test_refusals.mixed takes params and other parameters as well. params stands for all "
        "members of the request: keep params alone, or write its members out as parameters.",
    ),
    (
        notification("example/done"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given 'example/done' as a notification. Their names begin with"
        ' notifications/: write @server.notification("notifications/example/done").',
    ),
    (
        notification("notifications/cancelled"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given 'notifications/cancelled' as a notification, which "
        "belongs to the protocol. Write a name of your own, such as "
        '@server.notification("notifications/example/done").',
    ),
    (
        watched(watch=5),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given watch=5. It is a model, its name or a list of these: "
        'write watch=Ticket or watch="helpdesk.Ticket".',
    ),
    (
        watched(uri_for=nothing),
        InvalidPrimitive,
        f"tests.test_refusals.nothing was given uri_for={nothing!r} without a model. It says which URI "
        "an object of a watched model stands behind: write watch=Ticket beside it.",
    ),
    (
        watched(watch=User, uri_for="a:b"),
        InvalidPrimitive,
        "tests.test_refusals.nothing was given uri_for='a:b'. It is a function of an object: write "
        'uri_for=lambda ticket: f"ticket://{ticket.pk}".',
    ),
    (
        lambda: ResourceTemplateDefinition.from_function(of, uri_template="user://{number}", watch=User),
        InvalidPrimitive,
        "tests.test_refusals.of watches User, which has no attribute number for its template "
        "'user://{number}'. Say which URI an object stands behind: write uri_for=lambda obj: ...",
    ),
    (
        invalidating("ticket://{number}"),
        InvalidPrimitive,
        "tests.test_refusals.of was given invalidates='ticket://{number}'. It is a list of URIs, in "
        'which the tool\'s arguments may stand: write invalidates=["ticket://{number}"].',
    ),
    (
        invalidating(["ticket://{pk}"]),
        InvalidPrimitive,
        "tests.test_refusals.of invalidates 'ticket://{pk}', but has no parameter pk. Each variable of "
        "such a URI is a parameter of the tool: add it, or publish from the function.",
    ),
    (
        lambda: Registry().unregister(Kind.TOOL, "add"),
        NotRegistered,
        "There is no tool 'add'. Registered: nothing. Use one of these.",
    ),
    (
        answered_twice,
        AlreadyRegistered,
        f"The method 'example/do' is answered by {HERE}.nothing ({__file__}:{nothing.__code__.co_firstlineno}) and "
        f"again by {HERE}.other ({__file__}:{other.__code__.co_firstlineno}). Each has one handler: change one of the "
        "two names.",
    ),
    (
        lambda: Toolset.tool(name="find")(staticmethod(nothing)),
        InvalidPrimitive,
        f"@Toolset.tool was put above <staticmethod({nothing!r})>, which is no method. It stands "
        "directly above a def, below no other decorator; options have names: write "
        '@Toolset.tool(name="find").',
    ),
    (
        lambda: MCPServer("dated", version=2),
        ValueError,
        "The server 'dated' was given version=2. It is a text of yours: write version=\"2\" or leave it out.",
    ),
    (
        lambda: MCPServer(""),
        ValueError,
        "A server was given the name ''. A name has 1 to 100 characters: write MCPServer(\"support\").",
    ),
    (
        lambda: MCPServer("default"),
        ValueError,
        "There is a server named 'default' already. Names are unique: give the second one another name,"
        " or use get_server('default').",
    ),
]


@pytest.mark.parametrize(("build", "kind", "message"), REFUSALS, ids=itertools.count())
def test_a_mistake_is_refused_with_the_way_out(build, kind, message):
    """S29, S197, X6."""
    with pytest.raises(kind) as caught:
        build()
    assert type(caught.value) is kind
    assert str(caught.value) == message


TESTS = Path(__file__).parent
PACKAGE = Path(django_mcp.__file__).parent
KINDS = {"AlreadyRegistered", "ImproperlyConfigured", "InvalidPrimitive", "NotRegistered", "_invalid", "_no_uri"}
# What these refuse is made while a call runs: questions to the client.
AT_CALL_TIME = ("primitives/forms.py", "primitives/questions.py", "questions.py")


def texts(node):
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def sentences():
    """The longest fixed text of every refusal in the package."""
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix() in AT_CALL_TIME:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS:
                yield max(texts(node), key=len, default="")


def test_every_refusal_of_the_package_is_said_in_a_test():
    told = [text for path in TESTS.rglob("*.py") for text in texts(ast.parse(path.read_text()))]
    # What pytest.raises(match=...) is given has its dots escaped.
    told += [text.replace("\\", "") for text in told if "\\" in text]
    found = [*sentences()]
    assert len(found) > 90
    assert [text for text in found if not any(text in one for one in told)] == []
