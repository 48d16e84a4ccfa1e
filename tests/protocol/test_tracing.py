"""The trace context of ``_meta``, and what is not one."""

import pytest

from django_mcp.protocol.tracing import TraceContext, read_trace

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_all_three_are_read_untouched():
    """TRC-01, S185"""
    trace = read_trace({"traceparent": PARENT, "tracestate": "a=1,b=2", "baggage": "user=ann;ttl=5"})
    assert trace == TraceContext(traceparent=PARENT, tracestate="a=1,b=2", baggage="user=ann;ttl=5")
    assert trace.trace_id == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    "parent",
    [
        None,
        5,
        "",
        PARENT.upper(),
        PARENT[:-1],
        PARENT + "\n",
        "ff" + PARENT[2:],
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
    ],
)
def test_what_is_malformed_is_absent_and_takes_its_state_along(parent):
    """TRC-02"""
    trace = read_trace({"traceparent": parent, "tracestate": "a=1", "baggage": ["no text"]})
    assert trace == TraceContext()
    assert trace.trace_id is None


@pytest.mark.parametrize("baggage", ["two\nlines", "ä=1", "x" * 8193])
def test_baggage_that_no_header_could_carry_is_absent(baggage):
    """TRC-03"""
    assert read_trace({"baggage": baggage}).baggage is None
