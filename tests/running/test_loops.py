"""What is kept for an event loop goes when the loop is gone."""

import asyncio
import gc
import weakref

import pytest

from django_mcp.events.hub import hub
from django_mcp.transports.journal import journal_of
from django_mcp.transports.replies import waiting_here


def journal_here():
    return journal_of(asyncio.get_running_loop())


@pytest.mark.parametrize("make", [hub, journal_here, waiting_here])
def test_loops_that_have_ended_are_not_kept(make):
    loops = []

    async def ask():
        loops.append(weakref.ref(asyncio.get_running_loop()))
        assert make() is make()

    for _ in range(20):
        asyncio.run(ask())
    gc.collect()
    assert sum(loop() is not None for loop in loops) <= 1


def test_loops_that_run_keep_what_they_have():
    async def ask():
        return journal_here()

    one, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    first = one.run_until_complete(ask())
    assert other.run_until_complete(ask()) is not first
    assert one.run_until_complete(ask()) is first
    for loop in (one, other):
        loop.close()
