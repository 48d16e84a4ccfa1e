import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from django_mcp.protocol.envelope import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    LOG_LEVELS,
    PROTOCOL_VERSION,
    SUPPORTED,
    Envelope,
    is_modern,
    read_legacy,
    read_modern,
)
from django_mcp.protocol.errors import ProtocolError
from django_mcp.protocol.headers import Headers
from django_mcp.protocol.jsonrpc import Notification, Reply, Request
from django_mcp.protocol.versions import Revision

from . import strategies

MODERN = "2026-07-28"
CLIENT = {"name": "client", "version": "1"}


def meta(version=MODERN, **extra):
    return {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}, **extra}


def request(method="tools/list", **params):
    return Request(id=0, method=method, params=params)


def headers(version=MODERN, method="tools/list", *more):
    pairs = [("MCP-Protocol-Version", version), ("Mcp-Method", method), *more]
    return Headers((name.encode(), value.encode()) for name, value in pairs if value is not None)


def refused(request, headers):
    with pytest.raises(ProtocolError) as caught:
        read_modern(request, headers)
    assert caught.value.request_id == request.id
    assert not caught.value.message.endswith(".")
    return caught.value


class TestEra:
    """The decision table of checklist 32.1; VER-03, VER-04, VER-05, VER-22."""

    @pytest.mark.parametrize(
        ("message", "header", "modern"),
        [
            (request("initialize"), None, False),  # 1
            (request("initialize"), "2025-11-25", False),  # 2
            (request(), "2025-11-25", False),  # 3, 6
            (request(), "2024-11-05", False),
            (request(), None, False),  # 4, 5
            (request(_meta=meta()), MODERN, True),  # 7
            (request(_meta=meta()), None, True),  # 8
            (request(_meta=meta()), "2025-11-25", True),  # 9
            (request(), MODERN, True),  # 10
            (request(_meta=meta("2031-01-01")), "2031-01-01", True),  # 11
            (request(_meta=meta("2025-11-25")), "2025-11-25", True),  # 12
            (request("ping", _meta=meta()), MODERN, True),  # 13
            (request("initialize", _meta=meta()), MODERN, True),  # 14
            (Notification(method="notifications/cancelled", params={}), MODERN, True),  # 15
            (Notification(method="notifications/cancelled", params={}), None, False),
            (Notification(method="notifications/cancelled", params={}), "2025-06-18", False),
            (Notification(method="notifications/cancelled", params={"_meta": meta()}), None, True),
            (Reply(id=1, result={}), "2025-11-25", False),  # 16
            (Reply(id=1, result={}), None, False),
            (Reply(id=1, result={}), MODERN, True),  # 17
            # VER-12: nothing but the header takes the handshake away.
            (request("initialize", _meta=meta()), None, False),
            (request("initialize", protocolVersion=MODERN), None, False),
            (request("initialize"), "2031-01-01", True),
            # A header that names nothing we know is not legacy (BL-045).
            (request(), "foo", True),
            (request(), "", True),
            (request(), "2025-11-25, 2025-06-18", True),
            # Legacy puts other keys into `_meta`.
            (request(_meta={"progressToken": 1}), None, False),
            (request(_meta=None), None, False),
            (request(_meta=[PROTOCOL_VERSION]), None, False),
            # Present counts, whatever its value.
            (request(_meta={PROTOCOL_VERSION: None}), None, True),
        ],
    )
    def test_each_message_tells_its_own_era(self, message, header, modern):
        assert is_modern(message, header) is modern


class TestModern:
    def test_a_complete_envelope_is_read(self):
        members = meta(**{CLIENT_INFO: CLIENT, LOG_LEVEL: "info", "progressToken": 0, "x/y": 1})
        members[CLIENT_CAPABILITIES] = {"sampling": {}}

        assert read_modern(request(_meta=members), headers()) == Envelope(
            revision=Revision.V2026_07_28,
            meta=members,
            client_info=CLIENT,
            client_capabilities={"sampling": {}},
            log_level="info",
            progress_token=0,
        )

    def test_only_version_and_capabilities_are_required(self):
        """META-03, META-04"""
        envelope = read_modern(request(_meta=meta()), headers())

        assert envelope.client_info is None
        assert envelope.client_capabilities == {}
        assert envelope.log_level is None
        assert envelope.progress_token is None

    def test_stdio_has_no_header_rules(self):
        """STD-12"""
        assert read_modern(request("tools/call", _meta=meta()), None).revision == MODERN

    def test_methods_the_era_does_not_have_pass(self):
        """Whether a method exists is the dispatcher's to say."""
        read_modern(request("ping", _meta=meta()), headers(MODERN, "ping"))

    @pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": []}, {"_meta": "x"}])
    def test_a_missing_meta_is_invalid_params(self, params):
        """META-03, VER-08; row 10"""
        error = refused(request(**params), headers())

        assert error.code == -32602
        assert error.message == "_meta is missing or not an object"

    @pytest.mark.parametrize("members", [{}, {PROTOCOL_VERSION: None}, {PROTOCOL_VERSION: 20260728}])
    def test_a_version_that_is_no_string_is_invalid_params(self, members):
        """META-14, VER-08"""
        error = refused(request(_meta={CLIENT_CAPABILITIES: {}, **members}), headers())

        assert error.code == -32602
        assert PROTOCOL_VERSION in error.message

    def test_an_absent_version_header_is_a_mismatch(self):
        """VER-07, MH-08; row 8"""
        error = refused(request(_meta=meta()), headers(None))

        assert error.code == -32020
        assert error.message == "MCP-Protocol-Version header is missing"

    @pytest.mark.parametrize("version", ["2025-11-25", "2031-01-01", "", "2026-07-28x"])
    def test_a_version_header_that_differs_is_a_mismatch(self, version):
        """VER-06; row 9, BL-041"""
        error = refused(request(_meta=meta()), headers(version))

        assert error.code == -32020
        assert error.message == "MCP-Protocol-Version header differs from the body"

    def test_an_unknown_version_is_answered_with_all_offered(self):
        """VER-02, VER-15; row 11"""
        error = refused(request(_meta=meta("2031-01-01")), headers("2031-01-01"))

        assert error.code == -32022
        assert error.data == {
            "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "requested": "2031-01-01",
        }

    @pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    def test_an_enveloped_legacy_version_is_answered_with_modern_ones(self, version):
        """VER-15, VER-23; row 12"""
        error = refused(request(_meta=meta(version)), headers(version))

        assert error.code == -32022
        assert error.data == {"supported": ["2026-07-28"], "requested": version}

    @pytest.mark.parametrize("version", ["2031-01-01", "2025-11-25"])
    def test_versions_are_checked_on_stdio_as_well(self, version):
        assert refused(request(_meta=meta(version)), None).code == -32022

    def test_every_known_revision_is_supported(self):
        assert set(SUPPORTED) == set(Revision)

    @pytest.mark.parametrize("capabilities", [None, [], "x", True])
    def test_capabilities_that_are_no_object_are_invalid_params(self, capabilities):
        """META-03, META-14"""
        error = refused(request(_meta={**meta(), CLIENT_CAPABILITIES: capabilities}), headers())

        assert error.code == -32602
        assert CLIENT_CAPABILITIES in error.message

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            (CLIENT_INFO, "client"),
            (CLIENT_INFO, []),
            (LOG_LEVEL, "loud"),  # LOG-05
            (LOG_LEVEL, "INFO"),
            (LOG_LEVEL, 5),
            (LOG_LEVEL, ["info"]),
            (LOG_LEVEL, {}),
            ("progressToken", 1.5),
            ("progressToken", True),
            ("progressToken", {}),
        ],
    )
    def test_reserved_members_of_another_type_are_invalid_params(self, key, value):
        """META-14, LOG-05"""
        error = refused(request(_meta=meta(**{key: value})), headers())

        assert error.code == -32602
        assert key in error.message

    @pytest.mark.parametrize("level", LOG_LEVELS)
    def test_each_log_level_is_accepted(self, level):
        """LOG-06"""
        assert read_modern(request(_meta=meta(**{LOG_LEVEL: level})), headers()).log_level == level

    @pytest.mark.parametrize("token", [0, 1, "", "a"])
    def test_progress_tokens_keep_value_and_type(self, token):
        """META-11"""
        read = read_modern(request(_meta=meta(progressToken=token)), headers()).progress_token

        assert (read, type(read)) == (token, type(token))

    def test_header_rules_apply_to_the_method_and_the_name(self):
        """MH-09, MH-10"""
        assert refused(request(_meta=meta()), headers(MODERN, None)).code == -32020
        assert refused(request(_meta=meta()), headers(MODERN, "TOOLS/LIST")).code == -32020
        call = request("tools/call", name="echo", _meta=meta())
        assert refused(call, headers(MODERN, "tools/call", ("Mcp-Name", "add"))).code == -32020
        read_modern(call, headers(MODERN, "tools/call", ("Mcp-Name", "echo")))


class TestOrder:
    """MH-34 and conformance: the first fault of several is the one that is answered."""

    @pytest.mark.parametrize(
        "header", [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/list"), ("Mcp-Name", "x")]
    )
    def test_duplicates_come_before_the_meta(self, header):
        """MH-20"""
        error = refused(request(), headers(MODERN, "tools/list", header, header))

        assert error.code == -32020
        assert error.message == f"{header[0]} header is repeated"

    def test_the_version_of_the_body_comes_before_the_header(self):
        assert refused(request(_meta={}), headers(MODERN, None)).code == -32602

    @pytest.mark.parametrize("params", [{}, {"_meta": {}}, {"_meta": {"progressToken": 1}}])
    def test_an_unknown_version_in_the_header_alone_is_told_with_all_there_are(self, params):
        """X23, VER-10: a legacy client has no envelope to complain about."""
        error = refused(request(**params), headers("2031-01-01", None))

        assert error.code == -32022
        assert error.data == {"supported": list(SUPPORTED), "requested": "2031-01-01"}

    def test_difference_comes_before_support(self):
        """VER-06"""
        assert refused(request(_meta=meta("2031-01-01")), headers()).code == -32020

    def test_a_missing_header_comes_before_support(self):
        assert refused(request(_meta=meta("2031-01-01")), headers(None)).code == -32020

    def test_difference_of_the_version_comes_before_capabilities(self):
        assert refused(request(_meta={PROTOCOL_VERSION: MODERN}), headers("2031-01-01")).code == -32020

    def test_other_headers_come_before_support(self):
        error = refused(request(_meta=meta("2031-01-01")), headers("2031-01-01", "x"))

        assert error.message == "Mcp-Method header differs from the body"

    def test_support_comes_before_capabilities(self):
        error = refused(request(_meta={PROTOCOL_VERSION: "2031-01-01"}), headers("2031-01-01"))

        assert error.code == -32022

    def test_headers_come_before_capabilities(self):
        assert refused(request(_meta={PROTOCOL_VERSION: MODERN}), headers(MODERN, None)).code == -32020


class TestLegacy:
    def read(self, **params):
        return read_legacy(
            request(**params),
            revision=Revision.V2025_06_18,
            client_info=CLIENT,
            client_capabilities={"roots": {}},
            log_level="warning",
        )

    def test_the_handshake_fills_the_envelope(self):
        assert self.read(_meta={"progressToken": "t", "x": 1}) == Envelope(
            revision=Revision.V2025_06_18,
            meta={"progressToken": "t", "x": 1},
            client_info=CLIENT,
            client_capabilities={"roots": {}},
            log_level="warning",
            progress_token="t",
        )

    @pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": []}])
    def test_no_meta_is_an_empty_one(self, params):
        assert self.read(**params).meta == {}
        assert self.read(**params).progress_token is None

    @pytest.mark.parametrize("token", [None, True, 1.5, [], {}])
    def test_tokens_of_another_type_are_none(self, token):
        assert self.read(_meta={"progressToken": token}).progress_token is None

    def test_modern_keys_mean_nothing(self):
        """A level of the wrong kind does not stop a legacy request."""
        assert self.read(_meta={LOG_LEVEL: 5}).log_level == "warning"


@settings(deadline=None)
@example(params={"_meta": meta()}, method="ping", raw=None)
@given(
    strategies.params,
    st.sampled_from(["tools/call", "resources/read", "initialize"]) | strategies.texts,
    st.none() | strategies.headers,
)
def test_reading_raises_nothing_else(params, method, raw):
    message = Request(id=1, method=method, params=params)

    read = strategies.outcome(read_modern, message, None if raw is None else Headers(raw))

    if isinstance(read, ProtocolError):
        assert read.code in (-32602, -32020, -32022)
        assert read.request_id == 1
    else:
        assert read.revision is Revision.V2026_07_28
