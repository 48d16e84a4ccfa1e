"""JSON-RPC messages: bytes to values to messages, and back to bytes.

Whatever comes in, the only exception that comes out of reading is ``ProtocolError``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import isinf
from typing import Any, NoReturn

from django_mcp.protocol.errors import (
    ABSENT,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
)

RequestId = str | int


# Made for each request, and a frozen one takes three times as long to make.
@dataclass(slots=True, kw_only=True)
class Request:
    """A message that wants a reply."""

    id: RequestId
    method: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A message that must never get a reply."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The client's answer to a request of ours; exactly one of result and error is present."""

    id: RequestId | None
    result: Any = ABSENT
    error: Any = ABSENT


Message = Request | Notification | Reply


def decode(body: bytes, *, max_depth: int) -> Any:
    """Read strict JSON text whose arrays and objects are nested at most ``max_depth`` deep.

    Raises ``ProtocolError`` -32700 for everything else.
    """
    # Few brackets cannot nest deeply, which spares nearly every message the scan.
    if body.count(b"[") + body.count(b"{") > max_depth and _depth(body) > max_depth:
        raise _parse_error("nested too deeply")
    try:
        return _DECODER.decode(str(body.removeprefix(_BOM), "utf-8"))
    except UnicodeDecodeError:
        raise _parse_error("not UTF-8") from None
    except json.JSONDecodeError as exc:
        raise _parse_error(f"{exc.msg}: character {exc.pos}") from None
    except ValueError:
        # int() has a limit of digits: reading more takes quadratic time.
        raise _parse_error("a number has too many digits") from None
    except RecursionError:
        # Only where max_depth is set beyond what the interpreter allows.
        raise _parse_error("nested too deeply") from None


def read_message(value: Any) -> Message:
    """Tell requests, notifications and replies apart by the members they have.

    Raises ``ProtocolError``: -32600, or -32602 where the params alone are wrong.
    """
    if not isinstance(value, dict):
        raise _invalid_request("Message is not an object")
    if value.get("jsonrpc") != "2.0":
        raise _invalid_request('jsonrpc is not "2.0"', value)
    is_reply = "result" in value or "error" in value
    if "method" not in value:
        if not is_reply:
            raise _invalid_request("method is missing", value)
        return _read_reply(value)
    if is_reply:
        raise _invalid_request("Message has a method and a result or error", value)
    return _read_call(value)


def encode(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    """Write compact JSON. NaN and Infinity are a ``ValueError``: they are not JSON."""
    # Only a lone surrogate cannot be encoded, and only strings hold one: there the
    # replacement \udXXX is JSON's own escape.
    return _encoder(default).encode(value).encode("utf-8", "backslashreplace")


def result_message(id: RequestId, result: Any) -> dict[str, Any]:
    """The reply to a request that succeeded."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_message(id: RequestId | None, error: ProtocolError) -> dict[str, Any]:
    """The reply to a request that failed; without an id where none could be read (RPC-06)."""
    if id is None:
        return {"jsonrpc": "2.0", "error": error.to_wire()}
    return {"jsonrpc": "2.0", "id": id, "error": error.to_wire()}


def notification_message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    """A message to the client that wants no reply."""
    if params is None:
        return {"jsonrpc": "2.0", "method": method}
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _read_call(message: dict[str, Any]) -> Request | Notification:
    id = message.get("id", ABSENT)
    method = message["method"]
    params = message.get("params", ABSENT)
    if id is not ABSENT and not _is_id(id):
        raise _invalid_request("id is neither a string nor an integer")
    if not isinstance(method, str):
        raise _invalid_request("method is not a string", message)
    if params is ABSENT:
        params = {}
    elif not isinstance(params, dict):
        request_id = None if id is ABSENT else id
        raise ProtocolError(INVALID_PARAMS, "params is not an object", request_id=request_id, status=400)
    if id is ABSENT:
        return Notification(method=method, params=params)
    return Request(id=id, method=method, params=params)


def _read_reply(message: dict[str, Any]) -> Reply:
    # Faults are reported without an id: it would name a request of ours, not of the client.
    if "result" in message and "error" in message:
        raise _invalid_request("Message has both a result and an error")
    id = message.get("id")
    # A peer that could not read our id answers with an error that has none, or null.
    if not _is_id(id) and (id is not None or "result" in message):
        raise _invalid_request("id is neither a string nor an integer")
    return Reply(id=id, result=message.get("result", ABSENT), error=message.get("error", ABSENT))


def _is_id(value: Any) -> bool:
    # Exact types: True is an int, and 1.0 equals 1.
    return type(value) is str or type(value) is int


def _invalid_request(fault: str, message: dict[str, Any] | None = None) -> ProtocolError:
    id = None if message is None else message.get("id")
    return ProtocolError(INVALID_REQUEST, fault, request_id=id if _is_id(id) else None, status=400)


def _parse_error(fault: str) -> ProtocolError:
    return ProtocolError(PARSE_ERROR, f"Parse error: {fault}", status=400)


def _depth(body: bytes) -> int:
    """How deep the brackets outside of strings are nested, without recursion."""
    brackets = _STRING.sub(b"", body).translate(_STEPS, _NOT_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)


_BOM = b"\xef\xbb\xbf"
# An open string goes on to the end: trying it again from each further quote would take quadratic time.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
# Signed bytes: an opening bracket is a step down, a closing one a step up.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # Readers disagree on which of the two counts.
        raise _parse_error("an object has a key twice")
    return members


def _float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise _parse_error("a number is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise _parse_error(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


@lru_cache(maxsize=16)
def _encoder(default: Callable[[Any], Any] | None) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
