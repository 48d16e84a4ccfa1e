"""Files and responses of Django as resources: what they are decides whether a text or a blob is sent."""

import io
import os
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.db.models.fields.files import FieldFile, FileField
from django.http import FileResponse, HttpResponse, HttpResponseNotFound, HttpResponseRedirect, StreamingHttpResponse

from django_mcp import ResourceContents

STORAGE = InMemoryStorage()
NO_ROW: Any = None
FIELD = FileField(storage=STORAGE)


@pytest.fixture(autouse=True)
def files():
    for name, content in {
        "a.md": "# Grüße".encode(),
        "a.png": b"\x89PNG",
        "a.json": b'{"a":1}',
        "latin.txt": "Grüße".encode("latin-1"),
        "a.txt.gz": b"\x1f\x8b",
        "unknown": b"?",
    }.items():
        STORAGE.delete(name)
        STORAGE.save(name, ContentFile(content))


def field_file(name):
    return FieldFile(NO_ROW, FIELD, name)


def read(client, server, value, *, era="modern", **options):
    server.resource("a:b", name="b", **options)(lambda: value)
    return client.call(era, "resources/read", {"uri": "a:b"})


async def async_chunks():
    yield b"a"  # pragma: no cover - nobody reads it


@pytest.mark.parametrize(
    ("name", "mime_type", "key", "data"),
    [
        ("a.md", "text/markdown", "text", "# Grüße"),
        ("a.png", "image/png", "blob", "iVBORw=="),
        ("a.json", "application/json", "text", '{"a":1}'),
        ("latin.txt", "text/plain", "blob", "R3L832U="),
        ("a.txt.gz", "application/octet-stream", "blob", "H4s="),
        ("unknown", "application/octet-stream", "blob", "Pw=="),
    ],
)
def test_a_file_is_sent_as_its_name_says(server, client, era, name, mime_type, key, data):
    """M3, RES-04, RES-13."""
    [contents] = read(client, server, field_file(name), era=era).result["contents"]
    assert contents == {"uri": "a:b", "mimeType": mime_type, key: data}


def test_the_declared_type_wins(server, client):
    """M3."""
    [contents] = read(client, server, field_file("unknown"), mime_type="text/x-question").result["contents"]
    assert contents == {"uri": "a:b", "mimeType": "text/x-question", "text": "?"}


@pytest.mark.parametrize(
    ("response", "contents"),
    [
        (lambda: HttpResponse("Grüße"), {"mimeType": "text/html", "text": "Grüße"}),
        (
            lambda: HttpResponse("Grüße".encode("latin-1"), content_type="text/plain; charset=latin-1"),
            {"mimeType": "text/plain", "text": "Grüße"},
        ),
        (
            lambda: HttpResponse(b"a", content_type="text/plain; charset=klingon"),
            {"mimeType": "text/plain", "blob": "YQ=="},
        ),
        (
            lambda: FileResponse(io.BytesIO(b"a,b"), filename="a.csv"),
            {"mimeType": "text/csv", "text": "a,b"},
        ),
        (
            lambda: StreamingHttpResponse([b"a", b"b"], content_type="image/png"),
            {"mimeType": "image/png", "blob": "YWI="},
        ),
    ],
    ids=["text", "charset", "unknown charset", "file", "stream"],
)
def test_a_response_is_sent_as_its_content_type_says(server, client, response, contents):
    [sent] = read(client, server, response()).result["contents"]
    assert sent == {"uri": "a:b", **contents}


def test_files_may_be_several_and_among_others(server, client):
    """S101, RES-04."""
    value = [field_file("a.md"), ContentFile("plain", name="b.txt"), ResourceContents(uri="c:d", text="c")]
    contents = read(client, server, value).result["contents"]
    assert [(one["uri"], one["mimeType"], one["text"]) for one in contents] == [
        ("a:b", "text/markdown", "# Grüße"),
        ("a:b", "text/plain", "plain"),
        ("c:d", "text/plain", "c"),
    ]


def test_a_file_of_python_is_read_and_closed(server, client, tmp_path):
    """M3: as one of Django."""
    (tmp_path / "a.md").write_text("# Grüße", encoding="utf-8")
    file = (tmp_path / "a.md").open(encoding="utf-8")
    [contents] = read(client, server, file).result["contents"]
    assert contents == {"uri": "a:b", "mimeType": "text/markdown", "text": "# Grüße"}
    assert file.closed


@pytest.mark.parametrize("annotation", [Any, io.IOBase])
@pytest.mark.parametrize(
    ("opened", "mime_type", "text"),
    [
        (lambda path: path.open("rb"), "text/plain", "one\ntwo\n"),
        (lambda path: path.open(), "text/plain", "one\ntwo\n"),
        (lambda path: io.BytesIO(b"\xff"), "application/octet-stream", None),
        (lambda path: os.fdopen(os.open(path, os.O_RDONLY)), "application/octet-stream", None),
    ],
    ids=["binary", "text", "memory", "descriptor"],
)
def test_an_open_file_is_content_and_closed(server, client, tmp_path, opened, mime_type, text, annotation):
    """M1: what ``open()`` returns is a file, although Python can iterate over its lines."""
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\n")
    files = []

    def tool():
        files.append(opened(path))
        return files[-1]

    tool.__annotations__["return"] = annotation
    server.tool(tool)
    [block] = client.modern("tools/call", {"name": "tool", "arguments": {}}).result["content"]
    assert block["type"] == "resource"
    assert block["resource"]["mimeType"] == mime_type
    assert block["resource"].get("text") == text
    assert files[0].closed


def test_async_code_may_return_files(server, client):
    @server.resource("a:b")
    async def b():
        return field_file("a.md")

    [contents] = client.modern("resources/read", {"uri": "a:b"}).result["contents"]
    assert contents["text"] == "# Grüße"


@pytest.mark.parametrize(
    "value",
    [lambda: field_file(""), lambda: field_file("gone.txt"), lambda: HttpResponseNotFound("no")],
    ids=["empty", "gone", "404"],
)
def test_no_file_is_no_resource(server, client, era, value):
    """RES-06..08, BL-076."""
    error = read(client, server, value(), era=era).error
    assert (error["code"], error["data"]) == (-32602 if era == "modern" else -32002, {"uri": "a:b"})


@pytest.mark.parametrize(
    ("value", "logged"),
    [
        (lambda: HttpResponseRedirect("/login"), "A response with the status 302"),
        (lambda: StreamingHttpResponse(async_chunks()), "A StreamingHttpResponse that streams from async code"),
    ],
    ids=["redirect", "async"],
)
def test_other_responses_are_told_in_the_log(server, client, caplog, value, logged):
    assert read(client, server, value()).error == {"code": -32603, "message": "Internal error"}
    assert f"{logged} was returned." in caplog.text
