"""Keys of ``_meta`` at registration (META-01, META-02)."""

import pytest

from django_mcp.exceptions import InvalidPrimitive
from django_mcp.primitives.meta import checked_meta


@pytest.mark.parametrize(
    "key", ["ui", "com.example/key", "com.example/", "com.example.mcp/a.b-c_d", "a-b.c/x", "example.com/1", "mcp/x", ""]
)
def test_keys_of_ones_own_are_accepted(key):
    assert dict(checked_meta({key: 1}, "shop.buy")) == {key: 1}


def test_no_meta_is_an_empty_one():
    assert dict(checked_meta(None, "shop.buy")) == {}


@pytest.mark.parametrize("key", ["-x", "x-", "1com/x", "com..example/x", "com.example/-x", "com-/x", "a b", "a/b/c"])
def test_a_malformed_key_says_how_keys_look(key):
    with pytest.raises(InvalidPrimitive, match=r'write "com.example/key"'):
        checked_meta({key: 1}, "shop.buy")


@pytest.mark.parametrize("key", ["io.modelcontextprotocol/x", "dev.mcp/", "com.mcp.tools/x", "com.MCP/x"])
def test_a_reserved_prefix_is_refused(key):
    with pytest.raises(InvalidPrimitive, match="reserved for the protocol"):
        checked_meta({key: 1}, "shop.buy")


@pytest.mark.parametrize("meta", [5, {1: 2}, "x"])
def test_what_is_no_mapping_is_refused(meta):
    with pytest.raises(InvalidPrimitive, match="It is a mapping with text keys"):
        checked_meta(meta, "shop.buy")
