"""MCP Apps: pages beside the results of tools."""

from types import SimpleNamespace

import pytest

from django_mcp import InvalidPrimitive, ResourceContents, ui
from django_mcp.checks.offers import check_pages
from tests.wire.client import META


def page() -> str:
    """A page."""
    return "<!doctype html><title>Orders</title>"


def orders() -> str:
    """List orders."""
    return "1 order"


def test_a_page_is_a_resource_that_a_tool_points_to(server, client, era):
    """S253, S255, S256, APP-02, APP-03, APP-05, APP-07."""
    ui.resource("ui://orders", server=server)(page)
    server.tool(meta={"example.com/a": 1, **ui.tool_meta("ui://orders", visibility=["app"])})(orders)
    [tool] = client.call(era, "tools/list").result["tools"]
    assert tool["_meta"] == {"example.com/a": 1, "ui": {"resourceUri": "ui://orders", "visibility": ["app"]}}
    [contents] = client.call(era, "resources/read", {"uri": "ui://orders"}).result["contents"]
    assert contents == {"uri": "ui://orders", "mimeType": "text/html;profile=mcp-app", "text": page()}
    assert client.call_tool(era, "orders")["content"][0]["text"] == "1 order"
    assert check_pages() == []


def test_a_page_says_what_it_may_load(server, client):
    """APP-04: on what is read, or where it is listed."""
    rules = {"ui": {"csp": {"connectDomains": ["https://api.example"]}, "prefersBorder": True}}

    def framed() -> ResourceContents:
        return ResourceContents(uri="ui://framed", mime_type=ui.MIME_TYPE, text=page(), meta=rules)

    ui.resource("ui://framed", server=server)(framed)
    ui.resource("ui://listed", server=server, meta=rules)(page)
    listed = client.modern("resources/list").result["resources"]
    assert [one.get("_meta") for one in listed] == [None, rules]
    [contents] = client.modern("resources/read", {"uri": "ui://framed"}).result["contents"]
    assert contents["_meta"] == rules


def test_a_page_may_be_read_and_not_be_listed(server, client):
    """APP-06: one that a template serves is found by its tool alone."""
    server.resource_template("ui://pages/{name}", mime_type=ui.MIME_TYPE)(lambda name: f"<title>{name}</title>")
    server.tool(meta=ui.tool_meta("ui://pages/orders"))(orders)
    assert client.modern("resources/list").result["resources"] == []
    [contents] = client.modern("resources/read", {"uri": "ui://pages/orders"}).result["contents"]
    assert (contents["mimeType"], contents["text"]) == (ui.MIME_TYPE, "<title>orders</title>")
    assert check_pages() == []


def test_the_extension_is_announced_where_the_site_opts_in(server, client):
    """S252, S254, EXT-01, EXT-02, APP-01."""
    server.tool(orders)
    assert "extensions" not in client.modern("server/discover").result["capabilities"]
    server.extensions.update(ui.capability())
    capabilities = client.modern("server/discover").result["capabilities"]
    assert capabilities["extensions"] == {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}


@pytest.mark.parametrize(
    ("declared", "supported"),
    [
        ({"extensions": {ui.EXTENSION: {}}}, True),
        ({"extensions": {ui.EXTENSION: {"mimeTypes": [ui.MIME_TYPE]}}}, True),
        ({"extensions": {ui.EXTENSION: {"mimeTypes": ["text/other"]}}}, False),
        ({"extensions": {ui.EXTENSION: {"mimeTypes": ui.MIME_TYPE}}}, False),
        ({"extensions": {ui.EXTENSION: True}}, False),
        ({"extensions": []}, False),
        ({}, False),
    ],
    ids=range(7),
)
def test_a_tool_may_ask_what_the_client_shows(declared, supported):
    """S257."""
    assert ui.is_supported(SimpleNamespace(client_capabilities=declared)) is supported


def test_a_tool_asks_in_its_call(server, client):
    """S252, S257: what the client declares comes with the request."""
    server.tool(name="asks")(lambda context: str(ui.is_supported(context)))
    meta = {f"{META}clientCapabilities": {"extensions": {ui.EXTENSION: {}}}}
    result = client.modern("tools/call", {"name": "asks"}, meta=meta).result
    assert result["content"][0]["text"] == "True"
    assert client.modern("tools/call", {"name": "asks"}).result["content"][0]["text"] == "False"


@pytest.mark.parametrize("uri", ["https://example.com", "ui://", "", 5])
@pytest.mark.parametrize("use", [ui.resource, ui.tool_meta])
def test_other_uris_are_refused(use, uri):
    """S255, S256."""
    with pytest.raises(InvalidPrimitive) as caught:
        use(uri)
    assert str(caught.value) == f'A page was given the URI {uri!r}. It begins with ui://: write "ui://orders".'


@pytest.mark.parametrize("visibility", ["app", [], ["user"]], ids=ascii)
def test_other_audiences_are_refused(visibility):
    """S256."""
    with pytest.raises(InvalidPrimitive) as caught:
        ui.tool_meta("ui://orders", visibility=visibility)
    assert str(caught.value) == (
        f"The tool of 'ui://orders' was given visibility={visibility!r}. It lists model, app or both: write "
        'visibility=["app"] or leave it out.'
    )


@pytest.mark.parametrize("meta", [{"ui": {"resourceUri": "ui://gone"}}, {"ui": {"resourceUri": 5}}, {"ui": 5}, {}])
def test_a_page_that_is_not_there_is_found_by_the_checks(server, meta):
    """APP-03."""
    server.tool(meta=meta)(orders)
    faults = [one for one in check_pages() if one.obj is server]
    if meta != {"ui": {"resourceUri": "ui://gone"}}:
        assert faults == []
        return
    [error] = faults
    assert error.id == "django_mcp.E006"
    assert error.msg == (
        "The tool 'orders' (tests.catalogue.test_ui.orders) has the page 'ui://gone', which is no resource of 'fresh'."
    )
    assert error.hint == 'Write @ui.resource("ui://gone") above the function that returns the page.'
