"""What a peer may send, for the tests that say reading raises ProtocolError and nothing else."""

from hypothesis import strategies as st

from django_mcp.protocol import envelope
from django_mcp.protocol.errors import ProtocolError

#: Also lone surrogates, which JSON can smuggle in as escapes.
texts = st.text(st.characters(exclude_categories=()), max_size=20)

#: The texts that UTF-8 can carry.
utf8_texts = texts.map(lambda text: text.encode(errors="ignore").decode())

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
    max_leaves=12,
)

metas = st.fixed_dictionaries(
    {},
    optional={
        envelope.PROTOCOL_VERSION: st.sampled_from(["2026-07-28", "2025-11-25", "2031-01-01"]) | json_values,
        envelope.CLIENT_CAPABILITIES: st.just({}) | json_values,
        envelope.CLIENT_INFO: json_values,
        envelope.LOG_LEVEL: st.sampled_from(envelope.LOG_LEVELS) | json_values,
        "progressToken": json_values,
    },
)

params = st.fixed_dictionaries({}, optional={"_meta": metas | json_values, "name": json_values, "uri": json_values})

messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.integers() | json_values,
        "method": st.sampled_from(["tools/call", "resources/read", "initialize"]) | json_values,
        "params": params | json_values,
        "result": json_values,
        "error": json_values,
    },
)

headers = st.lists(
    st.tuples(
        st.sampled_from([b"MCP-Protocol-Version", b"mcp-method", b"Mcp-Name", b"mcp-param-a"]) | st.binary(max_size=10),
        st.sampled_from([b"2026-07-28", b"tools/call", b"=?base64?IQ==?="]) | st.binary(max_size=20),
    ),
    max_size=6,
)


def outcome(function, *args, **kwargs):
    """What the function returns, or its ProtocolError; any other exception fails the test."""
    try:
        return function(*args, **kwargs)
    except ProtocolError as error:
        return error
