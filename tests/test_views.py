"""The view under an ASGI handler of Django's, as far as it is its own."""

import asyncio
import json
from io import BytesIO
from typing import Any
from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync, iscoroutinefunction
from django.core.handlers.asgi import ASGIRequest
from django.http import UnreadablePostError
from django.test import RequestFactory, override_settings
from django.urls import clear_script_prefix, resolve, reverse

from django_mcp import default_server
from django_mcp.transports.exchange import HTTPExchange
from django_mcp.transports.messages import Response
from django_mcp.transports.shutdown import detached_exchanges
from django_mcp.transports.streams import open_streams
from django_mcp.views import Endpoint, Shelter, read_request
from tests.shop.mcp import gate
from tests.wire.client import META, MODERN, WireClient
from tests.wire.doors import AsyncViewDoor, scope_of

LIMIT = 30


@pytest.fixture(autouse=True)
def fresh_gate():
    gate.reset()
    yield
    gate.opened.set()


def request_of(name, session=None):
    params = {"name": name, "arguments": {}}
    pairs = [("Host", "testserver"), ("Content-Type", "application/json")]
    if session is None:
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        pairs += [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)]
    else:
        pairs.append(("Mcp-Session-Id", session))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return ASGIRequest(scope_of("POST", "/mcp", pairs), BytesIO(json.dumps(body).encode()))


@pytest.fixture
def session(db):
    client = WireClient(AsyncViewDoor())
    client.initialize()
    return client.session


def test_it_is_a_coroutine_function_where_a_loop_runs():
    endpoint = Endpoint(default_server)

    async def inside():
        return iscoroutinefunction(endpoint), endpoint._non_atomic_requests

    assert not iscoroutinefunction(endpoint)
    assert endpoint._non_atomic_requests == set()
    assert async_to_sync(inside)() == (True, {"default", "other"})
    assert endpoint.__name__ == "mcp_default"


@pytest.mark.django_db
def test_a_body_that_cannot_be_read_is_a_bad_request():
    class Torn(BytesIO):
        def read(self, *args):
            raise UnreadablePostError("torn")

    request = RequestFactory().post("/mcp", b"{}", content_type="application/json")
    request._stream = Torn()
    response = Endpoint(default_server)(request)
    assert response.status_code == 400
    assert json.loads(response.content)["error"]["code"] == -32600


@pytest.mark.django_db
def test_a_cancelled_modern_view_cancels_its_call():
    """MH-30: Django cancels the view when the client hangs up."""

    async def scenario():
        view = asyncio.create_task(Endpoint(default_server)(request_of("wait_at_gate")))
        await asyncio.to_thread(gate.entered.wait, LIMIT)
        view.cancel()
        with pytest.raises(asyncio.CancelledError):
            await view
        await asyncio.to_thread(gate.ended.wait, LIMIT)
        assert gate.outcome == "cancelled"

    async_to_sync(scenario)()


def test_a_cancelled_legacy_view_lets_its_call_finish(session):
    """LH-14."""

    async def scenario():
        view = asyncio.create_task(Endpoint(default_server)(request_of("wait_at_gate", session)))
        await asyncio.to_thread(gate.entered.wait, LIMIT)
        view.cancel()
        with pytest.raises(asyncio.CancelledError):
            await view
        assert len(detached_exchanges) == 1
        gate.opened.set()
        await detached_exchanges.drain(LIMIT)
        assert gate.outcome == "finished"

    async_to_sync(scenario)()


def test_a_stream_passes_the_middleware_uncompressed(session):
    """BL-089: GZipMiddleware would hold the events back."""
    middleware = ["django.middleware.gzip.GZipMiddleware"]

    async def scenario():
        from django.test.client import AsyncClientHandler, FakePayload

        pairs = [
            ("Host", "testserver"),
            ("Mcp-Session-Id", session),
            ("Accept", "text/event-stream"),
            ("Accept-Encoding", "gzip"),
        ]
        handler = AsyncClientHandler()
        response = await handler({**scope_of("GET", "/mcp", pairs), "_body_file": FakePayload(b"")})
        assert response.streaming
        assert not response.has_header("Content-Encoding")
        frames: Any = aiter(response)  # type: ignore[arg-type]  # the stubs know no streams here
        assert (await anext(frames)).startswith(b"id: g")
        assert len(open_streams) == 1
        response.close()
        assert len(open_streams) == 0

    with override_settings(MIDDLEWARE=middleware):
        async_to_sync(scenario)()


def test_urls_of_the_site_can_be_reversed_beside_the_endpoint():
    """Django asks every view of the URLconf for its name."""
    clear_script_prefix()  # a handler leaves the one of its last request behind
    assert reverse("admin:login") == "/admin/login/"
    assert reverse("django_mcp:endpoint") == "/mcp"
    assert resolve("/mcp").view_name == "django_mcp:endpoint"


def shelter(steps):
    request = RequestFactory().post("/mcp", b"{}", content_type="application/json")
    return Shelter(HTTPExchange(default_server, read_request(request, {}, can_stream=True)), steps)


def test_what_the_exchange_raises_is_raised_in_the_view():
    async def fail():
        raise UnreadablePostError

    async def main():
        await shelter(fail()).answer()

    with pytest.raises(UnreadablePostError):
        asyncio.run(main())


def test_a_stream_that_begins_after_the_answer_does_not_replace_it():
    first = Response(status=202)

    async def answer():
        return first

    async def main():
        sheltered = shelter(answer())
        assert await sheltered.answer() is first
        sheltered.start_stream(Mock())
        return await sheltered.answer()

    assert asyncio.run(main()) is first
