"""What Django's own values become: models and QuerySets, files, responses, errors."""

import datetime
import decimal
import io
import json
import uuid
from types import SimpleNamespace
from typing import Annotated, Any, cast

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.db.models import FileField, IntegerChoices, QuerySet
from django.db.models.fields.files import FieldFile
from django.http import FileResponse, HttpResponse, HttpResponseNotFound, HttpResponseRedirect, JsonResponse
from django.templatetags.static import static
from django.test import override_settings
from django.utils.translation import gettext_lazy as _
from pydantic import BaseModel, Field
from rest_framework.serializers import DecimalField
from rest_framework.utils.encoders import JSONEncoder
from typing_extensions import TypedDict

from django_mcp import Icon, MCPServer, ResourceLink, ToolResult
from django_mcp.servers import _servers
from tests.shop.models import Category, Product
from tests.wire.client import WireClient
from tests.wire.doors import consumer

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(monkeypatch):
    fresh = MCPServer("returns")
    monkeypatch.setattr("django_mcp.routing.find_endpoint", lambda scope: (fresh, {}))
    yield fresh
    del _servers["returns"]


@pytest.fixture
def client(server):
    return WireClient(consumer())


class CategoryOut(TypedDict):
    name: str


class ProductOut(BaseModel):
    name: str
    stock: int
    category: CategoryOut | None


class Shelf(TypedDict):
    name: str
    product_set: list[ProductOut]


@pytest.fixture
def eggs():
    return Product.objects.create(name="egg", stock=12, category=Category.objects.create(name="food"))


EGG = {"name": "egg", "stock": 12, "category": {"name": "food"}}


def returned(client, function, **options):
    client_server = _servers["returns"]
    client_server.registry.restore(type(client_server.registry.snapshot())())
    client_server.tool(name="it", **options)(function)
    return client.modern("tools/call", {"name": "it", "arguments": {}}).result


def test_models_are_read_through_declared_fields(client, eggs):
    """M1, BL-004: updated_at and id are never read."""

    def one() -> ProductOut:
        return cast(ProductOut, eggs)

    def several() -> list[ProductOut]:
        return [eggs]

    def by_hand():
        return ToolResult(structured=Product.objects.all())

    def queryset() -> QuerySet[Product]:
        return Product.objects.all()

    async def lazily() -> QuerySet[Product]:
        return Product.objects.all()

    assert returned(client, one)["structuredContent"] == EGG
    assert returned(client, several)["structuredContent"] == [EGG]
    assert returned(client, queryset, output_schema=list[ProductOut])["structuredContent"] == [EGG]
    assert returned(client, by_hand, output_schema=list[ProductOut])["structuredContent"] == [EGG]
    assert returned(client, lazily, output_schema=list[ProductOut])["structuredContent"] == [EGG]


def test_rows_of_values_are_cut_and_lists_of_values_are_lists(client, eggs):
    rows = Product.objects.all()

    def cut():
        return rows.values()

    def names():
        return rows.values_list("name", flat=True)

    async def pairs():
        return rows.values_list("name", "stock")

    def models():
        return rows

    assert returned(client, cut, output_schema=list[CategoryOut])["structuredContent"] == [{"name": eggs.name}]
    assert returned(client, names, output_schema=list[str])["structuredContent"] == [eggs.name]
    assert returned(client, pairs, output_schema=list[tuple[str, int]])["structuredContent"] == [
        [eggs.name, eggs.stock]
    ]
    assert returned(client, models, output_schema=list[str])["isError"]


def test_relations_are_read_from_async_tools_too(client, eggs):
    async def shelf() -> Shelf:
        return cast(Shelf, await Category.objects.aget())  # its relation meets the database while it is written

    async def shelves() -> dict[str, Any]:
        return {"one": Category.objects.get}

    assert returned(client, shelf)["structuredContent"] == {"name": "food", "product_set": [EGG]}
    failed = returned(client, shelves)
    assert failed["isError"]
    assert "method" in failed["content"][0]["text"]


def test_a_model_may_be_inside_other_values(client, eggs):
    class Page(TypedDict):
        total: int
        products: list[ProductOut]

    def page() -> Page:
        return {"total": 1, "products": cast(Any, Product.objects.all())}

    schema = {
        "type": "object",
        "properties": {"found": {"type": "object", "properties": {"name": {"type": "string"}, "nothing": {}}}},
    }
    assert returned(client, page)["structuredContent"] == {"total": 1, "products": [EGG]}
    found = returned(client, lambda: {"found": eggs}, output_schema=schema)
    assert found["structuredContent"] == {"found": {"name": "egg"}}


def test_what_is_not_declared_is_not_written(client, eggs):
    """M1: never ``__dict__``, and the type is named."""

    def missing() -> CategoryOut:
        return cast(CategoryOut, SimpleNamespace(title="x"))

    for function in (lambda: eggs, lambda: [eggs], lambda: {"it": eggs}):
        text = returned(client, function)["content"][0]["text"]
        assert text.startswith(
            "A value of type tests.shop.models.Product was returned, which cannot be written as JSON."
        )
        assert text.endswith("in a dataclass or the like, by the return annotation or output_schema.")
    assert returned(client, missing)["content"][0]["text"] == (
        "A value of type SimpleNamespace was returned, which has no name, although the output schema declares it."
    )


def stored(name="plan.txt", base_url="/media/"):
    storage = InMemoryStorage(base_url=base_url)
    storage.save(name, ContentFile(b"the plan"))
    return FieldFile(cast(Any, None), FileField(storage=storage), name)


class Unreachable(InMemoryStorage):
    def url(self, name):
        raise NotImplementedError


def test_a_file_field_becomes_a_link(client):
    """M1, TOOL-17, TOOL-18."""

    async def plan():
        return stored()

    [link] = returned(client, plan)["content"]
    assert link == {
        "type": "resource_link",
        "uri": "http://testserver/media/plan.txt",
        "name": "plan.txt",
        "mimeType": "text/plain",
        "size": 8,
    }
    with override_settings(
        DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.AllowAny", "PUBLIC_URL": "https://x.example/y"}
    ):
        assert returned(client, lambda: [stored()])["content"][0]["uri"] == "https://x.example/media/plan.txt"
    absolute = stored(base_url="https://cdn.example.com/")
    assert returned(client, lambda: absolute)["content"][0]["uri"] == "https://cdn.example.com/plan.txt"


def test_a_file_that_nobody_reaches_is_sent(client):
    file = stored()
    storage = Unreachable()
    storage.save("plan.txt", ContentFile(b"the plan"))
    file.storage = storage

    [block] = returned(client, lambda: file)["content"]
    assert block["resource"] == {"uri": "attachment:plan.txt", "mimeType": "text/plain", "text": "the plan"}
    [block] = returned(client, lambda: ContentFile("ü", name="a b.csv"))["content"]
    assert block["resource"] == {"uri": "attachment:a%20b.csv", "mimeType": "text/csv", "text": "ü"}
    [block] = returned(client, lambda: ContentFile(b"\xff"))["content"]
    assert block["resource"]["mimeType"] == "application/octet-stream"
    gone = stored()
    gone.name = "gone.txt"
    assert returned(client, lambda: gone)["content"][0]["text"] == "There is no file."
    empty = FieldFile(cast(Any, None), FileField(), "")
    assert returned(client, lambda: empty)["content"][0]["text"] == "There is no file."


def test_responses_become_content(client):
    """M1, TOOL-17."""
    image = returned(client, lambda: FileResponse(io.BytesIO(b"png"), content_type="image/png"))
    assert image["content"] == [{"type": "image", "data": "cG5n", "mimeType": "image/png"}]
    sound = returned(client, lambda: HttpResponse(b"wav", content_type="audio/wav"))
    assert sound["content"][0]["type"] == "audio"
    table = returned(client, lambda: FileResponse(io.BytesIO(b"a;b"), filename="t.csv", as_attachment=True))
    assert table["content"][0]["resource"] == {"uri": "attachment:t.csv", "mimeType": "text/csv", "text": "a;b"}
    broken = returned(client, lambda: HttpResponse(b"\xff", content_type="text/plain"))
    assert broken["content"][0]["resource"]["blob"] == "/w=="
    data = returned(client, lambda: ToolResult(content=cast(Any, (JsonResponse({"a": 1}), "and a text"))))
    assert data["content"][0]["resource"]["text"] == '{"a": 1}'
    missing = returned(client, lambda: HttpResponseNotFound())
    assert (missing["isError"], missing["content"][0]["text"]) == (True, "There is no file.")
    redirect = returned(client, lambda: HttpResponseRedirect("/x"))
    assert redirect["content"][0]["text"].startswith("A response with the status 302 was returned.")


def test_bytes_are_what_the_tool_says(client):
    """M2, M3."""

    def draw() -> bytes:
        return b"png"

    assert returned(client, draw, mime_type="image/png")["content"] == [
        {"type": "image", "data": "cG5n", "mimeType": "image/png"}
    ]
    blob = returned(client, lambda: [b"%PDF", "a text"], mime_type="application/pdf")
    assert blob["content"][0]["resource"]["mimeType"] == "application/pdf"
    assert blob["content"][1] == {"type": "text", "text": "a text"}


def test_missing_objects_are_told_without_their_text(client):
    """BL-066, S74, X21."""

    def find():
        return Product.objects.get(name="secret")

    def miss():
        raise ObjectDoesNotExist("secret")

    result = returned(client, find)
    assert (result["isError"], result["content"][0]["text"]) == (True, "Product not found.")
    assert returned(client, miss)["content"][0]["text"] == "Object not found."


def test_results_have_a_size(client):
    def long():
        return "x" * 500

    text = returned(client, long, max_size=100)["content"][0]["text"]
    assert text == (
        "The result has 555 bytes, and at most 100 are sent. Ask for less, for instance with a narrower search or a "
        "lower limit."
    ), text
    assert not returned(client, long, max_size=1000)["isError"]
    settings = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "MAX_RESULT": 100}
    with override_settings(DJANGO_MCP=settings):
        assert returned(client, long)["isError"]
        assert not returned(client, long, max_size=1000)["isError"]


def test_icons_of_the_site_are_made_absolute(client, server):
    """ICON-01, ICON-03, S19."""
    with override_settings(STATIC_URL="/static/"):
        icon = Icon(static("shop.png"))
    server.icons = [icon]
    link = ResourceLink(uri="a:b", name="b", icons=(icon, Icon("data:,x")))
    server.tool(icons=[icon])(lambda_named("look", link))
    server.prompt(icons=[icon])(lambda_named("start", link))

    listed = client.modern("tools/list").result
    assert listed["tools"][0]["icons"] == [{"src": "http://testserver/static/shop.png"}]
    [identity] = listed["_meta"].values()
    assert identity["icons"] == [{"src": "http://testserver/static/shop.png"}]
    called = client.modern("tools/call", {"name": "look", "arguments": {}}).result
    assert [one["src"] for one in called["content"][0]["icons"]] == ["http://testserver/static/shop.png", "data:,x"]
    got = client.modern("prompts/get", {"name": "start"}).result
    assert got["messages"][0]["content"]["icons"][0]["src"] == "http://testserver/static/shop.png"
    settings = {"AUTHENTICATION": "django_mcp.auth.AllowAny", "PUBLIC_URL": "https://shop.example.com/mcp"}
    with override_settings(DJANGO_MCP=settings):
        listed = client.modern("tools/list").result
        assert listed["tools"][0]["icons"] == [{"src": "https://shop.example.com/static/shop.png"}]


def lambda_named(name, value):
    def function():
        return value

    function.__name__ = name
    return function


def test_translations_are_read_in_the_callers_language(client, server):
    """BL-022."""

    def look(limit: Annotated[int, Field(description=_("Yes"))] = 1):
        """Look."""

    server.tool(title=_("Yes"), description=_("No"))(look)
    server.title, server.instructions = _("Yes"), _("No")
    server.add_instructions(_("Yes"))
    german: dict[str, str | None] = {"Accept-Language": "de"}

    [tool] = client.modern("tools/list", headers=german).result["tools"]
    assert (tool["title"], tool["description"]) == ("Ja", "Nein")
    assert tool["inputSchema"]["properties"]["limit"]["description"] == "Ja"
    assert client.modern("server/discover", headers=german).result["instructions"] == "Nein\n\nJa"
    [tool] = client.modern("tools/list").result["tools"]
    assert tool["inputSchema"]["properties"]["limit"]["description"] == "Yes"


class Size(IntegerChoices):
    SMALL = 1, _("Yes")


VALUES = [
    uuid.UUID(int=7),
    datetime.datetime(2026, 7, 28, 12, 30, tzinfo=datetime.UTC),
    datetime.datetime(2026, 7, 28, 12, 30, 1, 250000),
    datetime.date(2026, 7, 28),
    datetime.time(12, 30),
    _("Yes"),
    {"only"},
    frozenset({1}),
    {"a": 1}.values(),
    Size.SMALL,
]


@pytest.mark.parametrize("value", VALUES, ids=[str(number) for number in range(len(VALUES))])
def test_values_are_written_as_rest_framework_writes_them(client, value):
    """BL-004, M1, M3."""

    def it() -> dict[str, Any]:
        return {"it": value}

    written = json.loads(json.dumps(value, cls=JSONEncoder))
    assert returned(client, it)["structuredContent"] == {"it": written}


def test_decimals_keep_their_places(client):
    """BL-004, M1: as serializers of REST framework write them."""
    price = decimal.Decimal("1.50")
    written = DecimalField(max_digits=5, decimal_places=2).to_representation(price)
    assert returned(client, lambda: [price])["structuredContent"] == [written] == ["1.50"]


def test_a_duration_is_written_as_its_schema_says(client):
    """BL-004: where REST framework has a number of seconds in a text, the published format is ISO 8601."""

    def it() -> datetime.timedelta:
        return datetime.timedelta(days=1, hours=2)

    assert returned(client, it)["structuredContent"] == "P1DT2H"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), decimal.Decimal("NaN")], ids=repr)
def test_what_is_no_number_never_leaves(client, value):
    """BL-005."""
    result = returned(client, lambda: {"it": [value]})
    assert result["isError"]
    assert result["content"][0]["text"].startswith("A non-finite number (NaN or Infinity) was returned")
