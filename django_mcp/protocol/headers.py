"""HTTP header fields: one pass over the raw pairs, the value codec, and header = body."""

from __future__ import annotations

import binascii
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from django_mcp.protocol.errors import header_mismatch
from django_mcp.protocol.jsonrpc import Request, RequestId
from django_mcp.protocol.media_types import accepts, is_json

__all__ = [
    "METHOD",
    "NAME",
    "NAMED_BY",
    "PARAM_PREFIX",
    "SESSION",
    "VERSION",
    "HeaderParam",
    "Headers",
    "accepts",
    "check_params",
    "check_routing",
    "check_unrepeated",
    "decode_value",
    "encode_value",
    "is_json",
]

VERSION = "MCP-Protocol-Version"
METHOD = "Mcp-Method"
NAME = "Mcp-Name"
PARAM_PREFIX = "Mcp-Param-"
SESSION = "Mcp-Session-Id"

# The member of params that Mcp-Name repeats (MH-10).
NAMED_BY: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}


class Headers:
    """The header fields of one request. Names are case-insensitive, values are stripped."""

    __slots__ = ("_repeated", "_values")

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        # A value is decoded when it is asked for: most never are.
        fields = [(name.lower(), value) for name, value in raw]
        self._values = dict(fields)
        self._repeated: dict[bytes, list[bytes]] = {}
        if len(self._values) != len(fields):
            self._join_repeated(fields)

    @property
    def has_repeated(self) -> bool:
        """Whether any field came more than once."""
        return bool(self._repeated)

    def get(self, name: str) -> str | None:
        """The value; repeated fields are joined as RFC 9110 section 5.3 and RFC 9113 have it."""
        value = self._values.get(_key(name))
        return None if value is None else _text(value)

    def all(self, name: str) -> list[str]:
        """The value of each field of this name, in order."""
        key = _key(name)
        if key in self._repeated:
            return [_text(value) for value in self._repeated[key]]
        return [_text(self._values[key])] if key in self._values else []

    def duplicated(self, name: str) -> bool:
        """Whether the field came more than once."""
        return _key(name) in self._repeated

    def names_starting(self, prefix: str) -> list[str]:
        """The lower-case names that start with the prefix."""
        key = _key(prefix)
        return [name.decode("latin-1") for name in self._values if name.startswith(key)]

    def _join_repeated(self, fields: list[tuple[bytes, bytes]]) -> None:
        values: dict[bytes, list[bytes]] = {}
        for name, value in fields:
            values.setdefault(name, []).append(value.strip(b" \t"))
        self._repeated = {name: found for name, found in values.items() if len(found) > 1}
        for name, found in self._repeated.items():
            self._values[name] = (b"; " if name == b"cookie" else b", ").join(found)


@lru_cache(maxsize=256)
def _key(name: str) -> bytes:
    return name.encode("latin-1").lower()


def _text(value: bytes) -> str:
    return value.decode("latin-1").strip(" \t")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderParam:
    """A tool argument that the client repeats as ``Mcp-Param-<header>``.

    ``path`` leads to it through nested arguments; ``kind`` is its JSON Schema type.
    """

    header: str
    path: tuple[str, ...]
    kind: Literal["string", "integer", "boolean"]


def decode_value(text: str, *, header: str = "Header", request_id: RequestId | None = None) -> str:
    """The text behind a header value: plain, or Base64 of UTF-8 between the markers (MH-12).

    Raises ``ProtocolError`` -32020, which names the ``header``.
    """
    if not _is_printable(text):
        raise header_mismatch(f"{header} value has invalid characters", request_id=request_id)
    encoded = _MARKED.fullmatch(text)
    if encoded is None:
        return text
    payload = encoded[1]
    try:
        data = binascii.a2b_base64(payload)
        # Padding, alphabet and unused bits are right if the one canonical form comes back.
        if b64encode(data).decode() == payload:
            return data.decode()
    except ValueError:
        pass
    raise header_mismatch(f"{header} value is not canonical Base64 of UTF-8", request_id=request_id)


def encode_value(text: str) -> str:
    """The header value for a text: as it is where that survives, else between the markers (MH-12)."""
    if _is_printable(text) and text == text.strip() and not _MARKED.fullmatch(text):
        return text
    return f"=?base64?{b64encode(text.encode()).decode()}?="


def check_unrepeated(headers: Headers, request_id: RequestId) -> None:
    """No routing header comes twice: readers of the first and of the last would disagree (MH-20)."""
    if not headers.has_repeated:
        return
    for header in (VERSION, METHOD, NAME):
        if headers.duplicated(header):
            raise header_mismatch(f"{header} header is repeated", request_id=request_id)


def check_routing(headers: Headers, request: Request) -> None:
    """Mcp-Method and, where the method has one, Mcp-Name repeat the body (MH-09 to MH-14).

    A body without the name cannot be compared: its handler answers that params are invalid.
    """
    method = headers.get(METHOD)
    if method is None:
        raise header_mismatch(f"{METHOD} header is missing", request_id=request.id)
    if method != request.method:
        raise header_mismatch(f"{METHOD} header differs from the body", request_id=request.id)
    member = NAMED_BY.get(request.method)
    if member is not None and isinstance(name := request.params.get(member), str):
        _check_value(headers, NAME, name, request.id)


def check_params(headers: Headers, header_params: Iterable[HeaderParam], arguments: dict[str, Any]) -> None:
    """Each annotated argument and its Mcp-Param header agree; others are ignored (MH-17, MH-18)."""
    for param in header_params:
        header = PARAM_PREFIX + param.header
        value = _find(arguments, param.path)
        if value is not None:
            _check_value(headers, header, value)
        elif headers.get(header) is not None:
            raise header_mismatch(f"{header} header has no argument in the body")


def _check_value(headers: Headers, header: str, value: Any, request_id: RequestId | None = None) -> None:
    if isinstance(value, dict | list):
        # No header can carry it. The schema check that follows says so in words for the model.
        return
    text = headers.get(header)
    if text is None:
        raise header_mismatch(f"{header} header is missing", request_id=request_id)
    if headers.duplicated(header):
        raise header_mismatch(f"{header} header is repeated", request_id=request_id)
    if not _same(decode_value(text, header=header, request_id=request_id), value):
        raise header_mismatch(f"{header} header differs from the body", request_id=request_id)


def _same(text: str, value: Any) -> bool:
    """Compare by the type the body has, so that a wrong type is left to the schema (MH-19)."""
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if isinstance(value, int | float):
        return _NUMBER.fullmatch(text) is not None and Decimal(text) == value
    return isinstance(value, str) and text == value


def _find(arguments: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = arguments
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _is_printable(text: str) -> bool:
    """Whether a header can carry the text as it is: 0x20 to 0x7E, which is all ASCII that is printable."""
    return text.isascii() and text.isprintable()


# Without the exact prefix and suffix a value is literal.
_MARKED = re.compile(r"=\?base64\?(.*)\?=")
# 42 and 42.0 are the same integer. Bounded, because reading digits takes quadratic time.
_NUMBER = re.compile(r"-?[0-9]{1,32}(?:\.[0-9]{1,32})?")
