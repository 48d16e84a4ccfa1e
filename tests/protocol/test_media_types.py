import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_mcp.protocol.headers import accepts, is_json

from . import strategies

JSON = "application/json"
SSE = "text/event-stream"


@pytest.mark.parametrize(
    ("header", "json", "sse"),
    [
        # BL-048
        (None, 1, 1),
        ("*/*", 1, 1),
        ("application/*, text/*", 1, 1),
        ("application/json", 1, 0),
        ("text/event-stream", 0, 1),
        ("application/json, text/event-stream", 1, 1),
        ("application/json;q=0.9, text/event-stream", 0.9, 1),
        ("TEXT/EVENT-STREAM, APPLICATION/JSON", 1, 1),
        ("text/html", 0, 0),
        ("", 0, 0),
        # BL-049
        ("application/json;q=0, text/event-stream", 0, 1),
        ("application/json, text/event-stream;q=0", 1, 0),
        ("*/*;q=0", 0, 0),
        ("application/json; Q=0.000, */*", 0, 1),
        ("text/*;q=0, */*", 1, 0),
        ("text/event-stream, text/*;q=0, */*;q=0.1", 0.1, 1),
        ("*/*;q=0.2, application/*;q=0.3, application/json;q=0.4", 0.4, 0.2),
        # RFC 9110 section 12.5.1
        ("application/json;charset=utf-8", 1, 0),
        ('application/json;x="a,b;q=0", text/event-stream', 1, 1),
        ('text/html;x="application/json, text/event-stream"', 0, 0),
        ("application/json;q=0.5, application/json", 1, 0),
        ("  application/json  ;  q=0.5  ", 0.5, 0),
        (",,application/json,,", 1, 0),
        # A weight that is none
        ("application/json;q=abc", 1, 0),
        ("application/json;q=nan", 1, 0),
        ("application/json;q=-1", 1, 0),
        ("application/json;q=1.5", 1, 0),
        ("application/json;q", 1, 0),
        # A string that is never closed
        ('"application/json', 0, 0),
        ('text/event-stream, text/html;x="application/json', 0, 1),
        ('text/event-stream;x="\\', 0, 1),
    ],
)
def test_the_most_specific_range_gives_the_weight(header, json, sse):
    assert accepts(header, JSON) == json
    assert accepts(header, SSE) == sse


@pytest.mark.parametrize(
    "content_type",
    [
        # BL-091
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        'application/json;charset="UTF-8"',
        "application/json ; x=y",
        "application/json; charset=UTF8",
        'application/json; x=";charset=utf-16"',
        "application/json;",
    ],
)
def test_legal_spellings_of_json_are_json(content_type):
    assert is_json(content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        # BL-092
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "application/jsonp",
        "application/json-rpc",
        "json",
        "application/json, text/plain",
        # BL-090
        "application/json; charset=bogus",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; charset=utf-16",
        'application/json; charset=""',
        "application/json; charset",
    ],
)
def test_other_types_and_charsets_are_not(content_type):
    assert not is_json(content_type)


@settings(deadline=None)
@given(strategies.texts | st.text(';,="\\/* qcharset0.1-', max_size=60))
def test_any_text_is_answered(text):
    assert 0 <= accepts(text, JSON) <= 1
    assert is_json(text) in (True, False)
    assert is_json(f"application/json;{text}") in (True, False)


@pytest.mark.parametrize("piece", ['"', '"\\', "a", " ", "a=", ';"', ',"', "a;b=", '\\"'])
def test_long_values_take_no_long_time(piece):
    """What takes quadratic time would take minutes here."""
    accepts(piece * 100_000, JSON)
    is_json("application/json;" + piece * 100_000)
