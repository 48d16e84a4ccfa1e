import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.pagination import decode_cursor, encode_cursor

from . import strategies

ALICE = "user:1"


class FakeSealer:
    def seal(self, text, bound):
        return urlsafe_b64encode(hmac.digest(b"key", bound + b"|" + text, "sha256") + text).decode()

    def open(self, sealed, bound):
        data = urlsafe_b64decode(sealed)
        if not hmac.compare_digest(data[:32], hmac.digest(b"key", bound + b"|" + data[32:], "sha256")):
            raise ValueError("bad signature")
        return data[32:]


@pytest.fixture
def sealer():
    return FakeSealer()


def refused(function, *args):
    with pytest.raises(ProtocolError) as caught:
        function(*args)
    assert caught.value.code == -32602
    assert caught.value.message == "cursor is invalid or expired"


@pytest.mark.parametrize("key", ["echo", "", "note://grüße", 'a"]b'])
def test_a_cursor_leads_back_to_its_key(sealer, key):
    cursor = encode_cursor(sealer, "tools/list", ALICE, key)

    assert decode_cursor(sealer, "tools/list", ALICE, cursor) == key


def test_a_cursor_is_opaque_ascii_and_never_empty(sealer):
    """PAG-04"""
    cursor = encode_cursor(sealer, "resources/list", ALICE, "note://grüße")

    assert cursor.isascii()
    assert "note" not in cursor
    assert encode_cursor(sealer, "tools/list", "", "") != ""


@pytest.mark.parametrize(
    ("method", "principal"),
    [("prompts/list", ALICE), ("tools/list", "user:2"), ("tools/list", "anonymous"), ("tools", ALICE)],
)
def test_a_cursor_of_another_list_or_user_is_refused(sealer, method, principal):
    """PAG-05, BL-074"""
    cursor = encode_cursor(sealer, "tools/list", ALICE, "echo")

    refused(decode_cursor, sealer, method, principal, cursor)


def test_no_principal_can_be_mistaken_for_another_with_a_part_of_the_key(sealer):
    """PAG-05"""
    cursor = encode_cursor(sealer, "tools/list", "user:1", '", "x"]y')

    refused(decode_cursor, sealer, "tools/list", 'user:1"]", "x', cursor)


@pytest.mark.parametrize("cursor", ["bogus", "", "5", "MTIz", ":", "\ud800", "é:é"])
def test_what_is_no_cursor_of_ours_is_refused(sealer, cursor):
    """PAG-03, PAG-04, BL-074"""
    refused(decode_cursor, sealer, "tools/list", ALICE, cursor)


def test_a_changed_cursor_is_refused(sealer):
    """BL-074"""
    cursor = encode_cursor(sealer, "tools/list", ALICE, "echo")

    refused(decode_cursor, sealer, "tools/list", ALICE, "A" + cursor[1:])


@settings(deadline=None)
@given(strategies.texts | st.binary().map(lambda data: data.decode("latin-1")))
def test_decoding_raises_nothing_else(cursor):
    refused(decode_cursor, FakeSealer(), "tools/list", ALICE, cursor)


def test_sealed_bytes_that_are_no_text_are_refused():
    class Sealer(FakeSealer):
        def open(self, sealed, bound):
            return b"\xff"

    refused(decode_cursor, Sealer(), "tools/list", ALICE, "sealed")
