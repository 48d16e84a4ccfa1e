"""Clients that come back and leave again, at the wrong moment."""

from __future__ import annotations

import asyncio
import threading
from unittest.mock import patch

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import OperationalError

from django_mcp.events import call_streams
from django_mcp.models import AccessToken, CallStream
from django_mcp.transports import journal, shutdown, upkeep
from django_mcp.transports.journal import journal_of
from django_mcp.transports.streams import open_streams
from tests.events.streaming import FAST

from .resuming import ResumeTestCase, begin, progress, relaying, rest, stored, until, written
from .resuming_site import contexts, script


class RaceTests(ResumeTestCase):
    def test_what_was_read_before_it_was_claimed_does_not_end_a_stream(self):
        async def scenario(site):
            session, _stream, head = await relaying(site)
            await stored(head.id)
            read, claimed = call_streams.read, threading.Event()
            claim = call_streams.claim

            def reads(*arguments):
                found = read(*arguments)
                if resumptions:
                    claimed.wait(20)
                resumptions.append(found)
                return found

            def claims(*arguments):
                claim(*arguments)
                claimed.set()

            resumptions: list[object] = []
            with patch.object(call_streams, "read", reads), patch.object(call_streams, "claim", claims):
                again = await session.get(head.id)
                await until(lambda: len(resumptions) > 2)
                script.say("a", None)
                assert progress(await rest(again)) == [1]

        self.play(scenario)


class LateStreamTests(ResumeTestCase):
    def test_a_stream_that_opens_while_the_process_ends_is_cut_off(self):
        """It had no last frame to send, and would keep the server waiting for its client to leave."""

        async def scenario(site):
            stream = await (await site.session()).get()
            await stream.frame()
            open_streams.abort_all()
            await stream.ended()
            assert not stream.is_complete

        self.play(scenario)


class LeavingTests(ResumeTestCase):
    def test_whoever_leaves_again_is_waited_for_no_longer(self):
        async def scenario(site):
            session, stream, head = await relaying(site)
            await stored(head.id)
            with (
                patch.object(call_streams, "claim", side_effect=OperationalError("locked")) as claim,
                self.assertLogs("django_mcp.http", "WARNING"),
            ):
                again = await session.get(head.id)
                await until(lambda: claim.called)
                again.hang_up()
                await again.ended()
                await until(lambda: not upkeep._tasks)
            script.say("a", None)
            assert progress(await rest(stream)) == [1]

        self.play(scenario)

    def test_a_resumed_stream_ends_with_its_token(self):
        """AUTH-10: the call goes on, and whoever has another token reads the rest."""
        ann = get_user_model().objects.create_user("ann")
        token, value = AccessToken.objects.issue(ann)
        _, other = AccessToken.objects.issue(ann)

        async def scenario(site):
            session = await site.session(Authorization=f"Bearer {value}")
            stream = begin(session, "relay")
            script.say("a", 1)
            head = await stream.frame()
            stream.hang_up()
            await stream.ended()
            again = await session.get(head.id)
            assert progress(await again.messages(1)) == [1]
            await sync_to_async(token.revoke)()
            await again.ended()
            assert again.is_complete
            assert (await session.get(head.id)).status == 401
            session.headers["Authorization"] = f"Bearer {other}"
            script.say("a", 2, None)
            messages = await rest(await session.get(head.id))
            assert progress(messages) == [1, 2]
            assert messages[-1]["result"]["content"][0]["text"] == "done a"

        bearer = {**FAST, "AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0}
        with self.settings(DJANGO_MCP=bearer):
            self.play(scenario)

    def test_what_comes_after_the_answer_is_dropped(self):
        """PRG-03: and closes nothing."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "report_and_leave")
            messages = await rest(stream)
            context = contexts.pop()
            context.report_progress(2)
            context.close_sse_stream()
            assert (progress(messages), messages[-1]["id"]) == ([1], 1)
            [key] = journal_of(asyncio.get_running_loop())._recordings
            journal.want_here(key)
            await written()

        with patch.object(journal, "EVERY", 20):
            self.play(scenario)

    def test_a_client_that_leaves_before_the_stream_begins_has_nothing_to_come_back_to(self):
        async def scenario(site):
            session = await site.session()
            stream = begin(session, "relay")
            await until(lambda: "a" in script._queues)
            stream.hang_up()
            await stream.ended()
            script.say("a", "close", 1, None)
            await until(lambda: not len(shutdown.detached_exchanges))
            assert not await CallStream.objects.aexists()

        self.play(scenario)

    def test_a_tool_that_holds_the_only_lock_is_not_delayed(self):
        """On SQLite, and its client gets everything when the lock is free."""

        async def scenario(site):
            session = await site.session()
            stream = begin(session, "write_and_report")
            head = await stream.frame()
            stream.hang_up()
            await stream.ended()
            again = await session.get(head.id)
            script.may_go.set()
            messages = await rest(again)
            assert progress(messages) == [1, 2]
            assert messages[-1]["result"]["content"][0]["text"] == "done"
            assert await Group.objects.acount() == 1

        self.play(scenario)
