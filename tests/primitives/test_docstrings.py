"""What a docstring says about parameters reaches the schema."""

import string
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from django_mcp.primitives.functions import read_parameter_descriptions
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.tools import ToolDefinition

GOOGLE = """Find tickets.

Args:
    text (str, optional): Words of the subject.
        And more of them.
    limit: How many: at most fifty.

Returns:
    limit: not an argument
"""
NUMPY = """Find tickets.

Parameters
----------
text : str
    Words of the subject.
    And more of them.
limit : int
    How many: at most fifty.

Returns
-------
str
"""
SPHINX = """Find tickets.

:param str text: Words of the subject.
    And more of them.
:param limit: How many: at most fifty.
:returns: something
"""


def _function(doc):
    def function(text: str, limit: int): ...

    function.__doc__ = doc
    return function


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_parameters_are_described_by_the_docstring(doc):
    """S59: three styles, and the sections stay out of the description of the tool."""
    tool = ToolDefinition.from_function(_function(doc))

    assert tool.description == "Find tickets."
    properties = tool.input_schema["properties"]
    assert properties["text"]["description"].split() == ["Words", "of", "the", "subject.", "And", "more", "of", "them."]
    assert properties["limit"]["description"] == "How many: at most fifty."


def test_arguments_of_prompts_are_described_too():
    """PRM-02."""
    described = {one.name: one.description for one in PromptDefinition.from_function(_function(SPHINX)).arguments}
    assert described["limit"] == "How many: at most fifty."


def test_what_field_says_wins():
    def function(limit: Annotated[int, Field(description="Five")]):
        """Look.

        Args:
            limit: Six
            gone: a parameter that is no more
        """

    assert ToolDefinition.from_function(function).input_schema["properties"]["limit"]["description"] == "Five"


def test_several_names_share_a_description():
    def function(x: int, y: int):
        """Look.

        Parameters
        ----------
        x, y : int
            Where it is.
        """

    assert {
        one["description"] for one in ToolDefinition.from_function(function).input_schema["properties"].values()
    } == {"Where it is."}


texts = st.text(string.ascii_letters + " .,;()'", min_size=1).map(str.strip).filter(bool)


@given(texts, texts)
def test_any_description_survives(one, other):
    doc = f"Look.\n\nArgs:\n    text: {one}\n    limit: {other}\n"
    assert read_parameter_descriptions(_function(doc)) == {"text": one, "limit": other}


@pytest.mark.parametrize("doc", [":param x", "Look.\n\nArgs:\n  broken\n", "Parameters\n---\nx"], ids=ascii)
def test_what_follows_no_style_says_nothing(doc):
    assert read_parameter_descriptions(_function(doc)) == {}


@given(st.lists(st.text() | st.sampled_from([":param ", "Args:\n", "Parameters\n", "---\n", " x:", ":"])).map("".join))
def test_no_docstring_stops_a_registration(doc):
    assert ToolDefinition.from_function(_function(doc)).name == "function"
