"""What clients come back with, whatever it is."""

from __future__ import annotations

import secrets

from hypothesis import given
from hypothesis import strategies as st

from django_mcp.transports.event_ids import GET, POST, Place, event_id, read_place
from django_mcp.transports.recording import age_of, new_key


def test_what_we_give_we_read():
    for kind, stream in ((POST, new_key()), (GET, secrets.token_hex(8))):
        assert read_place(event_id(kind, stream, 17)) == Place(kind, stream, 17)


@given(st.one_of(st.none(), st.text(), st.from_regex(r"[gp][0-9a-f]{8,30}\.\d{1,20}", fullmatch=True)))
def test_whatever_comes_is_a_place_or_none(last_event_id):
    """A number that every database can compare, and a name in which a time stands."""
    place = read_place(last_event_id)
    assert place is None or (place.number < 10**18 and age_of(place.stream))
