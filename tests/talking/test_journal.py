"""Who writes what calls have sent, and what happens when he cannot, or is gone."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest
from django.db import OperationalError
from django.utils import timezone

from django_mcp.events import call_streams
from django_mcp.events.call_streams import Saved, State
from django_mcp.models import CallStream, Session, StreamChunk, Worker
from django_mcp.transports import journal, outages, outbound, post_streams, shutdown
from django_mcp.transports.event_ids import POST, Place
from django_mcp.transports.journal import Journal, journal_of
from django_mcp.transports.post_streams import Resumption
from django_mcp.transports.recording import Recording

from .resuming import ResumeTestCase, as_another_worker, begin, progress, relaying, rest, stored, until, written
from .resuming_site import script

KEY, OTHER = "a" * 24, "b" * 24
WORKER = "w" * 24


def a_recording(room=100):
    return Recording(1, "1", room, ring=Mock(), on_wanted=Mock())


class JournalTests(ResumeTestCase):
    def test_a_database_that_is_away_is_tried_again(self):
        async def scenario(site):
            session = await site.session()
            with (
                patch.object(call_streams, "save", side_effect=OperationalError("away")) as save,
                patch.object(journal, "LONGEST_PAUSE", 0.01),
                self.assertLogs("django_mcp.http", "WARNING") as logs,
            ):
                for name in "ab":
                    stream = begin(session, "relay", {"name": name})
                    script.say(name, 1, None)
                    await rest(stream)
                await until(lambda: save.call_count > 3)
            assert "next try in 0.0 s: away" in logs.output[0]
            await written()
            head = stream.body.decode().split("\n")[0].removeprefix("id: ")
            assert progress(await rest(await session.get(head))) == [1]

        self.play(scenario)

    def test_what_can_never_be_written_is_given_up(self):
        async def scenario(site):
            session = await site.session()
            with (
                patch.object(call_streams, "save", side_effect=OperationalError("too large")),
                patch.object(journal, "GIVE_UP", 0.0),
                self.assertLogs("django_mcp.http", "WARNING") as logs,
            ):
                stream = begin(session, "relay")
                script.say("a", 1, None)
                await rest(stream)
                await written()
            assert logs.output[-1].endswith("What a call has sent was given up")

        self.play(scenario)

    def test_a_call_whose_session_ends_is_forgotten(self):
        async def scenario(site):
            session, stream, head = await relaying(site)
            stream.hang_up()
            await stream.ended()
            again = await session.get(head.id)
            assert progress(await again.messages(1)) == [1]
            await site.request("DELETE", session.headers).ended()
            await rest(again)
            script.say("a", None)
            await written()
            assert not await CallStream.objects.aexists()

        self.play(scenario)

    def test_batches_are_bounded(self):
        recordings = [a_recording(10_000) for _ in range(5)]
        for recording in recordings:
            recording.add(b"x" * 10)
            recording.end(None)
        loop = Mock()
        own = Journal(loop)
        for recording in [*recordings, a_recording()]:
            own.follow(recording)
        for name, value in (("BATCH", 2), ("BATCH_BYTES", 25)):
            with patch.object(journal, name, value):
                assert [len(batch) for batch in own._batches(0.0)] == [2, 2, 1]
        own._pause = 1.0
        assert [len(batch) for batch in own._batches(0.0)] == [1] * 5
        for coroutine in (call.args[0] for call in loop.create_task.call_args_list):
            coroutine.close()

    def test_after_an_outage_all_is_written_together_again(self):
        """Meanwhile one call at a time is tried, and none after one that fails."""
        said = []
        failures = [OperationalError("away")] * 2

        async def save(function, worker, batch, watched):
            said.append(len(batch))
            if failures:
                raise failures.pop()
            return Saved(frozenset(), frozenset())

        async def steps():
            own = Journal(Mock())
            for tries in (3, 1):
                for _ in range(3):
                    recording = a_recording()
                    recording.end(None)
                    own._recordings[recording.key] = recording
                for _ in range(tries):
                    await own._write()

        with (
            patch.object(journal, "write_store", save),
            patch.object(journal, "BATCH", 2),
            self.assertLogs("django_mcp.http", "WARNING"),
        ):
            asyncio.run(steps())
        assert said == [2, 1, 1, 1, 1, 2, 1]

    def test_a_loop_that_has_ended_is_told_nothing(self):
        loop = asyncio.new_event_loop()
        own = journal_of(loop)
        own._recordings[KEY] = Mock()
        loop.close()
        own.ring()
        journal.want_here(KEY)
        journal.want_here(OTHER)
        own.want(OTHER)
        journal.close_journals()
        own._recordings.clear()


class EndOfProcessTests(ResumeTestCase):
    def test_an_answer_is_written_before_its_stream_ends(self):
        """Or not much later, where nobody can write."""

        async def scenario(site):
            session = await site.session()
            for can_write in (True, False):
                stream = begin(session, "relay")
                script.say("a", 1)
                head = await stream.frame()
                journal.close_journals()
                if can_write:
                    script.say("a", None)
                    await stream.ended()
                    assert await StreamChunk.objects.filter(stream=head.id[1:25], final=True).aexists()
                else:
                    with (
                        patch.object(call_streams, "save", side_effect=OperationalError("away")),
                        patch.object(outbound, "FLUSH_WITHIN", 0.01),
                        self.assertLogs("django_mcp.http", "WARNING") as logs,
                    ):
                        script.say("a", None)
                        await stream.ended()
                        await until(lambda: logs.output)
                assert progress(stream.waiting) == [1]
                assert "result" in stream.waiting[-1]

        self.play(scenario)

    def test_calls_that_run_on_have_their_end_written(self):
        """At the end of the lifespan: what the client has not seen, it finds at another worker."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay", id="x")
            script.say("a", 1)
            head = await stream.frame()
            stream.hang_up()
            await stream.ended()
            await shutdown.shut_down(0.01)
            with as_another_worker():
                notice, answer = await rest(await session.get(head.id))
            assert progress([notice]) == [1]
            assert answer["id"] == "x"
            assert answer["error"] == {"code": -32603, "message": "The server is shutting down"}

        self.play(scenario)

    def test_the_call_of_a_worker_that_died_is_answered(self):
        async def scenario(site):
            session = await site.session()
            row = await Session.objects.aget()
            for request, ids in (('"x"', ["x"]), ("[1, 2]", [1, 2])):
                await Worker.objects.all().adelete()
                await Worker.objects.acreate(pk=WORKER, beat=timezone.now())
                await CallStream.objects.acreate(pk=KEY, session=row, worker_id=WORKER, request=request)
                await StreamChunk.objects.acreate(stream_id=KEY, first=1, last=1, final=False, body=b'{"a":1}')
                for _ in range(2):
                    again = await session.get(f"p{KEY}.0")
                    notice, answer = await rest(again)
                    assert notice == {"a": 1}
                    answers = answer if isinstance(answer, list) else [answer]
                    assert [each["id"] for each in answers] == ids
                    assert {each["error"]["code"] for each in answers} == {-32603}
                    assert answers[0]["error"]["message"] == "The worker that ran this call is gone."

        with patch.object(post_streams, "BEAT", 0.05):
            self.play(scenario)


@pytest.fixture
def clock():
    clock = SimpleNamespace(now=100.0)
    with patch.object(post_streams, "time", SimpleNamespace(monotonic=lambda: clock.now)):
        yield clock


def test_a_worker_is_dead_when_it_could_say_something_and_does_not(clock):
    """On SQLite one writer keeps all others from writing."""

    async def steps():
        resumption = Resumption(Mock(), Mock(), 1, Place(POST, KEY, 0))
        states = [State("1", "", None, timezone.now() + timedelta(seconds=each)) for each in range(2)]

        async def is_orphaned(after, state=states[1]):
            clock.now += after
            return await resumption._is_orphaned(state)

        async def write(function, *arguments):
            clock.now += delays.pop()
            if not delays:
                raise OperationalError("locked")

        delays = [0.0, 0.0, 2.0, 0.0]
        with patch.object(post_streams, "write_store", write):
            assert not await is_orphaned(0, states[0])
            assert not await is_orphaned(5)  # which is a sign of life
            assert not await is_orphaned(4)
            assert not await is_orphaned(1)  # asks, and the database answers
            assert not await is_orphaned(0.9)
            assert await is_orphaned(0.2)
            assert not await is_orphaned(0, states[0])
            assert not await is_orphaned(5, states[0])  # takes two seconds, so others may have been waiting
            assert not await is_orphaned(4, states[0])
            delays[:] = [0.0]
            assert not await is_orphaned(1, states[0])  # cannot ask
            assert not await is_orphaned(4, states[0])

    asyncio.run(steps())


def test_a_worker_is_given_its_time_after_the_database_was_away(clock):
    """It could not give a sign of life meanwhile, and tries again less often than it would give one."""

    async def steps():
        resumption = Resumption(Mock(), Mock(), 1, Place(POST, KEY, 0))
        state = State("1", "", None, timezone.now())
        outcomes = iter([False, OperationalError("away"), True])

        async def look():
            outcome = next(outcomes)
            if isinstance(outcome, Exception):
                clock.now += 60
                raise outcome
            assert not await resumption._is_orphaned(state)
            return outcome, True

        with patch.object(resumption, "_look", look), patch.object(post_streams, "write_store") as write:
            await resumption._read()
        assert not write.called

    asyncio.run(steps())


class TroubleTests(ResumeTestCase):
    def test_rows_that_cannot_be_read_are_read_later(self):
        async def scenario(site):
            session, stream, head = await relaying(site)
            await stored(head.id)
            read, claim = call_streams.read, call_streams.claim
            failures = [OperationalError("away")] * 4
            tries = [OperationalError("locked")] * 4

            def reads(*arguments):
                if failures:
                    raise failures.pop()
                return read(*arguments)

            def claims(*arguments):
                if tries:
                    raise tries.pop()
                return claim(*arguments)

            with (
                patch.object(call_streams, "read", reads),
                patch.object(call_streams, "claim", claims),
                patch.object(outages, "PAUSES", (0.001, 0.004)),
                self.assertLogs("django_mcp.http", "INFO") as logs,
            ):
                again = await session.get(head.id)
                await stream.ended()
                script.say("a", None)
                messages = await rest(again)
            assert progress(messages) == [1]
            assert [line.partition(":django_mcp.http:")[2] for line in logs.output] == [
                "What a call has sent cannot be read, which is tried again: away",
                "What a call has sent is read again",
                "Others cannot be told of a resumed stream, which is tried again: locked",
                "Others were told of a resumed stream",
            ]

        self.play(scenario)

    def test_a_fault_of_ours_ends_the_stream(self):
        async def scenario(site):
            session, stream, head = await relaying(site)
            with (
                patch.object(call_streams, "read", side_effect=ValueError),
                self.assertLogs("django_mcp.http", "ERROR"),
            ):
                assert await rest(await session.get(head.id)) == []
            script.say("a", None)
            assert progress(await rest(stream)) == [1]

        self.play(scenario)
