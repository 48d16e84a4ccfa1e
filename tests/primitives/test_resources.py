"""Resources and templates: a URI leads to contents."""

import datetime
import uuid

import pytest

from django_mcp.exceptions import InvalidArguments, InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Icon
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.protocol.content import Annotations, ResourceContents
from django_mcp.protocol.results import CacheHint
from django_mcp.protocol.versions import Revision
from tests.primitives.values import Context, no_hook, numbered

MODERN = Revision.V2026_07_28
HINT = CacheHint(ttl_ms=5)


def hours(ctx: Context):
    """When we are there."""


def ticket(pk: int, ctx: Context): ...


def read(value, function=hours, **options):
    resource = ResourceDefinition.from_function(function, uri="help://hours", **options)
    return resource.prepare("help://hours", {}, "the context", no_hook).finish(value)


def test_a_resource_is_listed():
    """RES-02."""
    resource = ResourceDefinition.from_function(
        hours,
        uri="help://hours",
        title="Hours",
        icons=[Icon("data:,")],
        meta={"a": 1},
        mime_type="text/plain",
        size=0,
        annotations=Annotations(audience=["user"], priority=0.5, last_modified="2026-07-28"),
        cache=HINT,
    )

    assert resource.to_wire(MODERN) == {
        "uri": "help://hours",
        "name": "hours",
        "title": "Hours",
        "description": "When we are there.",
        "mimeType": "text/plain",
        "size": 0,
        "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-07-28"},
        "icons": [{"src": "data:,"}],
        "_meta": {"a": 1},
    }
    assert set(resource.to_wire(Revision.V2025_03_26)) == {
        "uri", "name", "description", "mimeType", "size", "annotations",
    }  # fmt: skip
    assert resource.key == "help://hours"
    assert resource.cache is HINT


def test_a_template_is_listed():
    """RES-05."""
    template = ResourceTemplateDefinition.from_function(
        ticket, uri_template="ticket://{pk}", name="Ein Ticket", cache=HINT, annotations=Annotations()
    )

    assert template.to_wire(MODERN) == {"uriTemplate": "ticket://{pk}", "name": "Ein Ticket"}
    assert template.key == "ticket://{pk}"
    assert template.argument_names == ("pk",)
    assert template.complete == {}
    assert template.cache is HINT


def test_a_resource_is_called_with_the_context_alone():
    invocation = ResourceDefinition.from_function(hours, uri="help://hours").prepare("help://hours", {}, "c", no_hook)

    assert (invocation.function, invocation.kwargs, invocation.is_async) == (hours, {"ctx": "c"}, False)


def test_template_variables_become_the_annotated_types():
    """BL-077, RES-19."""
    template = ResourceTemplateDefinition.from_function(ticket, uri_template="ticket://{pk}")

    assert template.match("ticket://5") == {"pk": "5"}
    assert template.match("note://5") is None
    assert template.prepare("ticket://5", {"pk": "5"}, "c", no_hook).kwargs == {"pk": 5, "ctx": "c"}
    with pytest.raises(InvalidArguments, match="pk: must be a valid integer, not 'x'"):
        template.prepare("ticket://x", {"pk": "x"}, None, no_hook)


def test_query_variables_may_be_left_out():
    def search(kind: str, page: int = 1): ...

    template = ResourceTemplateDefinition.from_function(search, uri_template="ticket://{kind}{?page}")

    variables = template.match("ticket://open")
    assert variables is not None
    assert template.prepare("ticket://open", variables, None, no_hook).kwargs == {"kind": "open"}


def test_a_template_fills_in_the_uri_that_was_read():
    template = ResourceTemplateDefinition.from_function(ticket, uri_template="ticket://{pk}")
    result = template.prepare("ticket://5", {"pk": "5"}, None, no_hook).finish("text")

    assert result.to_wire(MODERN) == {"contents": [{"uri": "ticket://5", "mimeType": "text/plain", "text": "text"}]}


def contents(**fields):
    return {"uri": "help://hours", **fields}


TEXT = ResourceContents(uri="other://x", mime_type="text/html", text="<p>")


@pytest.mark.parametrize(
    ("value", "mime_type", "expected"),
    numbered(
        ("a", None, [contents(mimeType="text/plain", text="a")]),
        ("", None, [contents(mimeType="text/plain", text="")]),
        ("a", "text/html", [contents(mimeType="text/html", text="a")]),
        (b"a", None, [contents(mimeType="application/octet-stream", blob="YQ==")]),
        (bytearray(b"a"), "image/png", [contents(mimeType="image/png", blob="YQ==")]),
        ({"a": 1}, None, [contents(mimeType="application/json", text='{"a":1}')]),
        ([1, "ü"], None, [contents(mimeType="application/json", text='[1,"ü"]')]),
        ([], None, [contents(mimeType="application/json", text="[]")]),
        ((item for item in "ab"), None, [contents(mimeType="application/json", text='["a","b"]')]),
        (5, None, [contents(mimeType="application/json", text="5")]),
        ({"a": 1}, "application/ld+json", [contents(mimeType="application/ld+json", text='{"a":1}')]),
        (datetime.date(2026, 7, 28), None, [contents(mimeType="text/plain", text="2026-07-28")]),
        (TEXT, None, [{"uri": "other://x", "mimeType": "text/html", "text": "<p>"}]),
        (ResourceContents(uri="", text="a"), None, [contents(mimeType="text/plain", text="a")]),
        (ResourceContents(uri="", text="a"), "text/css", [contents(mimeType="text/css", text="a")]),
        (ResourceContents(uri="", blob=b"a"), None, [contents(mimeType="application/octet-stream", blob="YQ==")]),
        (
            [TEXT, "a", b"a"],
            None,
            [
                {"uri": "other://x", "mimeType": "text/html", "text": "<p>"},
                contents(mimeType="text/plain", text="a"),
                contents(mimeType="application/octet-stream", blob="YQ=="),
            ],
        ),
    ),
)
def test_what_is_returned_becomes_contents(value, mime_type, expected):
    """RES-04, RES-13."""
    assert read(value, mime_type=mime_type).to_wire(MODERN) == {"contents": expected}


def promising(ctx: Context) -> list[ResourceContents]: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("value", "function", "message"),
    numbered(
        (None, hours, "returned None. Contents are never empty"),
        ([], promising, r"returned \[\]"),
        (iter(()), promising, r"returned \[\]"),
        (object(), hours, "builtins.object"),
        (float("nan"), hours, "non-finite"),
    ),
)
def test_what_is_no_contents_is_named(value, function, message):
    """BL-005, BL-076, RES-08."""
    with pytest.raises(InvalidOutput, match=message):
        read(value, function)


@pytest.mark.parametrize(
    "uri",
    ["", "hours", "/hours", "help:", "help://öffnung", "help://a b", "help://%zz", "1a://x", "help://{x}", None, "a\n"],
    ids=ascii,
)
def test_other_uris_are_refused(uri):
    """RES-13, RES-17."""
    with pytest.raises(InvalidPrimitive, match="was given the URI"):
        ResourceDefinition.from_function(hours, uri=uri)


@pytest.mark.parametrize("uri", ["help://hours", "urn:isbn:5", "file:///a/b", "x+y.z-1:a?b=%20#c"])
def test_good_uris(uri):
    """RES-16, RES-17."""
    assert ResourceDefinition.from_function(hours, uri=uri).uri == uri


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "was given the URI None"),
        ("{scheme}://x", "was given the URI '{scheme}://x'"),
        ("ticket/{pk}", "was given the URI 'ticket/{pk}'"),
        ("ticket://ö/{pk}", "was given the URI"),
        ("ticket://{pk", "braces"),
        ("ticket://x", r"has no variables.*@resource\(\"ticket://x\"\)"),
        ("ticket://{key}", r"takes pk and its template .* variables key.*write def ticket\(key\)"),
        ("ticket://{pk}/{part}", "variables pk, part"),
    ],
    ids=ascii,
)
def test_other_templates_are_refused(template, message):
    """RES-05, RES-13."""
    with pytest.raises(InvalidPrimitive, match=message):
        ResourceTemplateDefinition.from_function(ticket, uri_template=template)


def test_a_template_without_parameters_is_refused():
    with pytest.raises(InvalidPrimitive, match="takes nothing and its template"):
        ResourceTemplateDefinition.from_function(hours, uri_template="help://{pk}")


def test_a_resource_with_parameters_is_refused():
    with pytest.raises(InvalidPrimitive, match=r'takes pk as .*@resource_template\("ticket://x/\{pk\}"\)'):
        ResourceDefinition.from_function(ticket, uri="ticket://x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mime_type": "text"}, "mime_type='text'"),
        ({"mime_type": 5}, "mime_type=5"),
        ({"size": -1}, "size=-1"),
        ({"size": True}, "size=True"),
        ({"annotations": {}}, "annotations={}"),
        ({"cache": 5}, "cache=5"),
        ({"name": ""}, "named '' as a resource"),
    ],
    ids=ascii,
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidPrimitive, match=message):
        ResourceDefinition.from_function(hours, uri="help://hours", **options)


def test_templates_take_completers():
    def note(key: uuid.UUID, public: bool): ...

    template = ResourceTemplateDefinition.from_function(
        note, uri_template="note://{key}/{public}", complete={"key": lambda value: []}
    )
    assert set(template.complete) == {"key", "public"}


def test_media_types_may_have_parameters():
    assert ResourceDefinition.from_function(hours, uri="a:b", mime_type="text/html; charset=utf-8").mime_type
