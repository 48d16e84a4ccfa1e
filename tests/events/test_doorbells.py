"""Doorbells: what shortens the wait, what breaks on the way, and what is used when."""

import asyncio
import threading
import time
from contextlib import contextmanager
from unittest.mock import patch

from django.db import connection
from django.test import SimpleTestCase, TransactionTestCase, override_settings

from django_mcp import events
from django_mcp.events import doorbells, layer_bell, postgres_bell
from django_mcp.events.kinds import Kind
from tests.events.hearing import LIMIT, listening

LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer"}}


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class FakeLayer:
    """A layer in which one process hears itself; ``faults`` are raised by the next calls."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.members = {}
        self.joined = self.sent = 0

    def fail(self):
        if self.faults:
            raise self.faults.pop(0)

    async def new_channel(self):
        return f"channel-{self.joined}"

    async def group_add(self, group, channel):
        self.fail()
        self.joined += 1
        self.members[channel] = asyncio.Queue()

    async def group_discard(self, group, channel):
        del self.members[channel]

    async def group_send(self, group, message):
        self.fail()
        self.sent += 1
        for queue in list(self.members.values()):
            queue.put_nowait(message)

    async def receive(self, channel):
        return await self.members[channel].get()


class LayerTests(SimpleTestCase):
    @contextmanager
    def hear(self, layer):
        with (
            override_settings(CHANNEL_LAYERS=LAYERS),
            patch.object(doorbells, "find_layer", lambda: layer),
            patch.object(layer_bell, "_BACK_OFF", (0.01, 0.02)),
        ):
            ear = doorbells.open_ear("default", "sqlite")
            try:
                yield ear
            finally:
                ear.close()

    def test_a_ring_reaches_the_group(self):
        layer = FakeLayer()
        with self.hear(layer) as ear:
            rang = threading.Event()
            until(lambda: ear.hears)
            end = doorbells.on_ring(rang.set)
            layer_bell.sender.ring()
            assert rang.wait(LIMIT)
            end()
            ear.close()
            until(lambda: not layer.members)
            assert not ear.hears

    def test_many_rings_are_few_messages(self):
        layer = FakeLayer()
        with self.hear(layer) as ear:
            until(lambda: ear.hears)
            before = layer.sent
            for _ in range(1000):
                doorbells.ring()
            layer_bell.sender.finish()
            assert 1 <= layer.sent - before < 100

    def test_a_layer_that_raises_is_joined_again(self):
        """channels-redis with redis-py 8 raises after five silent seconds."""
        layer = FakeLayer(ConnectionError("down"), TimeoutError("silent"))
        with self.hear(layer) as ear:
            until(lambda: ear.hears)
        assert not layer.faults

    def test_a_membership_is_renewed(self):
        layer = FakeLayer()
        with patch.object(layer_bell, "REJOIN_AFTER", 0.03), self.hear(layer):
            until(lambda: layer.joined > 2)

    def test_a_process_that_rang_nobody_ends_at_once(self):
        layer_bell.Sender().finish()

    def test_a_full_layer_is_no_error(self):
        """Events arrive with the next poll."""
        layer = FakeLayer()
        with self.hear(layer) as ear:
            until(lambda: ear.hears)
            layer.faults.append(RuntimeError("full"))
            doorbells.ring()
            layer_bell.sender.finish()
        assert not layer.faults

    def test_a_layer_in_memory_counts_as_none(self):
        memory = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
        for layers, expected in ((LAYERS, True), (memory, False), ({}, False), (None, False)):
            with self.subTest(layers=layers), override_settings(CHANNEL_LAYERS=layers):
                assert doorbells.has_layer() is expected

    @override_settings(DJANGO_MCP={"DOORBELL": "off"}, CHANNEL_LAYERS=LAYERS)
    def test_no_bell_is_used_where_it_is_off(self):
        ear = doorbells.open_ear("default", "postgresql")
        assert not ear.hears
        ear.close()
        with patch.object(layer_bell.sender, "ring") as ring:
            doorbells.ring()
        assert not ring.called


class PostgresTests(TransactionTestCase):
    def setUp(self):
        if connection.vendor != "postgresql":
            self.skipTest("LISTEN is PostgreSQL's")
        patcher = override_settings(CHANNEL_LAYERS={})
        patcher.enable()
        self.addCleanup(patcher.disable)
        self.rang = threading.Event()

    def open_ear(self):
        ear = postgres_bell.PostgresEar("default", self.rang.set)
        self.addCleanup(ear.close)
        return ear

    def test_a_publisher_is_heard(self):
        ear = self.open_ear()
        until(lambda: ear.hears)
        self.rang.clear()
        events.append(Kind.TOOLS_CHANGED)
        assert self.rang.wait(LIMIT)
        ear.close()
        until(lambda: not ear.hears)

    def test_an_entry_arrives_long_before_the_next_poll(self):
        with override_settings(DJANGO_MCP={"POLL_INTERVAL": 60}), listening() as heard:
            until(lambda: _listeners() > 0)
            with patch.object(doorbells, "ring_here"):
                events.append(Kind.TOOLS_CHANGED)
            heard.wait_for(1)

    def test_a_listener_that_was_killed_listens_again(self):
        ear = self.open_ear()
        until(lambda: ear.hears)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid != pg_backend_pid() AND query LIKE 'LISTEN%%'"
            )
        until(lambda: not ear.hears)
        until(lambda: ear.hears)

    def test_a_bell_that_is_not_heard_is_not_trusted(self):
        with (
            patch.object(postgres_bell.PostgresEar, "_is_proved", return_value=False),
            patch.object(postgres_bell, "LISTEN_FOR", 0.01),
        ):
            ear = self.open_ear()
            assert self.rang.wait(LIMIT)
            assert not ear.hears

    def test_the_connection_is_tried_in_between(self):
        with patch.object(postgres_bell, "LISTEN_FOR", 0.01):
            ear = self.open_ear()
            until(lambda: ear.hears)
            time.sleep(0.05)
            assert ear.hears

    def test_an_older_driver_is_deaf(self):
        ear = None
        with patch.object(postgres_bell, "_can_listen", return_value=False):
            ear = self.open_ear()
            ear._thread.join(LIMIT)
        assert not ear.hears


def _listeners():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
        )
        return cursor.fetchone()[0]
