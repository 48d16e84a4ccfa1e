from datetime import UTC, datetime

import pytest

from django_mcp.protocol.content import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolResult,
)
from django_mcp.protocol.versions import Revision

FIRST = Revision.V2024_11_05
LATEST = Revision.V2026_07_28
ANNOTATIONS = Annotations(audience=["user"], priority=0, last_modified=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
META = {"com.example/x": 1}


class Icon:
    def to_wire(self, revision):
        return {"src": "https://example.com/icon.png"}


def test_annotations_are_written():
    """TOOL-19"""
    assert ANNOTATIONS.to_wire(LATEST) == {
        "audience": ["user"],
        "priority": 0,
        "lastModified": "2026-01-02T03:04:05+00:00",
    }


def test_a_date_that_is_text_is_sent_as_it_is():
    annotations = Annotations(last_modified="2026-01-02T03:04:05Z")

    assert annotations.to_wire(LATEST) == {"lastModified": "2026-01-02T03:04:05Z"}


@pytest.mark.parametrize(("revision", "known"), list(zip(Revision, [False, False, True, True, True], strict=True)))
def test_older_revisions_have_no_date_of_change(revision, known):
    assert ("lastModified" in ANNOTATIONS.to_wire(revision)) is known


@pytest.mark.parametrize("audience", ["user", ["system"], ["user", "model"]])
def test_an_unknown_audience_is_refused(audience):
    with pytest.raises(ValueError, match=r"lists user, assistant or both.*\.$"):
        Annotations(audience=audience)


@pytest.mark.parametrize("priority", [-0.1, 1.1, float("nan")])
def test_a_priority_beyond_its_range_is_refused(priority):
    with pytest.raises(ValueError, match=r"number from 0 to 1.*\.$"):
        Annotations(priority=priority)


def test_text_is_written():
    assert TextContent("hello").to_wire(FIRST) == {"type": "text", "text": "hello"}


@pytest.mark.parametrize("revision", Revision)
def test_images_are_base64(revision):
    """S81, TOOL-17"""
    expected = {"type": "image", "data": "AP8=", "mimeType": "image/png"}

    assert ImageContent(b"\x00\xff", "image/png").to_wire(revision) == expected
    assert ImageContent(data="AP8=", mime_type="image/png").to_wire(revision) == expected


def test_audio_is_base64():
    assert AudioContent(b"\x00\xff", "audio/wav").to_wire(Revision.V2025_03_26) == {
        "type": "audio",
        "data": "AP8=",
        "mimeType": "audio/wav",
    }


def test_audio_is_a_note_for_the_first_revision():
    """TOOL-17"""
    assert AudioContent(b"\x00\xff", "audio/wav").to_wire(FIRST) == {
        "type": "text",
        "text": "[audio, audio/wav]",
    }


def test_a_text_resource_is_embedded():
    """S81."""
    contents = ResourceContents(uri="note://a", mime_type="text/plain", text="")

    assert EmbeddedResource(contents).to_wire(FIRST) == {
        "type": "resource",
        "resource": {"uri": "note://a", "mimeType": "text/plain", "text": ""},
    }


def test_a_binary_resource_is_base64():
    """RES-04"""
    assert ResourceContents(uri="note://a", blob=b"").to_wire(FIRST) == {"uri": "note://a", "blob": ""}


@pytest.mark.parametrize("members", [{}, {"text": "a", "blob": b"b"}])
def test_contents_are_either_text_or_blob(members):
    with pytest.raises(ValueError, match=r"'note://a' need either a text or a blob.*\.$"):
        ResourceContents(uri="note://a", **members)


LINK = ResourceLink(
    uri="note://a",
    name="a",
    title="Note A",
    description="The first note",
    mime_type="text/plain",
    size=0,
    icons=(Icon(),),
)


def test_a_resource_link_is_written():
    """TOOL-17"""
    assert LINK.to_wire(LATEST) == {
        "type": "resource_link",
        "uri": "note://a",
        "name": "a",
        "title": "Note A",
        "description": "The first note",
        "mimeType": "text/plain",
        "size": 0,
        "icons": [{"src": "https://example.com/icon.png"}],
    }


def test_a_short_link_has_only_what_is_required():
    assert ResourceLink(uri="note://a", name="a").to_wire(LATEST) == {
        "type": "resource_link",
        "uri": "note://a",
        "name": "a",
    }


def test_a_link_has_no_icons_before_they_existed():
    """ICON-01"""
    assert "icons" not in LINK.to_wire(Revision.V2025_06_18)


@pytest.mark.parametrize("revision", [FIRST, Revision.V2025_03_26])
def test_a_link_is_a_text_before_links_existed(revision):
    """TOOL-17"""
    assert LINK.to_wire(revision) == {"type": "text", "text": "Note A: note://a"}
    assert ResourceLink(uri="note://a", name="a").to_wire(revision)["text"] == "a: note://a"


@pytest.mark.parametrize(
    "block",
    [
        TextContent("a", annotations=ANNOTATIONS, meta=META),
        ImageContent("", "image/png", annotations=ANNOTATIONS, meta=META),
        AudioContent("", "audio/wav", annotations=ANNOTATIONS, meta=META),
        EmbeddedResource(ResourceContents(uri="note://a", text="a", meta=META), annotations=ANNOTATIONS, meta=META),
        ResourceLink(uri="note://a", name="a", annotations=ANNOTATIONS, meta=META),
    ],
)
@pytest.mark.parametrize("revision", Revision)
def test_blocks_carry_annotations_and_the_meta_of_their_revision(block, revision):
    """META-13"""
    wire = block.to_wire(revision)

    assert wire["annotations"] == ANNOTATIONS.to_wire(revision)
    assert wire.get("_meta") == (META if revision.has_item_meta else None)
    if isinstance(block, EmbeddedResource):
        assert wire["resource"].get("_meta") == (META if revision.has_item_meta else None)


def test_annotations_that_say_nothing_are_left_out():
    assert TextContent("a", annotations=Annotations()).to_wire(LATEST) == {"type": "text", "text": "a"}


def test_a_prompt_message_holds_one_block():
    """PRM-03"""
    assert PromptMessage("user", TextContent("hi")).to_wire(LATEST) == {
        "role": "user",
        "content": {"type": "text", "text": "hi"},
    }


def test_a_tool_result_always_has_content():
    """TOOL-16"""
    assert ToolResult().to_wire(FIRST) == {"content": [], "isError": False}


def test_a_tool_result_carries_its_parts():
    result = ToolResult(content=(TextContent("a"), AudioContent("", "audio/wav")), is_error=True, meta=META)

    assert result.to_wire(FIRST) == {
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "[audio, audio/wav]"}],
        "isError": True,
        "_meta": META,
    }


@pytest.mark.parametrize("value", [None, [], [1], "x", 0, False, 1.5])
@pytest.mark.parametrize(
    ("revision", "wrapped"),
    list(zip(Revision, [None, None, True, True, False], strict=True)),
)
def test_a_value_that_is_no_object_is_wrapped_where_it_must_be_one(value, revision, wrapped):
    """TOOL-12, TOOL-13, TOOL-14"""
    wire = ToolResult(structured=value).to_wire(revision)

    if wrapped is None:
        assert "structuredContent" not in wire
    else:
        assert wire["structuredContent"] == ({"result": value} if wrapped else value)


@pytest.mark.parametrize("revision", list(Revision)[2:])
def test_an_object_is_structured_as_it_is(revision):
    assert ToolResult(structured={"a": 1}).to_wire(revision)["structuredContent"] == {"a": 1}
