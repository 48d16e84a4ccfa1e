import json
import sys
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from django_mcp.protocol.errors import ABSENT, ProtocolError, method_not_found
from django_mcp.protocol.jsonrpc import (
    Notification,
    Reply,
    Request,
    decode,
    encode,
    error_message,
    notification_message,
    read_message,
    result_message,
)

from . import strategies


def call(**members):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/list", **members}


def refused(value):
    with pytest.raises(ProtocolError) as caught:
        read_message(value)
    return caught.value


class TestDecode:
    def test_json_becomes_values(self):
        assert decode(b' {"a":[1,2.5,null,true,"\\u00e9"]}\r\n', max_depth=64) == {"a": [1, 2.5, None, True, "é"]}

    def test_a_byte_order_mark_is_accepted(self):
        """BL-030, BL-090"""
        assert decode(b'\xef\xbb\xbf{"a":1}', max_depth=64) == {"a": 1}

    def test_large_integers_stay_exact(self):
        """BL-018"""
        assert decode(b"[9007199254740993]", max_depth=64) == [9007199254740993]

    def test_lone_surrogates_come_through(self):
        """BL-036: a reply is owed, so they must not stop the message."""
        assert decode(b'["\\ud800x"]', max_depth=64) == ["\ud800x"]

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "Parse error: Expecting value: character 0"),
            (b"garbage", "Parse error: Expecting value: character 0"),
            (b'{"a":1} {}', "Parse error: Extra data: character 8"),
            (b"[1,]", None),
            (b'["a\nb"]', None),
            (b"\xef\xbb\xbf\xef\xbb\xbf1", None),
            (b"\x0b1", None),
            (b'{"a":"\xff"}', "Parse error: not UTF-8"),
            (b'"\xed\xa0\x80"', "Parse error: not UTF-8"),
            ('{"a":1}'.encode("utf-16"), "Parse error: not UTF-8"),
            (b"[NaN]", "Parse error: NaN is not JSON"),
            (b"[Infinity]", "Parse error: Infinity is not JSON"),
            (b"[-Infinity]", "Parse error: -Infinity is not JSON"),
            (b"[1e999]", "Parse error: a number is too large"),
            (b"[-1e999]", "Parse error: a number is too large"),
            (b'{"a":1,"a":2}', "Parse error: an object has a key twice"),
            (b'{"a":1,"\\u0061":2}', "Parse error: an object has a key twice"),
            (b"[" + b"9" * 5000 + b"]", "Parse error: a number has too many digits"),
        ],
    )
    def test_what_is_not_json_is_a_parse_error(self, body, message):
        """RPC-08, RPC-30, BL-090"""
        with pytest.raises(ProtocolError) as caught:
            decode(body, max_depth=64)

        assert caught.value.code == -32700
        assert caught.value.status == 400
        assert caught.value.request_id is None
        assert message is None or caught.value.message == message

    @pytest.mark.parametrize("nested", ["[]", '{"a":}'])
    def test_nesting_is_accepted_up_to_the_bound(self, nested):
        middle = len(nested) - 1
        at_bound = nested[:middle] * 64 + "1" + nested[middle:] * 64

        decode(at_bound.encode(), max_depth=64)
        with pytest.raises(ProtocolError, match="nested too deeply"):
            decode((nested[:middle] + at_bound + nested[middle:]).encode(), max_depth=64)

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 20_000 + b"]" * 20_000,
            b"[" * 20_000,
            b'{"a":' * 5000 + b"1" + b"}" * 5000,
            b'["' + b"]" * 100 + b'",' + b"[" * 100,
        ],
    )
    def test_deep_nesting_is_a_parse_error(self, body):
        """BL-008"""
        with pytest.raises(ProtocolError, match="nested too deeply") as caught:
            decode(body, max_depth=64)

        assert caught.value.code == -32700

    @pytest.mark.parametrize(
        "value",
        [
            [[]] * 1000,
            {"text": "[" * 1000},
            {"text": '\\"' * 99 + "[{" * 1000, "[" * 100: "}" * 5},
        ],
    )
    def test_many_brackets_are_not_deep(self, value):
        assert decode(json.dumps(value).encode(), max_depth=64) == value

    @pytest.mark.parametrize("piece", [b'"', b'\\"', b'"\\', b"[]", b"[{"])
    def test_large_bodies_take_no_long_time(self, piece):
        """What takes quadratic time would take minutes here."""
        body = b"[" * 65 + b'"' + piece * 500_000
        with pytest.raises(ProtocolError):
            decode(body, max_depth=64)

    def test_a_bound_beyond_the_interpreter_is_still_a_parse_error(self):
        levels = 1_000_000
        with pytest.raises(ProtocolError, match="nested too deeply"):
            decode(b"[" * levels + b"]" * levels, max_depth=levels)

    @settings(deadline=None)
    @given(st.binary() | strategies.utf8_texts.map(str.encode))
    @example(b"\xef\xbb\xbf")
    def test_decoding_raises_nothing_else(self, body):
        decoded = strategies.outcome(decode, body, max_depth=3)

        assert not isinstance(decoded, ProtocolError) or decoded.code == -32700


class TestReadMessage:
    def test_a_method_with_an_id_is_a_request(self):
        assert read_message(call(params={"cursor": "x"})) == Request(id=1, method="tools/list", params={"cursor": "x"})

    def test_absent_params_are_empty(self):
        assert read_message(call()) == Request(id=1, method="tools/list", params={})

    @pytest.mark.parametrize("id", [0, "", -3, 9007199254740993, "1", "007", "1.0", "ключ"])
    def test_ids_keep_value_and_type(self, id):
        """RPC-03, BL-018, BL-093"""
        message = read_message(call(id=id))

        assert isinstance(message, Request)
        assert message.id == id
        assert type(message.id) is type(id)

    @pytest.mark.parametrize("id", [None, True, False, 1.5, 1.0, {}, [1]])
    def test_other_ids_are_refused(self, id):
        """RPC-02, BL-018"""
        error = refused(call(id=id))

        assert (error.code, error.status, error.request_id) == (-32600, 400, None)

    def test_a_method_without_an_id_is_a_notification(self):
        """RPC-07"""
        assert read_message({"jsonrpc": "2.0", "method": "notifications/initialized"}) == Notification(
            method="notifications/initialized", params={}
        )

    def test_unknown_members_are_tolerated(self):
        """RPC-28"""
        assert read_message(call(extra=1)) == Request(id=1, method="tools/list", params={})

    def test_reserved_method_names_are_merely_unknown(self):
        """S5."""
        assert read_message(call(method="rpc.discover")) == Request(id=1, method="rpc.discover", params={})

    @pytest.mark.parametrize("value", [[], [call()], "str", 42, None, True, 1.5])
    def test_what_is_no_object_is_refused(self, value):
        """RPC-14, BL-030, BL-070"""
        error = refused(value)

        assert (error.code, error.status, error.request_id) == (-32600, 400, None)

    @pytest.mark.parametrize(
        ("value", "request_id"),
        [
            ({}, None),
            ({"jsonrpc": "2.0"}, None),
            ({"jsonrpc": "2.0", "id": 7}, 7),
            ({"id": 7, "method": "ping"}, 7),
            ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
            ({"jsonrpc": 2.0, "id": 7, "method": "ping"}, 7),
            (call(method=None), 1),
            (call(method=5), 1),
            (call(result={}), 1),
            (call(error={}), 1),
        ],
    )
    def test_a_bad_envelope_is_refused_under_its_id(self, value, request_id):
        """S5, RPC-08"""
        error = refused(value)

        assert (error.code, error.status, error.request_id) == (-32600, 400, request_id)

    @pytest.mark.parametrize("params", [None, [], [1], "x", 5, True])
    def test_params_that_are_no_object_are_invalid_params(self, params):
        """RPC-08, BL-030"""
        error = refused(call(params=params))

        assert (error.code, error.status, error.request_id) == (-32602, 400, 1)
        assert error.message == "params is not an object"

    def test_a_notification_is_refused_without_an_id(self):
        error = refused({"jsonrpc": "2.0", "method": "notifications/initialized", "params": []})

        assert (error.code, error.request_id) == (-32602, None)

    @pytest.mark.parametrize("result", [{}, {"action": "accept"}, None])
    def test_a_result_is_a_reply(self, result):
        assert read_message({"jsonrpc": "2.0", "id": "q1", "result": result}) == Reply(
            id="q1", result=result, error=ABSENT
        )

    @pytest.mark.parametrize("members", [{"id": "q1"}, {"id": None}, {}])
    def test_an_error_is_a_reply_with_or_without_an_id(self, members):
        """RPC-06"""
        error = {"code": -1, "message": "User rejected sampling request"}

        assert read_message({"jsonrpc": "2.0", "error": error, **members}) == Reply(
            id=members.get("id"), result=ABSENT, error=error
        )

    @pytest.mark.parametrize(
        "members",
        [
            {"id": 1, "result": {}, "error": {}},
            {"id": True, "result": {}},
            {"id": 1.5, "error": {}},
            {"id": None, "result": {}},
            {"result": {}},
        ],
    )
    def test_an_ambiguous_reply_is_refused_without_an_id(self, members):
        """RPC-04: the id would be one of ours."""
        error = refused({"jsonrpc": "2.0", **members})

        assert (error.code, error.status, error.request_id) == (-32600, 400, None)

    @settings(deadline=None)
    @given(strategies.messages | strategies.json_values)
    @example(call())
    def test_reading_raises_nothing_else(self, value):
        message = strategies.outcome(read_message, value)

        if isinstance(message, ProtocolError):
            assert message.code in (-32600, -32602)
            assert message.status == 400
        else:
            assert isinstance(message, Request | Notification | Reply)


class TestEncode:
    def test_json_is_compact_utf_8(self):
        assert encode({"a": [1, "é"], "b": None}) == '{"a":[1,"é"],"b":null}'.encode()

    def test_lone_surrogates_become_escapes(self):
        """BL-036"""
        assert encode(["\ud800x\udcaf€😀"]) == b'["\\ud800x\\udcaf\xe2\x82\xac\xf0\x9f\x98\x80"]'

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
    def test_what_json_cannot_say_is_a_value_error(self, value):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode({"a": value})

    def test_other_types_go_through_the_default(self):
        assert encode({"a": Decimal("1.50")}, str) == b'{"a":"1.50"}'

    def test_without_a_default_other_types_are_a_type_error(self):
        with pytest.raises(TypeError):
            encode({"a": Decimal(1)})

    @settings(deadline=None)
    @given(strategies.json_values)
    def test_what_is_written_reads_back(self, value):
        assert decode(encode(value), max_depth=sys.maxsize) == value


class TestMessages:
    def test_a_result_carries_the_id(self):
        assert result_message("1", {}) == {"jsonrpc": "2.0", "id": "1", "result": {}}

    @pytest.mark.parametrize("id", [0, "", "1"])
    def test_an_error_carries_the_id(self, id):
        assert error_message(id, method_not_found("x")) == {
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": -32601, "message": "Method not found: x"},
        }

    def test_an_error_without_an_id_leaves_it_out(self):
        """RPC-06"""
        assert "id" not in error_message(None, method_not_found("x"))

    def test_a_notification_has_no_id(self):
        assert notification_message("notifications/progress", {"progress": 1}) == {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progress": 1},
        }

    def test_a_notification_without_params_leaves_them_out(self):
        assert notification_message("notifications/tools/list_changed") == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
        }
