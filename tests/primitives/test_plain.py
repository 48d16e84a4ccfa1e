"""Schemas that skip the metaschema would have passed it."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.plain import RULES, TYPES, is_plainly_valid
from django_mcp.primitives.schema import CompiledSchema

names = st.text(max_size=3)
values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 5), st.floats(allow_nan=False), names, st.sampled_from(sorted(TYPES)),
    st.sampled_from(["#/$defs/a", "#/x", "^[a-z]$", "("]), st.lists(names, max_size=2),
)  # fmt: skip


def _objects(inner):
    some = st.one_of(values, inner, st.lists(inner, max_size=2), st.dictionaries(names, inner, max_size=2))
    return st.dictionaries(st.sampled_from([*RULES, "not"]), some, max_size=4)


@given(st.recursive(st.booleans(), _objects, max_leaves=8))
def test_what_is_plainly_valid_passes_the_metaschema(schema):
    """JS-05."""
    if is_plainly_valid(schema):
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"type": "null"}, {"enum": ["x"], "title": "T"}]}}},
        {"type": "array", "items": {"type": "string", "pattern": "^a"}, "maxItems": 3, "uniqueItems": True},
        {"const": None, "prefixItems": [True]},
    ],
    ids=ascii,
)
def test_what_annotations_make_is_plainly_valid(schema):
    assert is_plainly_valid(schema)


@pytest.mark.parametrize("schema", [{"type": "strng"}, {"pattern": "("}, {"minLength": -1}, 5], ids=ascii)
def test_what_is_wrong_still_meets_the_metaschema(schema):
    """S62."""
    assert not is_plainly_valid(schema)
    with pytest.raises(InvalidPrimitive):
        CompiledSchema(schema, option="output_schema", origin="shop.f")
