"""Many requests on one channel, and those that the client gives up."""

import asyncio
import json

import pytest

from django_mcp import default_server
from tests.shop.mcp import gate

from .client import LEGACY, greeting, talk


class TestConcurrency:
    def test_a_waiting_call_holds_up_nobody(self):
        """STD-09, RPC-25."""

        async def steps(client):
            for tool in ("wait_at_gate", "block_at_gate"):
                gate.reset()
                client.send(client.enveloped("tools/call", {"name": tool}, "slow"))
                await asyncio.to_thread(gate.entered.wait, 30)
                assert (await client.legacy("ping", id="quick"))["id"] == "quick"
                gate.opened.set()
                assert (await client.receive())["id"] == "slow"

        talk(steps)

    def test_calls_under_one_id_are_all_answered(self):
        """RPC-11."""

        async def steps(client):
            for number in range(3):
                arguments = {"a": number, "b": 0}
                client.send(client.enveloped("tools/call", {"name": "aadd", "arguments": arguments}, "same"))
            answers = [await client.receive() for _ in range(3)]
            assert {answer["result"]["content"][0]["text"] for answer in answers} == {"0", "1", "2"}

        talk(steps)

    def test_two_hundred_calls_get_their_own_answers(self):
        async def steps(client):
            for number in range(200):
                arguments = {"a": number, "b": number}
                client.send(client.enveloped("tools/call", {"name": "add", "arguments": arguments}, number))
            answers = [await client.receive() for _ in range(200)]
            assert {answer["id"]: answer["result"]["content"][0]["text"] for answer in answers} == {
                number: str(2 * number) for number in range(200)
            }

        talk(steps)


class TestCancellation:
    """CAN-01, CAN-02, STD-08."""

    @pytest.mark.parametrize("era", ["legacy", "modern"])
    @pytest.mark.parametrize("tool", ["wait_at_gate", "block_at_gate"])
    def test_a_cancelled_call_has_no_answer(self, tool, era):
        async def steps(client):
            gate.reset()
            if era == "legacy":
                await client.initialize()
            make = client.request if era == "legacy" else client.enveloped
            client.send(make("tools/call", {"name": tool}, 1))
            client.send(make("tools/call", {"name": tool}, 1))
            await asyncio.to_thread(gate.entered.wait, 30)
            for wrong in ("1", True, 1.0, None, [1], 2):
                client.notify("notifications/cancelled", requestId=wrong)
            await asyncio.sleep(0)
            assert len(client.exchange._tasks) == 2
            client.notify("notifications/cancelled", requestId=1, reason="enough")
            client.notify("notifications/cancelled", requestId=1)
            assert (await client.legacy("ping", id="after"))["id"] == "after"
            gate.opened.set()
            await client.exchange.drain(5)
            assert [json.loads(line)["id"] for line in client.lines if b'"id":1,"result":{"c' in line] == []

        talk(steps)

    def test_a_call_that_resists_is_not_answered_either(self):
        async def steps(client):
            entered = asyncio.Event()

            def permission(context):
                return resist()

            async def resist():
                entered.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    return True

            with default_server.registry.override():

                @default_server.tool(permission=permission)
                async def guarded_tool() -> str:
                    return "ran"

                client.send(client.enveloped("tools/call", {"name": "guarded_tool"}, 1))
                await entered.wait()
                client.notify("notifications/cancelled", requestId=1)
                await client.exchange.drain(5)
                assert (await client.legacy("ping", id="after"))["id"] == "after"

        talk(steps)

    def test_the_handshake_cannot_be_cancelled(self):
        """INIT-10, CAN-04, S154."""

        async def steps(client):
            client.send(client.request("initialize", greeting(), 1))
            client.notify("notifications/cancelled", requestId=1)
            assert (await client.receive())["result"]["protocolVersion"] == LEGACY

        talk(steps)

    def test_calls_that_have_ended_cannot_be_cancelled(self):
        """BL-027."""

        async def steps(client):
            for number in range(50):
                client.send(client.enveloped("tools/call", {"name": "aadd", "arguments": {"a": 1, "b": 1}}, number))
                for _ in range(number % 10):
                    await asyncio.sleep(0)
                client.notify("notifications/cancelled", requestId=number)
            await client.exchange.drain(5)
            client.notify("notifications/cancelled", requestId=1)
            client.send(client.request("ping", id="after"))
            while (await client.receive())["id"] != "after":
                pass
            ids = [json.loads(line)["id"] for line in client.lines]
            assert len(ids) == len(set(ids))

        talk(steps)

    def test_at_the_end_everything_is(self):
        async def steps(client):
            gate.reset()
            client.send(client.enveloped("tools/call", {"name": "wait_at_gate"}, 1))
            await asyncio.to_thread(gate.entered.wait, 30)
            await client.exchange.drain(0.01)
            client.exchange.cancel_all()
            await client.exchange.drain(5)
            assert (client.lines, gate.outcome) == ([], "cancelled")

        talk(steps)
