"""What a hostile tester broke once: shutdown, hang-ups and code that raises what it should not."""

import asyncio
import json
import signal
import threading
from io import BytesIO
from typing import Any
from unittest.mock import patch

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.asgi import ASGIRequest
from django.db import OperationalError, connections, transaction

from django_mcp import default_server
from django_mcp.running import Runner, close_lanes, exchange, run_store, step
from django_mcp.running.runs import guarded
from django_mcp.server.call import Locale
from django_mcp.transports import streams, sweeps
from django_mcp.transports.shutdown import RunningExchanges, SignalHook, attached_exchanges
from django_mcp.transports.streams import open_streams
from django_mcp.views import Endpoint
from tests.running.doors import invocation
from tests.shop.mcp import gate
from tests.shop.models import Product
from tests.test_views import request_of
from tests.wire.doors import scope_of
from tests.wire.test_connections import Connection, happened, in_a_loop, stream_headers, tool_call

LIMIT = 30


class Panic(BaseException):
    """What extension modules raise past ``except Exception``."""


@pytest.mark.parametrize("is_legacy", [True, False])
def test_a_call_that_the_end_of_the_process_cuts_short_is_answered(session, is_legacy):
    """A server waits for open responses, so one slow tool kept the process alive for as long as it ran."""

    async def scenario():
        connection = tool_call("wait_at_gate", session=session if is_legacy else None)
        await happened(gate.entered)
        assert len(attached_exchanges) == 1
        attached_exchanges.cancel_all()
        await connection.ended()
        start, body = connection.sent
        assert start["status"] == 503
        assert json.loads(body["body"])["error"]["code"] == -32603
        assert (gate.outcome, len(attached_exchanges)) == ("cancelled", 0)

    async_to_sync(scenario)()


@pytest.mark.django_db
@in_a_loop
async def test_the_view_answers_a_call_that_is_cut_short():
    view = asyncio.create_task(Endpoint(default_server)._serve_async(request_of("wait_at_gate"), {}))
    await happened(gate.entered)
    attached_exchanges.cancel_all()
    async with asyncio.timeout(LIMIT):
        response = await view
    assert response.status_code == 503
    assert gate.outcome == "cancelled"


@pytest.mark.django_db
@in_a_loop
async def test_the_view_answers_nobody_when_its_loop_cancels_everything():
    """As asyncio.run() does at its end: what is sent then finds the connection closed."""
    view = asyncio.create_task(Endpoint(default_server)._serve_async(request_of("wait_at_gate"), {}))
    await happened(gate.entered)
    attached_exchanges.cancel_all()
    await asyncio.sleep(0)
    view.cancel()
    with pytest.raises(asyncio.CancelledError):
        await view


def test_exchanges_of_a_loop_that_has_ended_are_passed_over():
    async def leave_behind():
        running = RunningExchanges()
        task: Any = asyncio.current_task()
        running._tasks.add(task)
        return running

    asyncio.run(leave_behind()).cancel_all()


def test_a_signal_reaches_the_server_after_the_loop_has_ended():
    """A loop that was closed made our handler raise, and the one behind it was never called."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    seen = []
    hook = SignalHook()
    try:
        signal.signal(signal.SIGTERM, lambda number, stack: seen.append(number))

        async def install():
            hook.install(0.0)
            return open_streams.open("user:1", default_server.settings)

        stream = asyncio.run(install())
        signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
        stream.close()
        stream.close()
    finally:
        hook.uninstall()
        for number, handler in before.items():
            signal.signal(number, handler)


@in_a_loop
async def test_a_stream_whose_response_django_drops_gives_its_place_back(session, monkeypatch):
    """The client left while middleware still had the response: nothing closes it (BL-058)."""
    monkeypatch.setattr(sweeps, "SWEEP_EVERY", 0.01)
    scope = scope_of("GET", "/mcp", [("Host", "testserver"), *stream_headers(session)])
    response = await Endpoint(default_server)._serve_async(ASGIRequest(scope, BytesIO()), {})
    assert len(open_streams) == 1
    del response
    monkeypatch.setattr(streams, "START_WITHIN", 0.0)
    async with asyncio.timeout(LIMIT):
        while len(open_streams):
            await asyncio.sleep(0.01)


@pytest.mark.django_db
@in_a_loop
async def test_a_content_length_of_thousands_of_digits_is_too_large():
    connection = Connection(headers=[("Content-Length", "9" * 5000)])
    await connection.ended()
    assert connection.sent[0]["status"] == 413


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, SystemExit])
def test_what_site_code_raises_on_a_thread_is_an_ordinary_exception(error):
    def fail():
        raise error

    caught = []

    def run():
        try:
            guarded(fail)
        except RuntimeError as ordinary:
            caught.append(ordinary)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(LIMIT)
    assert len(caught) == 1


def test_an_interrupt_on_the_main_thread_is_for_the_process():
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(fail)


@pytest.mark.parametrize("error", [Panic, BaseExceptionGroup("several", [Panic()])])
def test_what_is_raised_past_except_exception_is_answered_in_json(client, error):
    with patch.object(Runner, "run", side_effect=error):
        answer = client.modern("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    assert (answer.status, answer.json["error"]["code"]) == (500, -32603)


@pytest.mark.django_db(transaction=True)
def test_a_hook_that_fails_after_the_transaction_of_a_request_leaves_the_result_good():
    """ATOMIC_REQUESTS under WSGI: the data was committed, and the answer was a page with status 500."""

    def body():
        Product.objects.create(name="pen")
        transaction.on_commit(fail)

    def fail():
        raise ValueError("hook")

    async def call():
        async with exchange():
            return await Runner().run(invocation(body), Locale())

    with transaction.atomic():
        step(call())
    assert [product.name for product in Product.objects.all()] == ["pen"]


@pytest.mark.django_db(transaction=True)
def test_a_read_of_ours_whose_new_connection_is_cut_is_tried_once_more():
    """With CONN_MAX_AGE 0, or in a pool, the connection that is cut was opened by the read itself."""
    attempts = []

    def read():
        attempts.append(Product.objects.count())
        if len(attempts) == 1:
            raise OperationalError("server closed the connection unexpectedly")
        return "read"

    close_lanes()  # so that the thread has no connection yet
    try:
        with patch.object(type(connections["default"]), "is_usable", return_value=False):
            assert asyncio.run(run_store(read)) == "read"
    finally:
        close_lanes()
    assert attempts == [0, 0]
    connections.close_all()
