import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.protocol.uri_templates import MAX_LENGTH, UriTemplate, has_bad_escape

from . import strategies


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("note://all", "note://all", {}),
        # Level 1
        ("note://{name}", "note://a", {"name": "a"}),
        ("note://{name}.txt", "note://a.b.txt", {"name": "a.b"}),
        ("note://{name}/edit", "note://a/edit", {"name": "a"}),
        ("note://{a}/{b}", "note://x/y", {"a": "x", "b": "y"}),
        ("note://{a}-{b}", "note://x-y-z", {"a": "x", "b": "y-z"}),
        ("(.*)[^/]://{name}", "(.*)[^/]://a", {"name": "a"}),
        # Level 2
        ("file:///{+path}", "file:///a/b.txt", {"path": "a/b.txt"}),
        ("file:///{+path}", "file:///a%2Fb", {"path": "a/b"}),
        ("file:///{+path}/{name}", "file:///a/b/c", {"path": "a/b", "name": "c"}),
        ("proxy://{+url}", "proxy://https://x/y?z=1#f", {"url": "https://x/y?z=1#f"}),
        ("doc://a{#part}", "doc://a#b/c", {"part": "b/c"}),
        # Level 3
        ("map://{x,y}", "map://1,2,3", {"x": "1", "y": "2,3"}),
        ("file://{name}{.ext}", "file://a.tar.gz", {"name": "a", "ext": "tar.gz"}),
        ("doc://x{/a,b}", "doc://x/1/2", {"a": "1", "b": "2"}),
        ("doc://x{;a,b}", "doc://x;a=1;b=2", {"a": "1", "b": "2"}),
        ("find://x{?q,page}", "find://x?q=a&page=2", {"q": "a", "page": "2"}),
        ("find://x?kind=a{&q}", "find://x?kind=a&q=b", {"q": "b"}),
        # Variables of a query are optional and come in any order.
        ("find://x{?q,page}", "find://x?page=2&q=a", {"q": "a", "page": "2"}),
        ("find://x{?q,page}", "find://x?page=2", {"page": "2"}),
        ("find://x{?q,page}", "find://x", {}),
        ("find://x?kind=a{&q}", "find://x?kind=a", {}),
        ("find://x{?q}", "find://x?q=", {"q": ""}),
        ("find://x{?q}", "find://x?q", {"q": ""}),
        ("find://x{?q}", "find://x?q=a=b", {"q": "a=b"}),
        ("find://x{?q}", "find://x?q=a%26b", {"q": "a&b"}),
        ("find://x{?q}", "find://x?q=a+b", {"q": "a+b"}),
        ("find://x{?url}", "find://x?url=https%3A%2F%2Fexample.com/", {"url": "https://example.com/"}),
        ("find://{name}{?q}", "find://a?q=b", {"name": "a", "q": "b"}),
        ("find://{+path}{?q}", "find://a/b?q=c", {"path": "a/b", "q": "c"}),
        # The one expression of level 4
        ("file://x{/path*}", "file://x/a/b/c", {"path": "a/b/c"}),
        # Decoded once, after matching: RES-19, BL-077
        ("note://{name}", "note://hello%20world", {"name": "hello world"}),
        ("note://{name}", "note://Gr%C3%BC%C3%9Fe", {"name": "Grüße"}),
        ("note://{name}", "note://Grüße", {"name": "Grüße"}),
        ("note://{name}", "note://a b", {"name": "a b"}),
        ("note://{name}", "note://%252e%252e%252f", {"name": "%2e%2e%2f"}),
        ("note://{name}", "note://a..b", {"name": "a..b"}),
        ("note://{name}", "note://.", {"name": "."}),
    ],
)
def test_a_uri_gives_its_variables(template, uri, variables):
    """W15."""
    assert UriTemplate(template).match(uri) == variables


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("note://{name}", "note://"),
        ("note://{name}", "note://a/b"),
        ("note://{name}", "note://a?b"),
        ("note://{name}", "note://a#b"),
        ("note://{name}", "NOTE://a"),
        ("note://{name}", " note://a"),
        ("note://{name}", "note://a/"),
        ("a.b://{name}", "aXb://c"),
        ("map://{x,y}", "map://1"),
        ("file://x{/path*}", "file://x/a?b"),
        ("find://x{?q}", "find://x?"),
        ("find://x{?q}", "find://x?other=1"),
        ("find://x{?q}", "find://x?q=1&other=1"),
        ("find://x{?q}", "find://x?q=1&q=2"),
        ("find://x{?q}", "find://x&q=1"),
        ("find://{name}{?q}", "find://a?name=b"),
        # BL-077
        ("note://{name}", "note://a%2Fb"),
        ("note://{name}", "note://a%5Cb"),
        ("note://{name}", "note://..%2F..%2Fetc%2Fpasswd"),
        ("note://{name}", "note://.."),
        ("note://{name}", "note://%2e%2E"),
        ("note://{name}", "note://%00"),
        ("note://{name}", "note://a\x00"),
        ("note://{name}", "note://%zz"),
        ("note://{name}", "note://%"),
        ("note://{name}", "note://%4"),
        ("note://{name}", "note://%ff"),
        ("note://{name}", "note://%ed%a0%80"),
        ("note://{name}", "note://\ud800"),
        ("file:///{+path}", "file:///../secret"),
        ("file:///{+path}", "file:///a/%2e%2e/secret"),
        ("file:///{+path}", "file:///a%5C..%5Csecret"),
        ("file:///{+path}", "file:///a%00"),
        ("file://x{/path*}", "file://x/a/../b"),
        ("find://x{?q}", "find://x?q=..%2Fsecret"),
    ],
)
def test_a_strange_uri_gives_nothing(template, uri):
    assert UriTemplate(template).match(uri) is None


def test_a_uri_has_a_greatest_length():
    template = UriTemplate("a:{x}")

    assert template.match("a:" + "x" * (MAX_LENGTH - 2)) is not None
    assert template.match("a:" + "x" * (MAX_LENGTH - 1)) is None


def test_a_template_knows_its_text_and_its_variables():
    template = UriTemplate("find://{a}{/b,c}{?d,e}")

    assert template.text == "find://{a}{/b,c}{?d,e}"
    assert template.variables == ("a", "b", "c", "d", "e")
    assert repr(template) == "UriTemplate('find://{a}{/b,c}{?d,e}')"


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("note://{name", "braces that do not match"),
        ("note://name}", "braces that do not match"),
        ("note://{{name}}", "braces that do not match"),
        ("note://{}", "the expression {}"),
        ("note://{a b}", "the expression {a b}"),
        ("note://{1a}", "the expression {1a}"),
        ("note://{ä}", "the expression {ä}"),
        ("note://{a,}", "the expression {a,}"),
        ("note://{a.b}", "the expression {a.b}"),
        ("note://{a:3}", "the expression {a:3}"),
        ("note://{a*}", "the expression {a*}"),
        ("note://{?a*}", "the expression {?a*}"),
        ("note://{/a,b*}", "the expression {/a,b*}"),
        ("note://{=a}", "the expression {=a}"),
        ("note://{?a}x", "the expression {?a}"),
        ("note://x{?a}{&b}", "the expression {?a}"),
        ("note://{a}/{a}", "a variable twice"),
        ("note://{a}{?a}", "a variable twice"),
        ("note://{a}{b}", "two variables side by side"),
        ("note://{a}{+b}", "two variables side by side"),
        ("note://{+a}/{+b}", "two variables that may contain slashes"),
        ("note://{+a,b}", "two variables that may contain slashes"),
        ("note://{+a}{/b*}", "two variables that may contain slashes"),
    ],
)
def test_a_template_that_cannot_be_read_is_refused(template, fault):
    with pytest.raises(InvalidPrimitive) as caught:
        UriTemplate(template)

    assert f"{template!r} has {fault}" in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("uri", "bad"),
    [("note://a", False), ("%20%c3%BC", False), ("%zz", True), ("a%", True), ("%%20", True)],
)
def test_bad_escapes_are_seen(uri, bad):
    """BL-077"""
    assert has_bad_escape(uri) is bad


TEMPLATES = [
    "a:{x}",
    "a:{+x}",
    "a:{x,y}",
    "a:{x}{.y}{/z*}",
    "a:{x}-{y}-{z}.{v}/{w}",
    "a:{+x}-{y}.txt",
    "a:{+x}/{y}.{z}{?q,r}",
    "a:{#x}",
    "a:{;x,y}",
]


@settings(deadline=None)
@given(st.sampled_from(TEMPLATES), strategies.texts | st.text("%20fF.-/?&=qxyz;,#", max_size=40))
def test_any_text_can_be_matched(template, text):
    variables = UriTemplate(template).match("a:" + text)

    assert variables is None or all(isinstance(value, str) for value in variables.values())


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("piece", ["-", "/", ".", "a", "-.", "/-a", "&q=", "%41"])
def test_long_uris_take_no_long_time(template, piece):
    """What takes exponential time would not come to an end."""
    UriTemplate(template).match("a:" + piece * ((MAX_LENGTH - 3) // len(piece)) + "\n")
