"""From values to a URI and back, and what converters mean for the function behind a template."""

import uuid
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from django_mcp import InvalidPrimitive
from django_mcp.primitives.resources import ResourceTemplateDefinition
from django_mcp.primitives.uris import expand
from django_mcp.protocol.uri_templates import MAX_LENGTH, UriTemplate
from tests.protocol.strategies import utf8_texts

ROUND_TRIPS = [
    "a:{x}",
    "a:{x}/{y}",
    "a:{+x}",
    "a:{#x}",
    "a:b/{x}{?y,z}",
    "a:{x:str}/{y:path}",
    "a:{/x*}",
    "a:b{/x,y}",
    "a:b{;x,y}",
    "a:b?c=d{&x,y}",
]
segments = utf8_texts.filter(lambda text: text not in ("", "..") and not set(text) & set("/\\\0"))


@settings(deadline=None)
@given(st.sampled_from(ROUND_TRIPS), st.fixed_dictionaries({"x": segments, "y": segments, "z": segments}))
def test_a_uri_gives_back_the_values_it_was_made_of(written, values):
    """S109, RES-19, BL-077."""
    template = UriTemplate(written)
    values = {name: values[name] for name in template.variables}
    uri = expand(template, values)
    assume(len(uri) <= MAX_LENGTH)
    assert template.match(uri) == values


@settings(deadline=None)
@given(st.lists(segments, min_size=1, max_size=4))
@pytest.mark.parametrize("written", ["file:///{path:path}", "file:///{+path}", "file://{/path*}"])
def test_a_path_keeps_its_slashes(written, parts):
    template = UriTemplate(written)
    values = {"path": "/".join(parts)}
    assert template.match(expand(template, values)) == values


def test_what_is_left_out_of_a_query_stays_out():
    template = UriTemplate("find://x{?q,page:int}")
    assert expand(template, {"q": None, "page": 2}) == "find://x?page=2"
    assert expand(template, {"q": "a&b", "page": None}) == "find://x?q=a%26b"


ID = "0b9d1fe4-5a57-4f0a-b9e3-6e1a7a2b7a55"


@pytest.mark.parametrize(
    ("written", "published"),
    [
        ("ticket://{pk:int}", "ticket://{pk}"),
        ("a:{x:slug}-{y}{.z:str}", "a:{x}-{y}{.z}"),
        ("a:{x:uuid}{?page:int,q}", "a:{x}{?page,q}"),
        ("file:///{path:path}", "file:///{+path}"),
        ("file:///{path:path}{?q}", "file:///{+path}{?q}"),
    ],
)
def test_clients_see_the_template_without_converters(written, published):
    """RES-05: what is published is plain RFC 6570."""
    assert UriTemplate(written).text == published


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("a:{x:int}", "a:007", {"x": "007"}),
        ("a:{x:int}", "a:%37", {"x": "7"}),
        ("a:{x:int}", "a:-7", None),
        ("a:{x:int}", "a:٣", None),
        ("a:{x:slug}", "a:the-egg_1", {"x": "the-egg_1"}),
        ("a:{x:slug}", "a:the egg", None),
        ("a:{x:uuid}", f"a:{ID}", {"x": ID}),
        ("a:{x:uuid}", "a:0b9d1fe4", None),
        ("a:{x:path}", "a:b/c", {"x": "b/c"}),
        ("a:{x:path}", "a:b/../c", None),
        ("a:{x:path}", "a:b?c", None),
        ("a:{x:path}/{y:int}", "a:b/c/7", {"x": "b/c", "y": "7"}),
        ("a:{x:int}{?page:int}", "a:1?page=2", {"x": "1", "page": "2"}),
        ("a:{x:int}{?page:int}", "a:1?page=two", None),
        ("a:{x:int}{?page:int}", "a:1", {"x": "1"}),
    ],
)
def test_a_converter_takes_what_it_takes_in_urls(template, uri, variables):
    assert UriTemplate(template).match(uri) == variables


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "a:{x:integer}",
            "The URI template 'a:{x:integer}' has the converter 'integer': write one of int, path, slug, str, uuid, or "
            "leave it out and annotate the parameter.",
        ),
        (
            "a:{x:path,y}",
            "The URI template 'a:{x:path,y}' has the expression {x:path,y}: a path stands alone: write {name:path}.",
        ),
        (
            "a:{?x:path}",
            "The URI template 'a:{?x:path}' has the expression {?x:path}: a path stands alone: write {name:path}.",
        ),
        (
            "a:{x:3}",
            "The URI template 'a:{x:3}' has the expression {x:3}: write {name}, {+path}, {/path*} or, at the end, "
            "{?name,name}, with names that Python can use.",
        ),
    ],
)
def test_a_converter_that_is_none_is_refused(written, message):
    with pytest.raises(InvalidPrimitive) as caught:
        UriTemplate(written)
    assert str(caught.value) == message


def bound(function, written, uri):
    template = ResourceTemplateDefinition.from_function(function, uri_template=written)
    variables = template.match(uri)
    assert variables is not None
    return dict(template.prepare(uri, variables, None, str).kwargs)


def test_a_converter_types_a_parameter_without_annotation():
    def show(pk, key, name, other: Any = None): ...

    assert bound(show, "a:{pk:int}/{key:uuid}/{name:slug}{?other}", f"a:007/{ID}/egg") == {
        "pk": 7,
        "key": uuid.UUID(ID),
        "name": "egg",
    }


def test_an_annotation_wins():
    def show(pk: str): ...

    assert bound(show, "a:{pk:int}", "a:007") == {"pk": "007"}
