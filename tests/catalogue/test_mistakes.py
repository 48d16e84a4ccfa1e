"""Every mistake that registration refuses in resources, prompts and completions, word for word.

Each message says what was given, what is allowed and what to write.
"""

import itertools
import re
from typing import Any

import pytest

from django_mcp import Annotations, CacheHint, InvalidPrimitive, MCPServer, ResourceContents
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.protocol.uri_templates import UriTemplate
from django_mcp.servers import _servers

HERE = "tests.catalogue.test_mistakes"


def nothing(): ...


def of(name: str): ...


def of_two(value, other): ...


def resource(**options: Any) -> Any:
    return lambda: ResourceDefinition.from_function(nothing, **{"uri": "a:b", **options})


def template(text: Any, function: Any = of, **options: Any) -> Any:
    return lambda: ResourceTemplateDefinition.from_function(function, uri_template=text, **options)


def completed(source: Any, name: str = "name") -> Any:
    return lambda: PromptDefinition.from_function(of, complete={name: source})


def no_uri(uri: Any, function: Any) -> str:
    return (
        f"{HERE}.{function.__name__} was given the URI {uri!r}. It is an absolute URI: a scheme, a colon and "
        'characters of RFC 3986, others percent-encoded. Write "help://opening-hours" or "ticket://{pk}".'
    )


def bad_template(text: str, fault: str) -> str:
    return f"The URI template {text!r} has {fault}."


MISTAKES = [
    *((resource(uri=uri), no_uri(uri, nothing)) for uri in ("", "no uri", "a b:c", "a:%zz", "1:x", "a:", 5)),
    *((template(uri), no_uri(uri, of)) for uri in ("{name}:x", "a b:{name}", "{name}", 5)),
    (
        lambda: ResourceDefinition.from_function(of, uri="a:b"),
        f"{HERE}.of takes name as the resource 'a:b'. A resource is read without arguments, the context aside: remove "
        'the parameter, or write a template such as @resource_template("a:b/{name}").',
    ),
    (
        template("a:b", nothing),
        f"{HERE}.nothing has the template 'a:b', which has no variables. A template stands for many URIs: write "
        '@resource("a:b") for one.',
    ),
    (
        template("a:{nome}"),
        f"{HERE}.of takes name and its template 'a:{{nome}}' has the variables nome. Each variable is a parameter and "
        "each parameter a variable: write def of(nome).",
    ),
    (template("a:{name"), bad_template("a:{name", "braces that do not match: write each variable as {name}")),
    (
        template("a:{name*}"),
        bad_template(
            "a:{name*}",
            "the expression {name*}: write {name}, {+path}, {/path*} or, at the end, {?name,name}, with names that "
            "Python can use",
        ),
    ),
    (template("a:{x}/{x}"), bad_template("a:{x}/{x}", "a variable twice: give each one a name of its own")),
    (template("a:{x}{y}"), bad_template("a:{x}{y}", "two variables side by side: put a text between them")),
    (
        template("a:{+x}/{+y}"),
        bad_template(
            "a:{+x}/{+y}",
            "two variables that may contain slashes: keep one of them, since nobody can tell where the first one ends",
        ),
    ),
    (
        resource(mime_type="text"),
        f"{HERE}.nothing was given mime_type='text'. It is a media type: write mime_type=\"application/json\".",
    ),
    (
        resource(annotations={"priority": 1}),
        f"{HERE}.nothing was given annotations={{'priority': 1}}. They are an Annotations object: write "
        'annotations=Annotations(audience=["user"]).',
    ),
    (
        resource(cache=60),
        f"{HERE}.nothing was given cache=60. It is a CacheHint: write cache=CacheHint(ttl_ms=60_000).",
    ),
    (
        resource(size=-1),
        f"{HERE}.nothing was given size=-1. It is a number of bytes: write size=1024 or leave it out.",
    ),
    (
        resource(name="a\nb"),
        f"{HERE}.nothing is named 'a\\nb' as a resource. A name is a text without control characters: write "
        'name="summary".',
    ),
    (
        lambda: PromptDefinition.from_function(of, name=""),
        f"{HERE}.of is named '' as a prompt. A name is a text without control characters: write name=\"summary\".",
    ),
    (
        lambda: PromptDefinition.from_function(of, complete=5),  # type: ignore[arg-type]
        f'{HERE}.of was given complete=5. It maps arguments to completers: write complete={{"color": ["red", '
        '"green"]}.',
    ),
    (
        completed(["a"], "nome"),
        f"{HERE}.of was given a completer for 'nome'. Its arguments are name: name one of them in complete={{...}}.",
    ),
    (
        completed("a"),
        f"{HERE}.of was given 'a' to complete name. Allowed are a list of texts, an enum, a function, a field of a "
        'model or its rows: write complete={"name": ["first", "second"]}.',
    ),
    (
        completed(str),
        "A completer was given as <class 'str'>. It is a list of texts, an Enum, a Literal or a function of the text "
        'typed so far: write complete={"name": lambda value: [...]}.',
    ),
    (
        completed(of_two),
        f"{HERE}.of_two completes an argument and takes value, other. It is called with the text typed so far and, if "
        "it likes, the values chosen before and the context: write def function(value, arguments, context).",
    ),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES, ids=itertools.count())
def test_a_mistake_is_told_word_for_word(make, message):
    with pytest.raises(InvalidPrimitive) as caught:
        make()
    assert str(caught.value) == message


VALUES = [
    (
        lambda: CacheHint(ttl_ms=-1),
        "CacheHint got ttl_ms=-1. It is a whole number of milliseconds, 0 or more: write CacheHint(ttl_ms=60_000).",
    ),
    (
        lambda: CacheHint(scope="all"),  # type: ignore[arg-type]
        'CacheHint got scope=\'all\'. It is "private", or "public" if every user gets the same answer: write '
        'CacheHint(scope="public") or leave it out.',
    ),
    (
        lambda: ResourceContents(uri="a:b"),
        "ResourceContents of 'a:b' need either a text or a blob: write ResourceContents(uri=..., text=...) or "
        "ResourceContents(uri=..., blob=...).",
    ),
    (
        lambda: Annotations(audience=["model"]),  # type: ignore[list-item]
        "Annotations got audience=['model']. It lists user, assistant or both: write Annotations(audience=[\"user\"]).",
    ),
    (
        lambda: Annotations(priority=2),
        "Annotations got priority=2. It is a number from 0 to 1: write Annotations(priority=0.5).",
    ),
    (
        lambda: MCPServer("paged", page_size=0),
        "The server 'paged' was given page_size=0. It is a whole number of at least 1: write page_size=50 or leave it "
        "out.",
    ),
]


@pytest.mark.parametrize(("make", "message"), VALUES, ids=itertools.count())
def test_a_wrong_value_is_told_word_for_word(make, message):
    """S96."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()
    assert "paged" not in _servers


@pytest.mark.parametrize("decorator", ["resource", "resource_template"])
def test_a_decorator_without_its_uri_is_told(server, decorator):
    with pytest.raises(InvalidPrimitive) as caught:
        getattr(server, decorator)(nothing)
    example = {"resource": "help://opening-hours", "resource_template": "ticket://{pk}"}[decorator]
    assert str(caught.value) == (
        f"@{decorator} was given {nothing!r} where the URI belongs. It takes the URI as its first argument: write "
        f'@{decorator}("{example}") above the function.'
    )


@pytest.mark.parametrize("text", ["a:{", "a:}", "a:{}", "a:{x}{?y}z", "a:{=x}", "a:{x:int:int}"])
def test_no_template_is_taken_that_cannot_be_read(text):
    """S109, S110."""
    with pytest.raises(InvalidPrimitive, match="The URI template"):
        UriTemplate(text)
