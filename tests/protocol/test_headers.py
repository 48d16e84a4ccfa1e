import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.headers import (
    HeaderParam,
    Headers,
    check_params,
    check_routing,
    check_unrepeated,
    decode_value,
    encode_value,
)
from django_mcp.protocol.jsonrpc import Request

from . import strategies

CLINIC = HeaderParam(header="Clinic", path=("clinic",), kind="string")
SLOT = HeaderParam(header="Slot", path=("slot", "number"), kind="integer")
URGENT = HeaderParam(header="Urgent", path=("urgent",), kind="boolean")


def headers(*pairs):
    return Headers((name.encode(), value.encode("latin-1")) for name, value in pairs)


def request(method="tools/call", **params):
    return Request(id="b7", method=method, params=params)


def mismatch(function, *args):
    with pytest.raises(ProtocolError) as caught:
        function(*args)
    assert caught.value.code == -32020
    assert not caught.value.message.endswith(".")
    return caught.value


class TestHeaders:
    def test_names_are_case_insensitive(self):
        """MH-11"""
        found = headers(("MCP-METHOD", "tools/list"), ("accept", "*/*"))

        assert found.get("Mcp-Method") == "tools/list"
        assert found.get("ACCEPT") == "*/*"

    def test_values_are_stripped_of_optional_whitespace_only(self):
        """MH-11"""
        assert headers(("a", " \t x y\t ")).get("a") == "x y"
        assert headers(("a", "\xa0x\x85")).get("a") == "\xa0x\x85"

    def test_an_absent_field_is_none(self):
        assert headers(("a", "1")).get("b") is None
        assert headers(("a", "1")).all("b") == []
        assert not headers(("a", "1")).duplicated("b")

    def test_an_empty_field_is_present(self):
        assert headers(("a", "")).get("a") == ""

    def test_one_field_is_no_duplicate(self):
        found = headers(("a", "1"), ("b", "2"))

        assert found.all("A") == ["1"]
        assert not found.duplicated("a")

    def test_repeated_fields_are_told_apart_and_joined(self):
        """MH-20; RFC 9110 section 5.3"""
        found = headers(("Accept", "a/b "), ("x", "1"), ("accept", "c/d"))

        assert found.duplicated("ACCEPT")
        assert not found.duplicated("x")
        assert found.all("accept") == ["a/b", "c/d"]
        assert found.get("accept") == "a/b, c/d"
        assert found.get("x") == "1"

    def test_cookies_are_joined_in_their_own_way(self):
        """RFC 9113 section 8.2.3"""
        assert headers(("cookie", "a=1"), ("cookie", "b=2")).get("Cookie") == "a=1; b=2"

    def test_names_are_found_by_prefix(self):
        found = headers(("Mcp-Param-A", "1"), ("mcp-param-b", "2"), ("mcp-name", "3"))

        assert found.names_starting("Mcp-Param-") == ["mcp-param-a", "mcp-param-b"]

    @settings(deadline=None)
    @given(st.lists(st.tuples(st.binary(), st.binary())))
    def test_any_bytes_are_readable(self, raw):
        found = Headers(raw)

        for name, _ in raw:
            text = name.decode("latin-1")
            assert found.get(text) is not None
            assert found.duplicated(text) == (len(found.all(text)) > 1)


class TestCodec:
    @pytest.mark.parametrize(
        ("encoded", "text"),
        [
            ("plain", "plain"),
            ("", ""),
            ("a b", "a b"),
            ("=?base64?WsO8cmljaA==?=", "Zürich"),
            ("=?base64?Z3LDvMOfZQ==?=", "grüße"),
            ("=?base64?bm90ZTovL2EgYg==?=", "note://a b"),
            # BL-042: a text that looks encoded is encoded once more.
            ("=?base64?PT9iYXNlNjQ/ZUE9PT89?=", "=?base64?eA==?="),
            ("=?base64??=", ""),
            # Not the exact markers: literal.
            ("=?BASE64?WsO8cmljaA==?=", "=?BASE64?WsO8cmljaA==?="),
            ("=?base64?WsO8cmljaA==", "=?base64?WsO8cmljaA=="),
            ("=?base64?=", "=?base64?="),
            ("x=?base64?eA==?=", "x=?base64?eA==?="),
        ],
    )
    def test_values_are_decoded_where_the_markers_are_exact(self, encoded, text):
        """MH-12, BL-042"""
        assert decode_value(encoded) == text

    @pytest.mark.parametrize(
        "encoded",
        [
            "=?base64?!!!?=",
            "=?base64?WsO8cmljaA?=",  # padding cut
            "=?base64?WsO8cmljaA=?=",
            "=?base64?WsO8cmljaA===?=",
            "=?base64?WsO8cmljaB==?=",  # unused bits set
            "=?base64?Ws O8cmljaA==?=",
            "=?base64?-_-_?=",  # the alphabet of URLs
            "=?base64?/w==?=",  # not UTF-8
            "=?base64?7aCA?=",  # a surrogate
            "=?base64?eA==?=?=",
            "gr\xfc\xdfe",
            "a\x00b",
            "a\tb",
            "a\nb",
            "a\x7fb",
        ],
    )
    def test_malformed_values_are_mismatches(self, encoded):
        """MH-13, BL-041"""
        mismatch(decode_value, encoded)

    @pytest.mark.parametrize("text", ["plain", "a b", "", "=?base64?"])
    def test_what_survives_is_sent_as_it_is(self, text):
        assert encode_value(text) == text

    @pytest.mark.parametrize(
        ("text", "encoded"),
        [
            ("Zürich", "=?base64?WsO8cmljaA==?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("a\nb", "=?base64?YQpi?="),
        ],
    )
    def test_what_would_not_survive_is_encoded(self, text, encoded):
        assert encode_value(text) == encoded

    @settings(deadline=None)
    @given(strategies.utf8_texts)
    def test_encoding_is_reversible(self, text):
        assert decode_value(encode_value(text)) == text

    @settings(deadline=None)
    @given(strategies.texts | strategies.texts.map("=?base64?{}?=".format))
    def test_decoding_raises_nothing_else(self, text):
        decoded = strategies.outcome(decode_value, text)

        assert isinstance(decoded, str) or decoded.code == -32020


class TestRouting:
    @pytest.mark.parametrize(
        ("method", "params", "name"),
        [
            ("tools/call", {"name": "echo"}, "echo"),
            ("prompts/get", {"name": "greet"}, "greet"),
            ("resources/read", {"uri": "note:///Überblick"}, "=?base64?bm90ZTovLy/DnGJlcmJsaWNr?="),
            ("tools/call", {"name": "grüße"}, "=?base64?Z3LDvMOfZQ==?="),
        ],
    )
    def test_headers_that_repeat_the_body_pass(self, method, params, name):
        """MH-09, MH-10, BL-042"""
        check_routing(headers(("mcp-METHOD", method), ("mcp-NAME", name)), request(method, **params))

    def test_methods_without_a_name_need_no_name_header(self):
        check_routing(headers(("Mcp-Method", "tools/list")), request("tools/list", name="x"))

    @pytest.mark.parametrize("params", [{}, {"name": None}, {"name": 5}])
    def test_a_body_without_a_name_is_left_to_the_handler(self, params):
        """Checklist 34.12: it answers -32602"""
        check_routing(headers(("Mcp-Method", "tools/call")), request(**params))

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            ([], "Mcp-Method header is missing"),
            ([("Mcp-Method", "tools/list")], "Mcp-Method header differs from the body"),
            ([("Mcp-Method", "TOOLS/CALL")], "Mcp-Method header differs from the body"),
            ([("Mcp-Method", "tools/call")] * 2, "Mcp-Method header differs from the body"),
            ([("Mcp-Method", "tools/call")], "Mcp-Name header is missing"),
        ],
    )
    def test_a_method_header_that_does_not_repeat_the_body_is_a_mismatch(self, pairs, message):
        """MH-09, MH-14, BL-041"""
        error = mismatch(check_routing, headers(*pairs), request(name="echo"))

        assert error.message == message
        assert error.request_id == "b7"

    @pytest.mark.parametrize(
        "names",
        [["Echo"], ["=?base64?!!!?="], ["=?base64?/w==?="], ["gr\xfc\xdfe"], [""], ["echo", "add"]],
    )
    def test_a_name_header_that_does_not_repeat_the_body_is_a_mismatch(self, names):
        """MH-13, MH-14, BL-041"""
        pairs = [("Mcp-Method", "tools/call"), *(("Mcp-Name", name) for name in names)]

        error = mismatch(check_routing, headers(*pairs), request(name="echo"))

        assert error.request_id == "b7"

    def test_other_headers_may_come_twice(self):
        """MH-20"""
        check_unrepeated(headers(("Accept", "text/html"), ("Accept", "*/*"), ("Mcp-Method", "tools/call")), 1)

    def test_repeated_names_do_not_add_up_to_the_body(self):
        """MH-20"""
        pairs = [("Mcp-Method", "tools/call"), ("Mcp-Name", "a"), ("Mcp-Name", "b")]

        error = mismatch(check_routing, headers(*pairs), request(name="a, b"))

        assert error.message == "Mcp-Name header is repeated"


class TestParams:
    @pytest.mark.parametrize(
        ("pairs", "arguments"),
        [
            ([("Mcp-Param-Clinic", "=?base64?WsO8cmljaA==?=")], {"clinic": "Zürich"}),
            ([("mcp-param-slot", "42.0")], {"slot": {"number": 42}}),
            ([("mcp-param-slot", "42")], {"slot": {"number": 42.0}}),
            ([("mcp-param-slot", "-7")], {"slot": {"number": -7}}),
            ([("mcp-param-slot", "9007199254740991")], {"slot": {"number": 2**53 - 1}}),
            ([("mcp-param-urgent", "true")], {"urgent": True}),
            ([("mcp-param-urgent", "false")], {"urgent": False}),
            # Absent and null expect no header.
            ([], {}),
            ([], {"clinic": None, "slot": None}),
            ([], {"slot": {"number": None}}),
            ([], {"slot": 5}),
            # Not annotated: ignored.
            ([("Mcp-Param-Colour", "red")], {}),
            # Of another type: the schema answers in words for the model.
            ([("mcp-param-slot", "42")], {"slot": {"number": "42"}}),
            ([], {"clinic": ["Zürich"], "slot": {"number": {}}}),
        ],
    )
    def test_headers_that_repeat_the_arguments_pass(self, pairs, arguments):
        """MH-17, MH-18, MH-19"""
        check_params(headers(*pairs), (CLINIC, SLOT, URGENT), arguments)

    @pytest.mark.parametrize(
        ("pairs", "arguments", "message"),
        [
            ([], {"clinic": "Bern"}, "Mcp-Param-Clinic header is missing"),
            ([], {"clinic": ""}, "Mcp-Param-Clinic header is missing"),
            ([], {"slot": {"number": 0}}, "Mcp-Param-Slot header is missing"),
            ([], {"urgent": False}, "Mcp-Param-Urgent header is missing"),
            (
                [("Mcp-Param-Clinic", "bern")],
                {"clinic": "Bern"},
                "Mcp-Param-Clinic header differs from the body",
            ),
            (
                [("Mcp-Param-Clinic", "=?base64?WsO8cmljaA?=")],
                {"clinic": "Zürich"},
                "Mcp-Param-Clinic value is not canonical Base64 of UTF-8",
            ),
            (
                [("Mcp-Param-Clinic", "=?BASE64?WsO8cmljaA==?=")],
                {"clinic": "Zürich"},
                "Mcp-Param-Clinic header differs from the body",
            ),
            (
                [("Mcp-Param-Clinic", "Bern"), ("Mcp-Param-Clinic", "Bern")],
                {"clinic": "Bern"},
                "Mcp-Param-Clinic header is repeated",
            ),
            ([("Mcp-Param-Clinic", "Bern")], {}, "Mcp-Param-Clinic header has no argument in the body"),
            (
                [("Mcp-Param-Clinic", "null")],
                {"clinic": None},
                "Mcp-Param-Clinic header has no argument in the body",
            ),
        ],
    )
    def test_headers_that_do_not_are_mismatches(self, pairs, arguments, message):
        """MH-17, MH-20"""
        error = mismatch(check_params, headers(*pairs), (CLINIC, SLOT, URGENT), arguments)

        assert error.message == message

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("43", 42),
            ("42.5", 42),
            ("4.2e1", 42),
            ("0x2a", 42),
            ("٤٢", 42),
            ("", 0),
            ("nan", 42),
            ("9007199254740992", 9007199254740993),
            ("9" * 5000, 42),
            ("1", True),
            ("True", True),
            ("true", False),
        ],
    )
    def test_numbers_and_booleans_compare_by_value(self, text, value):
        """MH-19"""
        arguments = {"slot": {"number": value}}

        mismatch(check_params, headers(("Mcp-Param-Slot", encode_value(text))), (SLOT,), arguments)

    @settings(deadline=None)
    @given(strategies.headers, st.dictionaries(st.just("a"), strategies.json_values))
    def test_checking_raises_nothing_else(self, raw, arguments):
        param = HeaderParam(header="A", path=("a",), kind="string")

        checked = strategies.outcome(check_params, Headers(raw), [param], arguments)

        assert checked is None or checked.code == -32020
