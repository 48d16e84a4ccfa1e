"""Our place in front of the server's signal handlers."""

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest
from asgiref.sync import async_to_sync

from django_mcp.conf import mcp_settings
from django_mcp.transports import shutdown
from django_mcp.transports.shutdown import DetachedExchanges, SignalHook, call_previous, detached_exchanges
from django_mcp.transports.streams import current_task, open_streams


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in shutdown.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_ends_the_streams_and_reaches_the_server(handlers, monkeypatch):
    """BL-057: the server's own handler is always called."""
    seen = []
    monkeypatch.setattr(open_streams, "end_all", lambda: seen.append("streams"))
    monkeypatch.setattr(detached_exchanges, "cancel_all", lambda: seen.append("detached"))
    signal.signal(signal.SIGTERM, lambda number, stack: seen.append("server"))

    async def serve():
        hook = SignalHook()
        hook.install(0.0)
        hook.install(0.0)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(30):
            while "detached" not in seen:
                await asyncio.sleep(0)
        hook.uninstall()

    asyncio.run(serve())
    assert seen == ["streams", "server", "detached"]


def test_last_frames_leave_before_the_server_hears_of_it(handlers, monkeypatch):
    """SUB-08: daphne drops what is not written yet. A second signal goes straight on."""
    seen = []
    monkeypatch.setattr(shutdown, "FAREWELL", 0.01)
    monkeypatch.setattr(shutdown, "cancel_all", lambda: None)
    signal.signal(signal.SIGTERM, lambda number, stack: seen.append("server"))

    def farewell():
        seen.append("farewell")
        return b""

    async def serve():
        hook = SignalHook()
        hook.install(60.0)
        stream = open_streams.open("user:1", mcp_settings())
        stream.farewell = farewell
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(30):
            while "server" not in seen:
                await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0)
        hook.uninstall()
        stream.close()

    asyncio.run(serve())
    assert seen == ["farewell", "server", "server"]


def test_only_the_main_thread_may_take_the_place(handlers):
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=lambda: asyncio.run(_install()))
    thread.start()
    thread.join(30)
    assert signal.getsignal(signal.SIGTERM) is before


async def _install():
    SignalHook().install(0.0)


def test_without_a_handler_the_signal_does_what_it_does():
    code = (
        "import signal\n"
        "from django_mcp.transports.shutdown import call_previous\n"
        "call_previous(signal.SIG_IGN, signal.SIGTERM, None)\n"
        "call_previous(signal.SIG_DFL, signal.SIGTERM, None)\n"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    ended = subprocess.run([sys.executable, "-c", code], env=env, timeout=30, check=False)
    assert ended.returncode == -signal.SIGTERM


def test_the_default_action_is_put_back_and_taken(monkeypatch):
    taken = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: taken.append((number, handler)))
    monkeypatch.setattr(signal, "raise_signal", taken.append)
    call_previous(signal.SIG_DFL, signal.SIGTERM, None)
    assert taken == [(signal.SIGTERM, signal.SIG_DFL), signal.SIGTERM]


def test_an_ignored_signal_stays_ignored():
    call_previous(signal.SIG_IGN, signal.SIGTERM, None)


def test_detached_calls_end_with_the_process():
    async def scenario():
        detached = DetachedExchanges()
        task = asyncio.create_task(asyncio.Event().wait())
        assert detached.adopt(task, 1)
        assert detached.adopt(task, 1)  # counted already
        assert not detached.adopt(current_task(), 1)
        detached.cancel_all()
        await detached.drain(5)
        assert task.cancelled()
        await detached.drain(5)

    async_to_sync(scenario)()
