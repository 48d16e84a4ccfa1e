import copy

import pytest

from django_mcp.protocol import errors
from django_mcp.protocol.errors import ABSENT, ProtocolError, http_status
from django_mcp.protocol.versions import Era


def test_an_error_without_data_has_no_data_member():
    """S12, RPC-05"""
    error = ProtocolError(errors.INTERNAL_ERROR, "Internal error")

    assert error.to_wire() == {"code": -32603, "message": "Internal error"}
    assert str(error) == "Internal error (-32603)"


def test_null_is_data():
    error = ProtocolError(errors.INTERNAL_ERROR, "Internal error", data=None)

    assert error.to_wire()["data"] is None


def test_absent_survives_copies():
    assert copy.deepcopy(ABSENT) is ABSENT


def test_invalid_params_carry_data_and_id():
    """S12."""
    error = errors.invalid_params("Resource not found", {"uri": "note://a"}, request_id=0)

    assert error.to_wire() == {
        "code": -32602,
        "message": "Resource not found",
        "data": {"uri": "note://a"},
    }
    assert error.request_id == 0


def test_each_code_is_the_one_that_the_specification_gives():
    """S14"""
    assert {name: code for name, code in vars(errors).items() if isinstance(code, int)} == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "SESSION_NOT_FOUND": -32001,
        "RESOURCE_NOT_FOUND": -32002,
        "REQUEST_CANCELLED": -32800,
        "URL_ELICITATION_REQUIRED": -32042,
        "HEADER_MISMATCH": -32020,
        "MISSING_CLIENT_CAPABILITY": -32021,
        "UNSUPPORTED_PROTOCOL_VERSION": -32022,
    }


def test_an_unknown_method_is_named():
    assert errors.method_not_found("no/such").to_wire() == {
        "code": -32601,
        "message": "Method not found: no/such",
    }


def test_a_header_mismatch_has_its_own_code():
    assert errors.header_mismatch("Mcp-Name header is missing").to_wire() == {
        "code": -32020,
        "message": "Mcp-Name header is missing",
    }


def test_missing_capabilities_are_an_object():
    """META-08"""
    assert errors.missing_capability({"elicitation": {"url": {}}}).to_wire() == {
        "code": -32021,
        "message": "Missing client capability: elicitation",
        "data": {"requiredCapabilities": {"elicitation": {"url": {}}}},
    }


def test_an_unsupported_version_is_echoed_with_the_supported_ones():
    """VER-02"""
    assert errors.unsupported_version("2031-01-01", ("2026-07-28",)).to_wire() == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2031-01-01"},
    }


@pytest.mark.parametrize(
    ("code", "legacy", "modern"),
    [
        (errors.PARSE_ERROR, 400, 400),
        (errors.INVALID_REQUEST, 400, 400),
        (errors.METHOD_NOT_FOUND, 200, 404),
        (errors.INVALID_PARAMS, 200, 400),
        (errors.INTERNAL_ERROR, 200, 200),
        (errors.HEADER_MISMATCH, 400, 400),
        (errors.MISSING_CLIENT_CAPABILITY, 400, 400),
        (errors.UNSUPPORTED_PROTOCOL_VERSION, 400, 400),
        (errors.SESSION_NOT_FOUND, 404, 200),
        (errors.RESOURCE_NOT_FOUND, 200, 200),
        (errors.REQUEST_CANCELLED, 200, 200),
        (1234, 200, 200),
    ],
)
def test_statuses_follow_the_table(code, legacy, modern):
    """S240, MH-22, MH-23, LH-37"""
    assert http_status(code, Era.LEGACY) == legacy
    assert http_status(code, Era.MODERN) == modern


def test_an_error_with_a_status_of_its_own_keeps_it():
    error = ProtocolError(errors.INVALID_REQUEST, "Body is too large", status=413)

    assert error.http_status(Era.MODERN) == 413


def test_an_error_without_one_asks_the_table():
    assert errors.method_not_found("no/such").http_status(Era.MODERN) == 404
    assert errors.method_not_found("no/such").http_status(Era.LEGACY) == 200


def test_only_legacy_clients_see_codes_of_the_band_that_is_closed():
    """RPC-18, RPC-20"""
    codes = {name: value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    closed = {name for name, code in codes.items() if -32019 <= code <= -32000}
    assert closed == {"SESSION_NOT_FOUND", "RESOURCE_NOT_FOUND"}
    assert errors.resource_not_found("note://a", Era.MODERN).code == errors.INVALID_PARAMS
