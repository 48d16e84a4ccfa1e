"""A legacy client that answers what it is asked while its call runs."""

import json

from asgiref.sync import async_to_sync

from tests.wire.client import WireClient
from tests.wire.doors import consumer

from .live import Live, legacy
from .rounds import CAPABILITIES, usual_answer


def open_session(version="2025-11-25", capabilities=CAPABILITIES):
    client = WireClient(consumer())
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}
    answer = client.post(client.message("initialize", params))
    client.session, client.version = answer.header("Mcp-Session-Id"), version
    return client


async def reply(door, client, ref, content):
    """The client's POST, which may meet any worker."""
    post = Live(door, {"jsonrpc": "2.0", "id": ref, **content}, client.session_headers)
    status, _ = await post.start()
    assert status == 202
    await post.ended()


async def converse(door, client, name, arguments=None, *, answer=usual_answer, **meta):
    """Every message of a call whose questions are answered as they come."""
    call = legacy(door, client.session, name, arguments, **meta)
    _, headers = await call.start()
    if headers["content-type"] == "application/json":
        return [json.loads(await call.frame())]
    messages = []
    while True:
        messages.append(await call.event())
        if "method" not in messages[-1]:
            await call.ended()
            return messages
        if "id" in messages[-1]:
            await reply(door, client, messages[-1]["id"], {"result": answer(messages[-1])})


def texts(messages):
    return messages[-1]["result"]["content"][0]["text"]


def asked(messages):
    return [message for message in messages if "id" in message and "method" in message]


def ask(door, client, name, arguments=None, **options):
    async def steps():
        return await converse(door, client, name, arguments, **options)

    return async_to_sync(steps)()
