"""Work that is to outlive the request: a call commits it and hands it on, and the client asks for it by a handle."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.urls import path

from django_mcp import MCPServer
from django_mcp.running import close_lanes
from tests.shop.mcp import gate

from .live import happened, modern

server = MCPServer("durable")
urlpatterns = [path("mcp", server.urls)]
queue: list[int] = []


@server.tool
def start(early: bool = False) -> dict[str, int]:
    """Write down what is to be done, and have somebody else do it after the commit."""
    job = Group.objects.create(name="waiting")
    if early:
        wait()
    else:
        transaction.on_commit(wait)
    transaction.on_commit(partial(queue.append, job.pk))
    return {"job": job.pk}


def wait() -> None:
    """Until the client has gone."""
    gate.entered.set()
    gate.opened.wait(30)


@server.tool
def state(job: int) -> str:
    """How it stands."""
    return Group.objects.get(pk=job).name


@pytest.fixture
def durable_site(settings):
    settings.ROOT_URLCONF = "tests.talking.test_durable"
    queue.clear()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("early", [True, False])
def test_work_that_was_handed_on_does_not_end_with_the_request(door, durable_site, early):
    """CAN-05, CAN-11: all of it or nothing, as the call was committed when its client left, or not."""

    async def steps():
        call = modern(door, "start", {"early": early})
        await happened(gate.entered)
        call.hang_up()
        await call.ended()
        gate.opened.set()
        await asyncio.to_thread(close_lanes, 30)  # waits for the thread that was abandoned
        for job in queue:
            [answer] = await modern(door, "state", {"job": job}).answer()
            assert answer["result"]["content"][0]["text"] == "waiting"

    asyncio.run(steps())
    close_lanes()
    assert Group.objects.count() == len(queue) == (0 if early else 1)
