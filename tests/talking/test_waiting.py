"""How those who have come back wait for the rest: not longer than they must, and without asking all the time."""

from __future__ import annotations

import asyncio
from unittest.mock import AsyncMock, Mock, patch

from django.db import OperationalError
from django.utils import timezone

from django_mcp.events.call_streams import Chunk, State
from django_mcp.transports import outages, post_streams
from django_mcp.transports.event_ids import POST, Place
from django_mcp.transports.post_streams import Resumption

from .resuming import ResumeTestCase, progress, relaying, rest
from .resuming_site import script

KEY = "a" * 24


class WaitingTests(ResumeTestCase):
    def test_what_this_process_has_written_is_read_at_once(self):
        """However long the pauses are."""

        async def scenario(site):
            session, _stream, head = await relaying(site)
            again = await session.get(head.id)
            assert progress(await again.messages(1)) == [1]
            for number in (2, 3):
                script.say("a", number)
                assert progress(await again.messages(1)) == [number]
            script.say("a", "close")
            await again.ended()
            again = await session.get(head.id)
            assert progress(await again.messages(3)) == [1, 2, 3]
            newer = await session.get(head.id)
            await again.ended()
            script.say("a", None)
            assert (await rest(newer))[-1]["id"] == 1
            assert again.waiting == []

        with patch.object(post_streams, "PAUSES", (1000.0, 1000.0)), patch.object(post_streams, "WITH_BELL", 1000.0):
            self.play(scenario)


def test_an_outage_is_waited_for_ever_longer_and_told_once(caplog):
    outage = outages.Outage("It is away", "It is back")
    with caplog.at_level("INFO", "django_mcp.http"):
        for _ in range(2):
            assert [outage.failed(OperationalError("why")) for _ in range(7)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
            outage.succeeded()
            outage.succeeded()
    assert caplog.messages == ["It is away, which is tried again: why", "It is back"] * 2


def test_who_waits_for_a_call_elsewhere_looks_ever_less_often():
    pauses = []
    stream = Mock(is_open=True)

    async def wait(resumption, pause):
        pauses.append(pause)
        stream.is_open = len(pauses) < 40

    async def steps():
        resumption = Resumption(stream, Mock(), 1, Place(POST, KEY, 0))
        resumption._claim = Mock(done=Mock(return_value=False))
        state = State("1", "", None, timezone.now())
        with (
            patch.object(post_streams, "run_store", AsyncMock(return_value=(state, []))),
            patch.object(Resumption, "_wait", wait),
        ):
            await resumption.run()

    asyncio.run(steps())
    assert (min(pauses), max(pauses)) == (pauses[0], pauses[-1])
    assert pauses[-1] == 0.5
    late = [pause for number, pause in enumerate(pauses) if pause > 0.02 + sum(pauses[:number]) / 5]
    assert late == []


def test_whoever_is_replaced_gets_nothing_of_the_rest():
    """LH-19: what was written meanwhile goes to the one who came after him."""
    stream = Mock()
    resumption = Resumption(stream, Mock(), 1, Place(POST, KEY, 0))
    resumption._claim = Mock(done=Mock(return_value=True))
    found = State("1", "newer", None, timezone.now()), [Chunk(1, 1, True, [b"1"])]
    with patch.object(post_streams, "run_store", AsyncMock(return_value=found)):
        assert asyncio.run(resumption._look()) == (True, False)
    assert not stream.put.called


def test_a_client_that_leaves_again_stops_the_replay():
    stream = Mock(drained=AsyncMock(side_effect=[True, False]))
    resumption = Resumption(stream, Mock(), 1, Place(POST, KEY, 0))
    asyncio.run(resumption._send(Chunk(1, 3, True, [b"1", b"2", b"3"])))
    assert stream.put.call_count == 1
    assert resumption._last == 1
