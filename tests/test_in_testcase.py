"""A site's own tests of its tools, in Django's ``TestCase``: they see its rows and leave none.

Every test starts from the one row of ``setUpTestData`` and would notice what another one left.
"""

import json

from channels.testing import HttpCommunicator
from django.contrib.auth.models import User
from django.test import TestCase

from django_mcp.consumers import MCPConsumer
from tests.wire.client import META, MODERN


def body_of(name, arguments):
    meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def headers_of(name):
    return {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}


class ToolTests(TestCase):
    @classmethod
    def setUpTestData(cls):
        User.objects.create(username="here before")

    def setUp(self):
        assert User.objects.count() == 1

    def call(self, name, /, **arguments):
        response = self.client.post(
            "/mcp", body_of(name, arguments), content_type="application/json", headers=headers_of(name)
        )
        return response.json()["result"]

    async def acall(self, name, /, **arguments):
        response = await self.async_client.post(
            "/mcp", body_of(name, arguments), content_type="application/json", headers=headers_of(name)
        )
        return response.json()["result"]

    async def acall_consumer(self, name, /, **arguments):
        pairs = {**headers_of(name), "Host": "testserver", "Content-Type": "application/json"}
        communicator = HttpCommunicator(
            MCPConsumer.as_asgi(),
            "POST",
            "/mcp",
            body=json.dumps(body_of(name, arguments)).encode(),
            headers=[(key.lower().encode(), value.encode()) for key, value in pairs.items()],
        )
        response = await communicator.get_response(timeout=30)
        return json.loads(response["body"])["result"]

    def test_the_client_sees_what_tools_write(self):
        assert self.call("count_rows")["structuredContent"] == 1
        self.call("make_row", name="ann")
        self.call("amake_row", name="bob")
        assert self.call("make_row_then_boom", name="eve")["isError"]
        assert self.call("count_rows")["structuredContent"] == User.objects.count() == 3

    async def test_the_async_client_sees_what_tools_write(self):
        await User.objects.acreate(username="made in the test")
        assert (await self.acall("count_rows"))["structuredContent"] == 2
        await self.acall("make_row", name="ann")
        await self.acall("amake_row", name="bob")
        assert (await self.acall("make_row_then_boom", name="eve"))["isError"]
        assert await User.objects.acount() == 4

    async def test_the_communicator_sees_what_tools_write(self):
        await User.objects.acreate(username="made in the test")
        assert (await self.acall_consumer("count_rows"))["structuredContent"] == 2
        await self.acall_consumer("make_row", name="ann")
        await self.acall_consumer("amake_row", name="bob")
        assert (await self.acall_consumer("make_row_then_boom", name="eve"))["isError"]
        assert await User.objects.acount() == 4
