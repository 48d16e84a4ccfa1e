"""Tools: names, options and what each revision sees of them."""

from typing import Any, cast

import pytest

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.base import Icon
from django_mcp.primitives.tools import ToolAnnotations, ToolDefinition
from django_mcp.protocol.versions import Revision
from tests.primitives.values import Lazy, no_hook


def count(word: str) -> int:
    """Count the letters.

    Spaces count, too.

    Args:
        word: what is counted
    """
    return len(word)


def test_a_tool_is_named_and_described_by_its_function():
    tool = ToolDefinition.from_function(count)

    assert tool.name == tool.key == "count"
    assert tool.description == "Count the letters.\n\nSpaces count, too."
    assert tool.origin == "tests.primitives.test_tools.count"
    assert "test_tools.py:" in tool.place


@pytest.mark.parametrize(
    ("doc", "description"),
    [
        (None, None),
        ("", None),
        ("Args:\n    x: y", None),
        ("Look.\n\n:param x: y", "Look."),
        ("Look.\n\nParameters\n----------\nx", "Look."),
        ("Look.\n\n>>> 1", "Look."),
        ("Returns the length of a word.", "Returns the length of a word."),
    ],
    ids=ascii,
)
def test_descriptions_stop_at_the_first_section(doc, description):
    def function(): ...

    function.__doc__ = doc
    assert ToolDefinition.from_function(function).description == description


@pytest.mark.parametrize("name", ["a", "shop.list", "a-b_c", "a" * 128, "0"])
def test_good_names(name):
    """BL-033, TOOL-06."""
    assert ToolDefinition.from_function(count, name=name).name == name


@pytest.mark.parametrize("name", ["", "New Tool", "größe", "a" * 129, "a,b", "a/b", "a\n", 5])
def test_bad_names_are_refused(name):
    """BL-033, TOOL-06."""
    with pytest.raises(InvalidPrimitive, match=r"as a tool. A name has 1 to 128"):
        ToolDefinition.from_function(count, name=name)


def test_a_lambda_needs_a_name():
    with pytest.raises(InvalidPrimitive, match="named '<lambda>'"):
        ToolDefinition.from_function(lambda: 0)


def full():
    return ToolDefinition.from_function(
        count,
        title=Lazy("Zählen"),
        description=Lazy("Zählt"),
        icons=[Icon("https://example.com/i.png", "image/png", ["48x48"], "dark"), Icon("data:image/png;base64,")],
        annotations=ToolAnnotations(title=Lazy("Z"), read_only_hint=True, destructive_hint=False),
        meta={"example.com/key": Lazy("Wert"), "n": [1]},
    )


SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string", "description": "what is counted"}},
    "required": ["word"],
    "additionalProperties": False,
}
ICONS = [
    {"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"},
    {"src": "data:image/png;base64,"},
]
OUTPUT = {"type": "integer"}
WRAPPED = {"type": "object", "properties": {"result": OUTPUT}, "required": ["result"]}
HINTS = {"title": "Z", "readOnlyHint": True, "destructiveHint": False}
V24 = {"name": "count", "description": "Zählt", "inputSchema": SCHEMA}
V03 = {**V24, "annotations": HINTS}
V06 = {**V03, "title": "Zählen", "outputSchema": WRAPPED, "_meta": {"example.com/key": "Wert", "n": [1]}}
V11 = {**V06, "icons": ICONS}
V26 = {**V11, "outputSchema": OUTPUT}


@pytest.mark.parametrize(("revision", "expected"), list(zip(Revision, [V24, V03, V06, V11, V26], strict=True)), ids=str)
def test_each_revision_sees_what_it_knows(revision, expected):
    """BL-022, ICON-01, TOOL-05, TOOL-10, TOOL-20, TOOL-21."""
    assert full().to_wire(revision) == expected


def test_nothing_is_said_that_is_not_known():
    def function(): ...

    wire = ToolDefinition.from_function(function, annotations=ToolAnnotations()).to_wire(Revision.V2026_07_28)
    assert set(wire) == {"name", "inputSchema", "annotations"}
    assert wire["annotations"] == {}


def test_a_call_carries_its_options():
    tool = ToolDefinition.from_function(count, atomic=False, timeout=1.5)
    invocation = tool.prepare({"word": "abc"}, None, no_hook)

    assert invocation.function is count
    assert (invocation.kwargs, invocation.is_async) == ({"word": "abc"}, False)
    assert (invocation.atomic, invocation.timeout) == (False, 1.5)
    assert invocation.finish(count(**invocation.kwargs)).structured == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"icons": "https://example.com"}, "was given 'https://example.com' as an icon"),
        ({"icons": ["x"]}, "was given 'x' as an icon"),
        ({"meta": 5}, "meta=5"),
        ({"meta": {1: 2}}, "text keys"),
        ({"permission": "change_order"}, "permission='change_order'"),
        ({"permission": 5}, "permission=5"),
        ({"atomic": 1}, "atomic=1. Allowed are True and False"),
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": True}, "timeout=True"),
        ({"timeout": "5"}, "timeout='5'"),
        ({"annotations": {"readOnlyHint": True}}, "annotations={'readOnlyHint': True}"),
    ],
    ids=ascii,
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidPrimitive, match=message):
        ToolDefinition.from_function(count, **options)


def test_a_single_icon_needs_no_list():
    icon = Icon("http://example.com/i.png")

    assert ToolDefinition.from_function(count, icons=cast(Any, icon)).icons == (icon,)


def test_a_permission_may_be_a_text_or_a_function():
    assert ToolDefinition.from_function(count, permission="shop.view_item").permission == "shop.view_item"
    assert ToolDefinition.from_function(count, permission=bool).permission is bool


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"src": "static/i.png"}, "src 'static/i.png'"),
        ({"src": "//example.com/i.png"}, "or a path of this site"),
        ({"src": "javascript:x"}, "https, http or data"),
        ({"src": None}, "src None"),
        ({"src": "data:,", "sizes": "48x48"}, "sizes '48x48'"),
        ({"src": "data:,", "sizes": ["48"]}, "texts such as 48x48"),
        ({"src": "data:,", "sizes": [48]}, "sizes"),
        ({"src": "data:,", "theme": "blue"}, "theme 'blue'"),
    ],
    ids=ascii,
)
def test_wrong_icons_are_refused(options, message):
    """ICON-02, ICON-03."""
    with pytest.raises(InvalidPrimitive, match=message):
        Icon(**options)


def test_hints_are_booleans():
    """TOOL-20."""
    with pytest.raises(InvalidPrimitive, match="read_only_hint='yes'"):
        ToolAnnotations(read_only_hint=cast(Any, "yes"))
    assert ToolAnnotations(idempotent_hint=True, open_world_hint=False).to_wire() == {
        "idempotentHint": True,
        "openWorldHint": False,
    }


@pytest.mark.parametrize("confirm", [0, 7, "", "  "])
def test_a_confirmation_is_true_or_a_question(confirm):
    with pytest.raises(InvalidPrimitive, match="confirm"):
        ToolDefinition.from_function(count, confirm=confirm)


def test_what_only_reads_needs_no_confirmation():
    with pytest.raises(InvalidPrimitive, match="read_only_hint"):
        ToolDefinition.from_function(count, confirm=True, annotations=ToolAnnotations(read_only_hint=True))
    assert ToolDefinition.from_function(count, confirm=False).confirm is None
    assert ToolDefinition.from_function(count, confirm=Lazy("Sure?")).confirm is not None
