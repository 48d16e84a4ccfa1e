"""Prompts: texts come in, messages go out."""

import datetime
import enum
from typing import Annotated, Any, cast

import pytest
from pydantic import Field

from django_mcp.exceptions import InvalidArguments, InvalidOutput, InvalidPrimitive
from django_mcp.primitives.base import Icon
from django_mcp.primitives.messages import PromptResult
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.protocol.content import ImageContent, PromptMessage, TextContent
from django_mcp.protocol.versions import Revision
from tests.primitives.values import Context, Lazy, lazy_hook, no_hook, numbered

IMAGE = ImageContent(b"png", "image/png")
# What an author may write although its type says otherwise.
LooseMessage: Any = PromptMessage
LooseResult: Any = PromptResult
MODERN = Revision.V2026_07_28


class Tone(enum.Enum):
    KIND = "kind"


def greet(
    name: Annotated[str, Field(description=Lazy("Wer"), title="Name")],
    context: Context,
    tone: Tone = Tone.KIND,
    count: int = 1,
    tags: list[str] | None = None,
):
    """Greet somebody."""


def no_render(template_name, values):
    raise AssertionError(template_name)  # pragma: no cover - these prompts have no template


def prepare(function, /, **arguments):
    return PromptDefinition.from_function(function).prepare(arguments, "the context", lazy_hook, no_render)


def faults(function, /, **arguments):
    with pytest.raises(InvalidArguments) as caught:
        prepare(function, **arguments)
    return caught.value.faults


def test_arguments_come_from_the_signature():
    """BL-022, PRM-02."""
    prompt = PromptDefinition.from_function(greet)

    assert prompt.to_wire(MODERN) == {
        "name": "greet",
        "description": "Greet somebody.",
        "arguments": [
            {"name": "name", "title": "Name", "description": "Wer", "required": True},
            {"name": "tone", "required": False},
            {"name": "count", "required": False},
            {"name": "tags", "required": False},
        ],
    }
    assert prompt.argument_names == ("name", "tone", "count", "tags")


def test_older_revisions_see_less():
    """ICON-01, PRM-02."""
    prompt = PromptDefinition.from_function(
        greet, name="hallo du", title="T", description="D", icons=[Icon("data:,")], meta={"a": 1}
    )

    assert prompt.to_wire(Revision.V2024_11_05)["arguments"][0] == {
        "name": "name",
        "description": "Wer",
        "required": True,
    }
    seen = {revision: set(prompt.to_wire(revision)) for revision in Revision}
    assert seen[Revision.V2025_03_26] == {"name", "description", "arguments"}
    assert seen[Revision.V2025_06_18] == {"name", "description", "arguments", "title", "_meta"}
    assert seen[Revision.V2025_11_25] == seen[MODERN] == seen[Revision.V2025_06_18] | {"icons"}


def test_texts_become_the_annotated_types():
    """PRM-09."""
    invocation = prepare(greet, name="", tone="kind", count="3", tags='["a"]')

    assert invocation.kwargs == {
        "name": "",
        "tone": Tone.KIND,
        "count": 3,
        "tags": ["a"],
        "context": "the context",
    }
    assert (invocation.function, invocation.is_async, invocation.atomic) == (greet, False, None)


def test_mistakes_are_named():
    """BL-079, PRM-04, PRM-09."""
    assert faults(greet) == ("name is required but was not given",)
    assert faults(greet, name=5, count=[]) == ("name: must be a string, not 5", "count: must be a string, not []")
    assert faults(greet, name="x", count="y") == ("count: must be a valid integer, not 'y'",)
    assert faults(greet, name="x", nam="y") == ("nam is unknown; allowed are name, tone, count, tags",)


def test_a_prompt_without_arguments_takes_none():
    """BL-079."""

    def plain():
        "Say it."

    assert prepare(plain).kwargs == {}
    assert "arguments" not in PromptDefinition.from_function(plain).to_wire(MODERN)


@pytest.mark.parametrize(
    ("value", "messages"),
    numbered(
        ("hello", [("user", "hello")]),
        ("", [("user", "")]),
        (Lazy("hallo"), [("user", "hallo")]),
        (datetime.date(2026, 7, 28), [("user", "2026-07-28")]),
        (IMAGE, [("user", IMAGE)]),
        (PromptMessage("assistant", TextContent("x")), [("assistant", "x")]),
        (LooseMessage("assistant", "x"), [("assistant", "x")]),
        ({"role": "assistant", "content": "x"}, [("assistant", "x")]),
        ({"content": {"type": "text", "text": "x"}}, [("user", "x")]),
        ({"role": "user", "content": IMAGE}, [("user", IMAGE)]),
        (["a", {"role": "assistant", "content": "b"}, IMAGE], [("user", "a"), ("assistant", "b"), ("user", IMAGE)]),
        ((text for text in "ab"), [("user", "a"), ("user", "b")]),
        ([], []),
        (LooseResult(messages=("a",)), [("user", "a")]),
        (LooseResult(description="D", messages="a"), [("user", "a")]),
        ({"messages": ["a", {"role": "assistant", "content": "b"}]}, [("user", "a"), ("assistant", "b")]),
    ),
)
def test_what_is_returned_becomes_messages(value, messages):
    """PRM-03, PRM-05."""
    result = prepare(greet, name="x").finish(value)

    assert [
        (message.role, message.content.text if isinstance(message.content, TextContent) else message.content)
        for message in result.messages
    ] == messages


def test_the_description_is_the_prompts_unless_the_result_has_one():
    finish = prepare(greet, name="x").finish

    assert finish("a").to_wire(MODERN) == {
        "description": "Greet somebody.",
        "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}],
    }
    assert finish(LooseResult(description=Lazy("D"), messages="a")).to_wire(MODERN)["description"] == "D"
    assert finish({"messages": "a", "description": "D", "meta": {"a/b": 1}}).to_wire(MODERN) == {
        "description": "D",
        "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}],
        "_meta": {"a/b": 1},
    }
    assert "description" not in PromptResult(messages=()).to_wire(MODERN)


@pytest.mark.parametrize(
    ("value", "message"),
    numbered(
        (None, "type NoneType as a message"),
        (5, "type int as a message"),
        ([["a"]], "type list as a message"),
        ({"role": "user", "content": {"type": "image"}}, "as a message"),
        ({"role": "user", "content": {"type": "text"}}, "as a message"),
        ({"role": "user"}, "as a message"),
        ({"role": "system", "content": "x"}, "role 'system'"),
        (object(), "type builtins.object"),
    ),
)
def test_what_is_no_message_is_named(value, message):
    """PRM-05."""
    with pytest.raises(InvalidOutput, match=message):
        prepare(greet, name="x").finish(value)


@pytest.mark.parametrize("name", ["", " ", "a\nb", 5])
def test_names_can_be_printed(name):
    with pytest.raises(InvalidPrimitive, match=r"as a prompt. A name is a text"):
        PromptDefinition.from_function(greet, name=name)


def test_keyword_parameters_are_refused():
    with pytest.raises(InvalidPrimitive, match=r"takes \*\*options"):
        PromptDefinition.from_function(lambda **options: 0, name="x")


def test_completers_come_from_annotations_and_options():
    prompt = PromptDefinition.from_function(greet, complete={"name": ["Ada", "Bob"]})

    assert set(prompt.complete) == {"name", "tone"}
    with pytest.raises(InvalidPrimitive, match=r"completer for 'nam'. Its arguments are name, tone, count, tags"):
        PromptDefinition.from_function(greet, complete={"nam": []})
    with pytest.raises(InvalidPrimitive, match="Its arguments are none"):
        PromptDefinition.from_function(lambda: "x", name="x", complete={"nam": []})
    with pytest.raises(InvalidPrimitive, match="complete=5"):
        PromptDefinition.from_function(greet, complete=cast(Any, 5))


def test_an_unknown_type_in_a_message_is_named():
    with pytest.raises(InvalidOutput, match=r"builtins.object"):
        PromptDefinition.from_function(greet).prepare({"name": "x"}, None, no_hook, no_render).finish(object())
