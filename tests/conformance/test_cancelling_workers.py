"""A legacy client cancels a call while several workers serve it: the notification may meet any of them (CAN-10)."""

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from .served import served

pytestmark = pytest.mark.integration

WORKERS = 4
LIMIT = 120
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


class Client:
    """A session, and connections of their own so that different workers are met."""

    def __init__(self, url: str) -> None:
        self.url = url.replace("/mcp", "/bugs")
        self.headers = dict(HEADERS)
        self.connections: list[httpx.AsyncClient] = []

    def connect(self) -> httpx.AsyncClient:
        """All requests through it meet one worker."""
        limits = httpx.Limits(max_connections=1, keepalive_expiry=LIMIT)
        self.connections.append(httpx.AsyncClient(limits=limits, timeout=LIMIT))
        return self.connections[-1]

    async def post(self, http: httpx.AsyncClient, message: dict[str, Any]) -> httpx.Response:
        return await http.post(self.url, json={"jsonrpc": "2.0", **message}, headers=self.headers)

    async def initialize(self) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "cancelling", "version": "1"},
        }
        answer = await self.post(self.connect(), {"id": 0, "method": "initialize", "params": params})
        self.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]

    async def call(self, number: int, tool: str, **arguments: Any) -> httpx.Response:
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": number}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        http = self.connect()
        return await http.send(http.build_request("POST", self.url, json=message, headers=self.headers), stream=True)

    async def reach_another(self, pid: int) -> httpx.AsyncClient:
        """A connection to another process than this one."""
        while True:
            http = self.connect()
            answer = await self.post(
                http, {"id": "who", "method": "tools/call", "params": {"name": "process", "arguments": {}}}
            )
            if answer.json()["result"]["structuredContent"]["pid"] != pid:
                return http

    async def cancel(self, http: httpx.AsyncClient, number: int | str) -> None:
        params = {"requestId": number, "reason": "changed my mind"}
        answer = await self.post(http, {"method": "notifications/cancelled", "params": params})
        assert (answer.status_code, answer.content) == (202, b"")

    async def close(self) -> None:
        for http in self.connections:
            await http.aclose()


def test_a_call_is_cancelled_through_another_worker(database):
    """BL-027, CAN-01, CAN-10: at once, and when the log is read for it already. What it wrote is rolled back."""

    async def steps(url):
        client = Client(url)
        await client.initialize()
        for number, is_watched in ((1, False), (2, True)):
            call = await client.call(number, "write_until_cancelled", name=f"user-{number}")
            lines = call.aiter_lines()
            pid = await anext(json.loads(line[6:])["params"]["message"] async for line in lines if line[6:7] == "{")
            another = await client.reach_another(int(pid))
            while is_watched and database.rows(LISTENERS) == [(0,)]:
                await asyncio.sleep(0.02)
            await client.cancel(another, f"{number}")  # another id
            await client.cancel(another, number)
            cancelled = time.monotonic()
            assert [line async for line in lines if line] == [": cancelled"]
            print(f"It took {time.monotonic() - cancelled:.3f} s, watched before: {is_watched}")
            await client.cancel(another, number)  # one that has ended
            await call.aclose()
        answer = await client.call(3, "count_users")
        assert "result" in json.loads(await answer.aread())
        await client.close()

    with served("uvicorn", WORKERS, DATABASE_URL=database.url) as site:
        asyncio.run(asyncio.wait_for(steps(site.url), LIMIT))
    assert database.rows("SELECT count(*) FROM auth_user WHERE username LIKE 'user-%'") == [(0,)]
    assert database.rows("SELECT count(*) FROM django_mcp_event WHERE kind = 'call.cancelled'") == [(6,)]
