"""What async code returns is converted where the database may be asked, on an event loop of its own, too."""

import asyncio

import pytest
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.handlers.asgi import ASGIHandler
from django.test import override_settings

from django_mcp import QuerySetCompleter, ResourceRows
from django_mcp.routing import MCPRouter
from django_mcp.running import close_lanes
from tests.catalogue.test_prompts import engine
from tests.wire.client import WireClient
from tests.wire.doors import ASGIDoor


class LoopDoor(ASGIDoor):
    """Without a synchronous ancestor, so that nothing runs inline."""

    def send(self, method, path, headers, body=b""):
        return asyncio.run(self._send(method, path, headers, [body]))


@pytest.fixture
def closing():
    """No thread is left to the tests that count them."""
    yield
    close_lanes(5)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("caller", "closing")
def test_rows_files_and_templates_come_from_async_code(server):
    """SEC-13."""
    User.objects.bulk_create(User(username=name) for name in ("ann", "bob"))
    server.page_size = 1

    async def rows():
        return ResourceRows(User.objects.order_by("username"), lambda user: {"name": user.username})

    async def some(context):
        return await User.objects.aexists()

    @server.resource_template("user://{name}", list_resources=rows, visible=some)
    async def user(name):
        return ContentFile(name, name="a.txt")

    @server.prompt(template_name="query.md", complete={"x": QuerySetCompleter(User, "username")})
    async def users(x=""):
        return {"users": User.objects.order_by("username")}

    client = WireClient(LoopDoor(MCPRouter(ASGIHandler())))
    listed = client.modern("resources/list").result
    assert [one["uri"] for one in listed["resources"]] == ["user://ann"]
    again = client.modern("resources/list", {"cursor": listed["nextCursor"]}).result
    assert [one["uri"] for one in again["resources"]] == ["user://bob"]
    assert client.modern("resources/read", {"uri": "user://ann"}).result["contents"][0]["text"] == "ann"
    with override_settings(TEMPLATES=[engine()]):
        [message] = client.modern("prompts/get", {"name": "users"}).result["messages"]
    assert message["content"]["text"] == "ann bob "
    params = {"ref": {"type": "ref/prompt", "name": "users"}, "argument": {"name": "x", "value": "B"}}
    assert client.modern("completion/complete", params).result["completion"]["values"] == ["bob"]
