"""Clients hang up at every stage of a call: nothing of it stays, and the server has nothing to say about it."""

import asyncio
import socket
import struct

import pytest

from . import streams
from .calls import ERAS, Caller
from .served import served

pytestmark = pytest.mark.integration

SITES = [("daphne", "consumer"), ("uvicorn", "consumer"), ("uvicorn", "view")]
LIMIT = 120
# What asyncio's own loop says where uvicorn sends before it has heard that the client is gone; uvloop says nothing.
LOST = "socket.send() raised exception."
CLIENTS = 10  # of each stage
# Where threads and connections of the process are made at the first use of each.
SPARE = 4


@pytest.fixture(params=SITES, ids="-".join)
def site(request, database):
    server, door = request.param
    with served(server, 1, "--door", door, DATABASE_URL=database.url) as site:
        yield site


def reset(stream):
    """End it at once, as a host that goes away does."""
    connection = stream._writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    stream._writer.transport.abort()


async def leave(stream, number):
    if number % 2:
        reset(stream)
    else:
        await stream.close()


async def begun(caller, name, arguments, part):
    """A connection on which so much of a call was sent, and nothing read."""
    headers, body = caller.request(name, arguments)
    head = "".join(f"{key}: {value}\r\n" for key, value in {**headers, "Content-Length": f"{len(body)}"}.items())
    sent = f"POST {caller.path} HTTP/1.1\r\nHost: 127.0.0.1:{caller.port}\r\n{head}\r\n".encode() + body
    reader, writer = await asyncio.open_connection("127.0.0.1", caller.port)
    writer.write(sent[: int(len(sent) * part)])
    await writer.drain()
    return streams.SSE(reader, writer, 0)


async def hang_up_everywhere(bugs, asking, clients):
    """``bugs`` calls tools that take their time, ``asking`` one that asks."""
    for number in range(clients):
        label = f"{bugs.era} {number}"
        # Before the headers of the request have ended, in the middle of its body, and before those of the answer.
        for part in (0.2, 0.95, 1):
            await leave(await begun(bugs, "aslow", {"label": label, "seconds": 0.5}, part), number)
        steps = f"{label} steps"
        for tool, arguments in (("report_on_demand", {"label": steps, "count": 2}), ("areport", {"count": 500})):
            call = await bugs.call(tool, **arguments)
            await call.event()
            await leave(call, number)
        await asyncio.to_thread(bugs.text, "demand", label=steps, number=1)
        call = await asking.call("test_elicitation", message="Who?")
        if asking.era != "modern":
            await call.event()
        await leave(call, number)


async def until(condition):
    async with asyncio.timeout(LIMIT):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("era", ERAS)
def test_nothing_stays_of_clients_that_hang_up(site, database, era):
    """BL-058, MRTR-09: no task, thread, file, connection or row, and not a line in the log."""

    watcher = Caller(site.port, "modern")

    async def round_of(clients):
        bugs, asking = Caller(site.port, era), Caller(site.port, era, "/mcp")
        await hang_up_everywhere(bugs, asking, clients)
        if era != "modern":
            # A question waits for a reply that may still come; it ends with its session.
            assert database.rows("SELECT count(*) FROM django_mcp_pendingrequest") == [(clients,)]
            for each in (bugs, asking):
                assert each.client.send("DELETE", headers=each.client.session_headers).status == 204

    async def steps():
        tasks = watcher.process()["tasks"]
        await round_of(2)  # which makes the threads and connections that the process keeps
        await until(lambda: watcher.process()["tasks"] <= tasks)
        before = watcher.process()
        await round_of(CLIENTS)
        await until(lambda: watcher.process()["tasks"] <= tasks)
        await until(lambda: watcher.process()["files"] <= before["files"] + SPARE)
        after = watcher.process()
        assert after["threads"] <= before["threads"] + SPARE
        connections = database.connections()
        assert connections["idle in transaction"] == connections["active"] == 0

    streams.run(steps())
    for table in ("pendingrequest", "session"):
        assert database.rows(f"SELECT count(*) FROM django_mcp_{table}") == [(0,)], table
    assert set(site.errors.read_text().splitlines()) <= {LOST}
