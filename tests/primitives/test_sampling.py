"""Questions to the client's model: everything that can be said, and what cannot."""

import pytest

from django_mcp import PromptMessage, Sampling, TextContent
from django_mcp.protocol.versions import Revision
from django_mcp.questions import read_any_form

DICE = {"name": "dice", "inputSchema": {"type": "object"}}
USE = {"type": "tool_use", "id": "1", "name": "dice", "input": {}}
USE_2 = {**USE, "id": "2"}
RESULT = {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "6"}]}
RESULT_2 = {**RESULT, "toolUseId": "2"}
TEXT = {"type": "text", "text": "Hi"}


def params(question):
    return question.to_wire(Revision.V2025_11_25, read_any_form)["params"]


def said(role, *blocks):
    return {"role": role, "content": list(blocks)}


def test_everything_can_be_said():
    """SMP-01, S160."""
    question = Sampling(
        [PromptMessage("user", TextContent("Hi")), said("assistant", USE), said("user", RESULT)],
        100,
        system_prompt="Be brief",
        temperature=0.5,
        stop_sequences=["END"],
        model_preferences={"hints": [{"name": "m"}], "speedPriority": 1},
        include_context="thisServer",
        metadata={"a": 1},
        tools=[DICE],
        tool_choice={"mode": "auto"},
    )
    assert params(question) == {
        "messages": [{"role": "user", "content": TEXT}, said("assistant", USE), said("user", RESULT)],
        "maxTokens": 100,
        "systemPrompt": "Be brief",
        "temperature": 0.5,
        "stopSequences": ["END"],
        "modelPreferences": {"hints": [{"name": "m"}], "speedPriority": 1},
        "includeContext": "thisServer",
        "metadata": {"a": 1},
        "tools": [DICE],
        "toolChoice": {"mode": "auto"},
    }
    assert question.requires == {"sampling": {"tools": {}, "context": {}}}
    assert Sampling("Hi", 1, tool_choice={"mode": "none"}).requires == {"sampling": {"tools": {}}}
    assert params(Sampling("Hi", 1)) == {"messages": [{"role": "user", "content": TEXT}], "maxTokens": 1}


@pytest.mark.parametrize(
    "messages",
    [
        [said("user", TEXT), said("assistant", TEXT, USE, USE_2), said("user", RESULT_2, RESULT)],
        [said("assistant", USE), {"role": "user", "content": RESULT}, said("assistant", TEXT)],
    ],
)
def test_each_use_of_a_tool_has_its_result(messages):
    """SMP-04."""
    assert params(Sampling(messages, 1))["messages"] == messages


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([said("assistant", USE)], "results are missing"),
        ([said("assistant", USE), said("user", TEXT)], "used as 1 and the next message has results of nothing"),
        ([said("assistant", USE, USE_2), said("user", RESULT)], "used as 1, 2 and the next message has results of 1"),
        ([said("assistant", USE), said("user", RESULT, RESULT)], "used as 1"),
        ([said("assistant", USE), said("user", RESULT, TEXT)], "holds tool results alone"),
        ([said("assistant", USE), said("assistant", RESULT)], "is of the user"),
        ([said("user", RESULT)], "used as nothing and the next message has results of 1"),
        ([{"role": "user", "content": "no blocks"}], "has the content 'no blocks'. It is a content block"),
        ([{"role": "user"}], "has the content None"),
        ([said("user", TEXT, "more")], "has the content 'more'"),
        ([said("assistant", {"type": "tool_use"})], "A tool_use has the id None. It is a text"),
        ([said("assistant", USE), said("user", {**RESULT, "toolUseId": []})], r"A tool_result has the toolUseId \[\]"),
    ],
)
def test_what_a_client_must_refuse_is_not_sent(messages, fault):
    """SMP-04."""
    with pytest.raises(ValueError, match=fault):
        params(Sampling(messages, 1))
