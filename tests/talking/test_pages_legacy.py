"""Pages for clients of a legacy session: those who wait on their stream, and those who come back."""

import asyncio
from functools import partial

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import Permission

from django_mcp import pages
from django_mcp.models import PendingRequest
from django_mcp.running import close_lanes
from django_mcp.transports import replies
from tests.wire.doors import WSGIDoor, consumer

from .live import Live
from .paging import (
    CONSENT,
    INFO,
    URL_MODE,
    Talk,
    call_and_answer,
    client_of,
    submit,
    text_of_message,
)
from .rounds import groups, text_of

pytestmark = pytest.mark.usefixtures("pages_site")


class TestComingBack:
    """ELI-08, S163, S181: a client that cannot or shall not be kept waiting."""

    def call(self, client, name="connect", **more):
        accept = more.pop("accept", "application/json")
        params = {"name": name, "arguments": more}
        return client.legacy("tools/call", params, headers={"Accept": accept})

    def open_session(self, user, door=None):
        client = client_of(user, door)
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": URL_MODE,
            "clientInfo": {"name": "c", "version": "1"},
        }
        answer = client.post(client.message("initialize", params))
        client.session, client.version = answer.header("Mcp-Session-Id"), "2025-11-25"
        return client

    @pytest.mark.parametrize("door", ["consumer", "wsgi"])
    def test_where_only_json_can_be_answered(self, ann, browser, door):
        client = self.open_session(ann, WSGIDoor() if door == "wsgi" else consumer())
        answer = self.call(client)
        assert answer.status == 200
        assert answer.error["code"] == -32042
        [page] = answer.error["data"]["elicitations"]
        assert set(page) == {"mode", "message", "url", "elicitationId"}
        assert self.call(client).error["data"]["elicitations"] == [page]
        other = self.call(client, box="spam").error["data"]["elicitations"]
        assert other != [page]
        submit(browser, page["url"])
        assert text_of(self.call(client)) == "connected as ann@mail"
        assert groups() == ["asked inbox", "connected inbox as ann@mail", "page of ann"]
        [again] = self.call(client).error["data"]["elicitations"]
        assert again["url"] != page["url"]

    def test_where_the_tool_says_so(self, ann, browser):
        client = self.open_session(ann)
        answer = self.call(client, "connect_later", accept="application/json, text/event-stream")
        [page] = answer.error["data"]["elicitations"]
        submit(browser, page["url"])
        assert text_of(self.call(client, "connect_later")) == "connected as ann@mail"

    def test_a_person_may_say_no_on_the_page(self, ann, browser):
        client = self.open_session(ann)
        [page] = self.call(client).error["data"]["elicitations"]
        submit(browser, page["url"], no="1")
        assert text_of(self.call(client)) == "decline"
        assert not PendingRequest.objects.exists()

    def test_another_session_has_its_own_pages(self, ann, browser):
        client = self.open_session(ann)
        [page] = self.call(client).error["data"]["elicitations"]
        submit(browser, page["url"])
        assert self.call(self.open_session(ann)).error["code"] == -32042

    def test_other_questions_need_a_stream(self, ann, browser):
        """S170, S181: and are refused at once."""
        answer = self.call(self.open_session(ann), "at_once")
        assert "event stream" in text_of(answer)
        assert "event stream" in self.call(self.open_session(ann), "by_hand").error["message"]

    def test_the_modern_era_has_no_such_error(self, ann):
        """RPC-18."""
        assert Talk(client_of(ann), "connect_later").url


class TestOnAStream:
    """The client of a legacy session waits on the stream of its call, until the page is done on any worker."""

    @pytest.fixture
    def session(self, ann):
        client = client_of(ann)
        params = {"protocolVersion": "2025-11-25", "capabilities": URL_MODE, "clientInfo": INFO}
        client.session = client.post(client.message("initialize", params)).header("Mcp-Session-Id")
        client.version = "2025-11-25"
        return client

    def headers(self, session):
        return {**session.headers, **session.session_headers}

    def call(self, session, name="connect", id=1):
        params = {"name": name, "arguments": {}}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        return Live("consumer", message, self.headers(session))

    async def post(self, session, message, method="POST"):
        live = Live("consumer", message, self.headers(session), method=method)
        await live.ended()

    async def consent(self, session, question):
        await self.post(session, {"jsonrpc": "2.0", "id": question["id"], "result": CONSENT})

    def test_the_call_goes_on_when_the_page_is_submitted(self, session, browser):
        """ELI-06, ELI-09, ELI-11, S136, S2C-02: not when the client says that it will be opened."""

        async def steps():
            call = self.call(session)
            await call.start()
            question = await call.event()
            assert set(question["params"]) == {"mode", "message", "url", "elicitationId"}
            assert question["id"] != question["params"]["elicitationId"]
            await self.consent(session, question)
            await sync_to_async(submit)(browser, question["params"]["url"])
            done = await call.event()
            assert done["method"] == "notifications/elicitation/complete"
            assert done["params"] == {"elicitationId": question["params"]["elicitationId"]}
            assert text_of_message(await call.event()) == "connected as ann@mail"
            await call.ended()

        async_to_sync(steps)()
        assert groups() == ["asked inbox", "connected inbox as ann@mail", "page of ann"]
        assert not PendingRequest.objects.exists()

    @pytest.mark.parametrize("keeps", [True, False])
    def test_who_loses_a_right_meanwhile_has_lost_it_when_the_call_goes_on(self, ann, session, browser, keeps):
        permission = Permission.objects.get(codename="add_group")
        ann.user_permissions.add(permission)

        async def steps():
            call = self.call(session, "connect_if_allowed")
            await call.start()
            question = await call.event()
            await self.consent(session, question)
            if not keeps:
                await ann.user_permissions.aremove(permission)
            await sync_to_async(submit)(browser, question["params"]["url"])
            done = await call.event()
            assert done["method"] == "notifications/elicitation/complete"
            return await call.event()

        message = async_to_sync(steps)()
        if keeps:
            assert text_of_message(message) == "ann@mail"
        else:
            assert message["error"]["message"] == "Unknown tool: connect_if_allowed"

    def test_calls_that_ask_the_same_have_pages_of_their_own(self, session, browser):
        """ELI-06: what becomes of one leaves the other alone."""

        async def steps():
            calls = [self.call(session, id=id) for id in (1, 2, 3)]
            for call in calls:
                await call.start()
            questions = [await call.event() for call in calls]
            urls = [question["params"]["url"] for question in questions]
            assert len(set(urls)) == 3
            for question in questions[:2]:
                await self.consent(session, question)
            await self.post(session, {"jsonrpc": "2.0", "id": questions[2]["id"], "result": {"action": "cancel"}})
            assert text_of_message(await calls[2].event()) == "cancel"
            for call, url, answer in zip(calls[:2], urls, ("first@mail", "second@mail"), strict=False):
                assert (await sync_to_async(submit)(browser, url, answer=answer)).status_code == 200
                assert (await call.event())["method"] == "notifications/elicitation/complete"
                assert text_of_message(await call.event()) == f"connected as {answer}"
            for call in calls:
                await call.ended()

        async_to_sync(steps)()
        assert not PendingRequest.objects.exists()

    def test_the_client_cannot_answer_in_its_place(self, session, browser):
        """S169, ELI-12: with a reply under the id that is in the URL."""

        async def steps():
            call = self.call(session)
            await call.start()
            question = await call.event()
            forged = {"action": "accept", "content": "forged"}
            id = question["params"]["elicitationId"]
            await self.post(session, {"jsonrpc": "2.0", "id": id, "result": forged})
            await self.consent(session, question)
            assert not await PendingRequest.objects.filter(ref=id, answered=True).aexists()
            await sync_to_async(submit)(browser, question["params"]["url"])
            assert (await call.event())["method"] == "notifications/elicitation/complete"
            assert text_of_message(await call.event()) == "connected as ann@mail"
            await call.ended()

        async_to_sync(steps)()

    def test_a_page_may_be_done_before_the_client_has_said_anything(self, session, browser):
        async def steps():
            call = self.call(session)
            await call.start()
            question = await call.event()
            await sync_to_async(submit)(browser, question["params"]["url"])
            await self.consent(session, question)
            assert (await call.event())["method"] == "notifications/elicitation/complete"
            assert text_of_message(await call.event()) == "connected as ann@mail"
            await call.ended()

        async_to_sync(steps)()

    def test_a_call_that_is_cancelled_closes_its_page(self, session, browser):
        async def steps():
            call = self.call(session, id=9)
            await call.start()
            question = await call.event()
            await self.consent(session, question)
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
            await self.post(session, cancel)
            await call.rest()
            await call.ended()
            return question["params"]["url"]

        url = async_to_sync(steps)()
        assert submit(browser, url).status_code == 404
        assert groups() == []

    def test_a_session_that_ends_ends_the_wait(self, session, browser):
        """S171."""

        async def steps():
            call = self.call(session)
            await call.start()
            question = await call.event()
            await self.consent(session, question)
            await self.post(session, None, method="DELETE")
            assert "The session has ended" in text_of_message(await call.event())
            await call.ended()

        async_to_sync(steps)()

    def test_a_session_that_ended_before_the_question_has_no_page(self, session, monkeypatch):
        monkeypatch.setattr(pages, "_open", lambda *arguments: None)
        [answer] = async_to_sync(call_and_answer)(partial(self.call, session))
        assert "The session has ended" in text_of_message(answer)
        [answer] = async_to_sync(call_and_answer)(partial(self.call, session, "connect_to_another"))
        assert "was asked 3 times" in text_of_message(answer)


@pytest.mark.django_db(transaction=True)
def test_a_page_of_another_worker_is_found(ann, browser):
    """S2C-04: nobody here is rung, the row alone tells."""
    assert pages._open("p", 10**9, "user:1", "{}", 60) is None
    ref = pages._open("p", None, "user:1", "{}", 60) or ""
    assert pages._open("p", None, "user:1", "{}", 60) == ref

    async def steps():
        waiting = asyncio.create_task(replies.wait_for_pages([ref], 20))
        await asyncio.sleep(0)
        await PendingRequest.objects.filter(ref=ref).aupdate(answered=True, answer='{"action": "accept"}')
        assert await waiting == {ref: {"action": "accept"}}
        assert await replies.wait_for_pages([], 20) == {}

    asyncio.run(steps())
    close_lanes()
