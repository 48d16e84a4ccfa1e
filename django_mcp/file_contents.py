"""Files, of Django and of Python, and responses as what is read from a URI: a text where they are text, else a blob.

A tool sends them as content: a link where the storage has a URL, else what is in them.
"""

from __future__ import annotations

import codecs
import io
import mimetypes
import re
from typing import Any

from django.core.files.base import File
from django.db.models.fields.files import FieldFile
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.asyncio import async_unsafe

from django_mcp.exceptions import InvalidOutput, ResourceNotFound, ToolError
from django_mcp.primitives.data import contents_block
from django_mcp.protocol.content import Content, ResourceContents, ResourceLink
from django_mcp.server.context import Context

UNKNOWN = "application/octet-stream"
TEXTUAL = re.compile(r"text/.*|.*\+(json|xml)|application/(json|xml|javascript|yaml|toml|sql|x-ndjson)")
CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


def read_files(value: Any, mime_type: str | None) -> Any:
    """Files and responses, alone or in a list, as contents; other values as they are.

    ``mime_type`` is what the resource declares, and wins. Raises ``ResourceNotFound`` where there is no file.
    """
    if isinstance(value, list | tuple):
        return [read_files(item, mime_type) for item in value]
    if isinstance(value, File | io.IOBase):
        return _from_file(_as_file(value), mime_type)
    return _from_response(value, mime_type) if isinstance(value, HttpResponseBase) else value


def to_content(value: Any, context: Context) -> Content | None:
    """A file or a response as content of a tool's result, ``None`` for other values.

    Raises ``ToolError`` where there is no file.
    """
    if isinstance(value, io.IOBase):
        value = _as_file(value)
    if not isinstance(value, File | HttpResponseBase):
        return None
    if isinstance(value, FieldFile) and value and (link := _link(value, context)) is not None:
        return link
    try:
        contents: ResourceContents = read_files(value, None)
    except ResourceNotFound:
        raise ToolError("There is no file.") from None
    return contents_block(contents, _name(value))


def _as_file(value: File[Any] | io.IOBase) -> File[Any]:
    """What ``open()`` returned as a file of Django; that of a descriptor has a number for a name."""
    if isinstance(value, File):
        return value
    name = getattr(value, "name", None)
    return File(value, name if isinstance(name, str) else "")  # type: ignore[arg-type]


@async_unsafe
def _link(file: FieldFile, context: Context) -> ResourceLink | None:
    try:
        uri, size = context.build_absolute_uri(file.url), file.size
    except (NotImplementedError, ValueError):  # a storage that nobody reaches from outside
        return None
    except FileNotFoundError:
        raise ToolError("There is no file.") from None
    return ResourceLink(uri=uri, name=_name(file), mime_type=_guess(file.name or ""), size=size)


def _name(value: File[Any] | HttpResponseBase) -> str:
    name = getattr(value, "filename", "") if isinstance(value, HttpResponseBase) else value.name
    return (name or "file").replace("\\", "/").rpartition("/")[2]


# Storages block: an async function has them read on its thread, where its queries run, too.
@async_unsafe
def _from_file(file: File[Any], mime_type: str | None) -> ResourceContents:
    if isinstance(file, FieldFile) and not file:
        raise ResourceNotFound
    try:
        with file.open("rb") as opened:
            data: bytes | str = opened.read()
    except FileNotFoundError:
        raise ResourceNotFound from None
    return _contents(data if isinstance(data, bytes) else data.encode(), mime_type or _guess(file.name or ""), "utf-8")


def _guess(name: str) -> str:
    mime_type, encoding = mimetypes.guess_type(name)
    return UNKNOWN if mime_type is None or encoding is not None else mime_type  # report.txt.gz is no text


@async_unsafe
def _from_response(response: HttpResponseBase, mime_type: str | None) -> ResourceContents:
    try:
        if response.status_code == 404:
            raise ResourceNotFound
        if not 200 <= response.status_code < 300:
            raise InvalidOutput(
                f"A response with the status {response.status_code} was returned. Contents come from "
                "responses that went well: raise ResourceNotFound or ToolError for others."
            )
        declared = response.headers.get("Content-Type", UNKNOWN)
        charset = CHARSET.search(declared)
        bare = mime_type or declared.partition(";")[0].strip()
        return _contents(_body(response), bare, charset[1] if charset else "utf-8")
    finally:
        response.close()


def _body(response: HttpResponseBase) -> bytes:
    if isinstance(response, HttpResponse):
        return response.content
    if isinstance(response, StreamingHttpResponse) and not response.is_async:
        return b"".join(response)
    raise InvalidOutput(
        f"A {type(response).__name__} that streams from async code was returned. Collect its parts and return bytes."
    )


def _contents(data: bytes, mime_type: str, charset: str) -> ResourceContents:
    """The URI is filled in with the one that is read."""
    if TEXTUAL.fullmatch(mime_type.partition(";")[0].strip()):
        try:
            return ResourceContents(uri="", mime_type=mime_type, text=codecs.decode(data, charset))
        except (UnicodeError, LookupError):
            pass  # a text in an encoding nobody told of is sent as it is
    return ResourceContents(uri="", mime_type=mime_type, blob=data)
