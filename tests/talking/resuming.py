"""Streams of legacy calls that break, and the clients that come back to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.test import override_settings

from django_mcp.models import CallStream
from django_mcp.transports import journal, post_streams
from tests.events.streaming import Session, Site, StreamTestCase

from .resuming_site import asked, script

CAPABILITIES = {"elicitation": {}}


class ResumeTestCase(StreamTestCase):
    """``begin`` starts a call whose stream the test reads, breaks and resumes."""

    def setUp(self) -> None:
        super().setUp()
        overridden = override_settings(ROOT_URLCONF="tests.talking.resuming_site")
        overridden.enable()
        self.addCleanup(overridden.disable)
        asked.clear()

    def play(self, scenario: Any, **options: Any) -> Any:
        async def and_wait_for_the_journal(site: Site) -> Any:
            script.reset()
            result = await scenario(site)
            for stream in site.streams:
                stream.hang_up()
            await written(ended=False)
            return result

        return super().play(and_wait_for_the_journal, **options)


def begin(session: Session, tool: str, arguments: dict[str, Any] | None = None, *, id: Any = 1) -> Any:
    params = {"name": tool, "arguments": arguments or {}, "_meta": {"progressToken": "t"}}
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    return session.site.request("POST", session.headers, json.dumps(message).encode())


async def relaying(site: Site) -> tuple[Session, Any, Any]:
    """A call that has sent a message and goes on: its session, its stream and the first frame of that."""
    session = await site.session()
    stream = begin(session, "relay")
    script.say("a", 1)
    return session, stream, await stream.frame()


async def written(*, ended: bool = True) -> None:
    """Everything is in the rows that calls have sent which have ended, or all of them end soon."""
    for one in list(journal._journals.values()):
        if one._loop is asyncio.get_running_loop():
            if ended:
                await one.drain(20)
            else:
                async with asyncio.timeout(20):
                    while len(one):
                        one.ring()
                        await asyncio.sleep(0.005)


async def stored(event_id: str) -> None:
    """The row of a stream is there."""
    key = event_id.partition(".")[0].removeprefix("p")
    async with asyncio.timeout(20):
        while not await CallStream.objects.filter(pk=key).aexists():
            await asyncio.sleep(0.005)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


@contextmanager
def as_another_worker():
    """Resume as a process would that does not run the call."""
    with patch.object(post_streams, "find_here", return_value=None), patch.object(post_streams, "want_here"):
        yield


def progress(messages: list[Any]) -> list[float]:
    return [message["params"]["progress"] for message in messages if message.get("method") == "notifications/progress"]


async def rest(stream: Any) -> list[Any]:
    """The messages until the server ends the stream."""
    await stream.ended()
    messages: list[Any] = stream.waiting
    return messages
