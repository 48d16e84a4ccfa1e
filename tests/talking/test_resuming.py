"""A client that lost the stream of its call comes back and gets the rest, once."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from unittest.mock import patch

from django.core.handlers.asgi import ASGIHandler

import django_mcp
from django_mcp.events.tail import reader
from django_mcp.models import CallStream
from django_mcp.transports import cancellation, journal, post_streams
from tests.events.streaming import FAST

from .resuming import ResumeTestCase, as_another_worker, begin, progress, relaying, rest, stored, until, written
from .resuming_site import script


class ResumeTests(ResumeTestCase):
    """LH-14, LH-24, LH-26, W4"""

    def test_the_rest_and_the_answer_come_once(self):
        """LH-18, LH-22, LH-23, S220: on the stream that asks for them, whichever worker it meets."""

        async def scenario(site):
            session = await site.session()
            for number, here in enumerate((True, False)):
                stream = begin(session, "relay", {"name": str(number)}, id=number)
                script.say(str(number), 1, 2)
                frames = [await stream.frame() for _ in range(3)]
                key = frames[0].id.removesuffix(".0")
                assert [frame.id for frame in frames] == [f"{key}.{n}" for n in range(3)]
                stream.hang_up()
                await stream.ended()
                script.say(str(number), 3, 4)
                if here:
                    again = await session.get(frames[1].id)
                else:
                    with as_another_worker():
                        again = await session.get(frames[1].id)
                assert (await again.frame()).id == frames[1].id
                assert progress(await again.messages(3)) == [2, 3, 4]
                script.say(str(number), 5, None)
                messages = await rest(again)
                assert progress(messages) == [5]
                assert messages[-1]["id"] == number
                assert messages[-1]["result"]["content"][0]["text"] == f"done {number}"
                assert again.is_complete

        self.play(scenario)

    def test_a_break_that_the_worker_does_not_see_is_heard_of(self):
        """Through the log where it is read, and by a look at the rows every second anyway."""

        async def scenario(site):
            session = await site.session()
            for name in ("log", "rows"):
                with ExitStack() as stack:
                    if name == "log":
                        stack.enter_context(patch.object(cancellation, "WATCH_AFTER", 0.01))
                        stack.enter_context(patch.object(journal, "BEAT", 1000))
                    else:
                        stack.enter_context(patch.object(journal, "_hear"))
                        stack.enter_context(patch.object(journal, "BEAT", 0.01))
                    stream = begin(session, "relay", {"name": name})
                    script.say(name, 1)
                    head, first = await stream.frame(), await stream.frame()
                    await stored(head.id)
                    if name == "log":
                        await until(lambda: reader.is_running)
                    with as_another_worker():
                        again = await session.get(first.id)
                        await stream.ended()
                    assert stream.is_complete
                    script.say(name, 2, None)
                    messages = await rest(again)
                    assert progress(messages) == [2]
                    assert "result" in messages[-1]
                    assert progress(stream.waiting) == []

        self.play(scenario)

    def test_the_last_one_who_comes_back_gets_the_rest(self):
        """LH-19"""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay")
            script.say("a", 1)
            head, first = await stream.frame(), await stream.frame()
            stream.hang_up()
            await stream.ended()
            with as_another_worker():
                older = await session.get(head.id)
                assert progress(await older.messages(1)) == [1]
                newer = await session.get(first.id)
                await older.ended()
                script.say("a", 2, None)
                messages = await rest(newer)
            assert progress(messages) == [2]
            assert messages[-1]["result"]["content"][0]["text"] == "done a"
            assert older.waiting == []

        self.play(scenario)

    def test_two_streams_at_once_are_not_mixed(self):
        """BL-053, LH-20, LH-25"""

        async def scenario(site):
            session = await site.session()
            one, other = begin(session, "relay", {"name": "a"}, id="1"), begin(session, "relay", {"name": "b"}, id=1)
            script.say("a", 1, 2, 3)
            script.say("b", 11, 12, 13)
            first = [await one.frame() for _ in range(2)][-1]
            await other.frame()
            one.hang_up()
            await one.ended()
            script.say("a", 4, None)
            script.say("b", None)
            messages = await rest(await session.get(first.id))
            assert progress(messages) == [2, 3, 4]
            assert (messages[-1]["id"], messages[-1]["result"]["content"][0]["text"]) == ("1", "done a")
            assert progress(await rest(other)) == [11, 12, 13]

        self.play(scenario)

    def test_a_finished_stream_is_resumed_beside_a_live_one(self):
        """BL-055: it gives what is missing and ends, and the other one stays where it is."""

        async def scenario(site):
            session = await site.session()
            live = await session.get()
            await live.frame()
            stream = begin(session, "relay", id="007")
            script.say("a", 1, None)
            frames = [await stream.frame() for _ in range(3)]
            await stream.ended()
            await written()
            assert await rest(await session.get(frames[2].id)) == []
            assert await rest(await session.get(f"{frames[0].id.partition('.')[0]}.99")) == []
            messages = await rest(await session.get(frames[1].id))
            assert [message["id"] for message in messages] == ["007"]  # BL-093
            assert progress(await rest(await session.get(frames[0].id))) == [1]
            await django_mcp.anotify_tools_changed()
            assert await live.message() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
            assert live.waiting == []

        self.play(scenario)

    def test_a_question_on_a_stream_that_broke_is_asked_again(self):
        """S2C-02, LH-24: and the reply goes where all replies go."""

        async def scenario(site):
            session = await site.session(capabilities={"elicitation": {}})
            for id, is_asked_first in ((1, True), (2, False)):
                stream = begin(session, "greet", id=id)
                _, first = await stream.frame(), await stream.frame()
                if is_asked_first:
                    script.say("a", "go")
                    await stream.message()
                stream.hang_up()
                await stream.ended()
                if not is_asked_first:
                    script.say("a", "go")
                again = await session.get(first.id)
                question = await again.message()
                assert question["method"] == "elicitation/create"
                answer = {"action": "accept", "content": {"name": "Ann"}}
                await site.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}, session.headers)
                [message] = await rest(again)
                assert (message["id"], message["result"]["content"][0]["text"]) == (id, "Hello, Ann")

        self.play(scenario)

    def test_a_cancelled_call_ends_the_stream_without_an_answer(self):
        """CAN-01, LH-38"""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay")
            script.say("a", 1)
            first = [await stream.frame() for _ in range(2)][-1]
            stream.hang_up()
            await stream.ended()
            again = await session.get(first.id)
            await site.post(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, session.headers
            )
            assert await rest(again) == []
            assert again.is_complete

        self.play(scenario)

    def test_whoever_comes_back_before_the_row_is_there_is_waited_for(self):
        async def scenario(site):
            session, _stream, head = await relaying(site)
            with as_another_worker():
                again = await session.get(head.id)
                script.say("a", None)
                assert progress(await rest(again)) == [1]

        self.play(scenario)

    def test_answers_larger_than_the_buffer_are_replayed(self):
        """And what came before them, each event when the one before it was taken."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "long_words", {"size": 15_000, "count": 5, "answer": 150_000})
            head = await stream.frame()
            stream.hang_up()
            await stream.ended()
            await written()
            messages = await rest(await session.get(head.id))
            assert progress(messages) == [0, 1, 2, 3, 4]
            assert len(messages[-1]["result"]["content"][0]["text"]) == 150_000

        with self.settings(DJANGO_MCP={**FAST, "STREAM_BUFFER": 100_000}):
            self.play(scenario)


class WireTests(ResumeTestCase):
    def test_a_stream_begins_with_its_place(self):
        """LH-08, LH-10, BL-107: which older clients could not read."""

        async def scenario(site):
            for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
                session = await site.session(version)
                stream = begin(session, "relay", {"name": version})
                script.say(version, 1, None)
                await stream.ended()
                lines = stream.body.decode().split("\n")
                ids = [line for line in lines if line.startswith("id: ")]
                if version == "2025-11-25":
                    assert re.fullmatch(r"id: p[0-9a-f]{24}\.0", lines[0])
                    assert lines[1:4] == ["retry: 2000", "data: ", ""]
                    assert len(ids) == 3
                elif version == "2024-11-05":
                    assert not ids
                    assert "retry" not in stream.body.decode()
                else:
                    assert lines[:2] == ["retry: 2000", ""]
                    assert len(ids) == 2
                    assert "data: " not in lines

        self.play(scenario)

    def test_ids_that_name_nothing_replay_nothing(self):
        """LH-27, SEC-04: the stream opens as any other."""

        async def scenario(site):
            foreign, session = await site.session(), await site.session()
            stream = begin(foreign, "relay")
            script.say("a", 1)
            theirs = (await stream.frame()).id
            for last in (theirs, "p" + "0" * 24 + ".1", "p1.1", theirs + "0" * 20, theirs.upper(), "p.1"):
                opened = await session.get(last)
                assert (await opened.frame()).id.startswith("g")
                opened.hang_up()
                await opened.ended()
                assert opened.waiting == []
            script.say("a", None)
            assert progress(await rest(stream)) == [1]
            with as_another_worker():
                opened = await session.get(theirs)
            assert (await opened.frame()).id.startswith("g")

        with patch.object(post_streams, "KNOWN_WITHIN", 0.02):
            self.play(scenario)

    def test_a_batch_shares_one_stream(self):
        """RPC-12: of 2025-03-26."""

        async def scenario(site):
            session = await site.session("2025-03-26")
            calls = [
                {
                    "jsonrpc": "2.0",
                    "id": name,
                    "method": "tools/call",
                    "params": {"name": "relay", "arguments": {"name": name}, "_meta": {"progressToken": name}},
                }
                for name in "ab"
            ]
            stream = site.request("POST", session.headers, json.dumps([5, *calls]).encode())
            script.say("a", 1, None)
            first = await stream.frame()
            stream.hang_up()
            await stream.ended()
            await stored(first.id)
            row = await CallStream.objects.aget()
            assert json.loads(row.request) == ["a", "b"]
            script.say("b", 2, None)
            *notices, answers = await rest(await session.get(first.id))
            assert progress(notices) == [2]
            assert [answer.get("id") for answer in answers] == [None, "a", "b"]

        self.play(scenario)

    def test_calls_beyond_the_cap_end_with_an_answer(self):
        """DETACHED_CALLS: who comes back is told, and does not wait for ever."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay", id="x")
            script.say("a", 1)
            first = [await stream.frame() for _ in range(2)][-1]
            stream.hang_up()
            await stream.ended()
            [message] = await rest(await session.get(first.id))
            assert message["id"] == "x"
            assert message["error"] == {"code": -32603, "message": "Too many calls go on without their clients"}

        for application in (None, ASGIHandler()):
            with self.settings(DJANGO_MCP={**FAST, "DETACHED_CALLS": 0}):
                self.play(scenario, application=application)

    def test_a_call_beyond_the_cap_whose_client_is_elsewhere_ends_likewise(self):
        """Its client has left here, whether the worker saw that or not."""

        async def scenario(site):
            session, stream, head = await relaying(site)
            again = await session.get(head.id)
            await stream.ended()
            notice, answer = await rest(again)
            assert progress([notice]) == [1]
            assert answer["error"]["message"] == "Too many calls go on without their clients"

        with self.settings(DJANGO_MCP={**FAST, "DETACHED_CALLS": 0}):
            self.play(scenario)

    def test_the_view_resumes_too(self):
        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay")
            script.say("a", 1, "close")
            frames = [await stream.frame() for _ in range(2)]
            await stream.ended()
            script.say("a", 2, None)
            messages = await rest(await session.get(frames[1].id))
            assert progress(messages) == [2]
            assert messages[-1]["id"] == 1

        self.play(scenario, application=ASGIHandler())
