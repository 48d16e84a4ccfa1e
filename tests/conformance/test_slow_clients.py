"""Progress on real servers: live through whatever stands in between, and at the pace of whoever reads it."""

import asyncio

import pytest

from . import streams
from .calls import ERAS, Caller
from .proxy import in_front_of
from .served import served

pytestmark = pytest.mark.integration

SITES = [("daphne", "consumer"), ("uvicorn", "consumer"), ("uvicorn", "view")]
COUNT = 1000
ROOM = 16 * 1024
LIMIT = 120
BROKEN_OFF = "ASGI callable returned without completing response."


@pytest.fixture(scope="module", params=SITES, ids="-".join)
def site(request):
    server, door = request.param
    with served(server, 1, "--door", door) as site:
        yield site


each_era = pytest.mark.parametrize("era", ERAS)


@each_era
@pytest.mark.parametrize("tool", ["report", "areport"])
def test_a_thousand_reports_reach_a_slow_client_in_order(site, request, era, tool):
    """PRG-02, MH-25: all of them and nothing else, while the server keeps a small part of them in memory."""
    caller = Caller(site.port, era)
    size = 40_000

    async def steps():
        call = await caller.call(tool, room=ROOM, count=COUNT, size=size)
        measured = []
        for number in range(COUNT):
            event = await asyncio.wait_for(call.event(), LIMIT)
            assert event.data["params"]["progress"] == number
            if number % 50 == 0:
                measured.append((await asyncio.to_thread(caller.process))["memory"])
        assert (await call.event()).data["result"]["content"][0]["text"] == "reported"
        first, *rest = measured[2:]
        grown = max(rest) - first
        print(f"{request.node.name}: {(first - measured[0]) / 1e6:.1f} MB and {grown / 1e6:.1f} MB more")
        # daphne takes all that it is given, and tells no application how much of it waits.
        if "daphne" not in request.node.name:
            assert grown < COUNT * size / 3

    streams.run(steps())


async def in_lockstep(caller, port=None, count=5, **arguments):
    """Each event has to arrive before the tool sends the next one."""
    label = f"{caller.era} {port} {arguments}"
    call = await caller.call("report_on_demand", port=port, label=label, count=count, **arguments)
    assert call.status == 200
    for number in range(count):
        event = await asyncio.wait_for(call.event(), LIMIT)
        assert event.data["params"]["progress"] == number
        # A modern request, which touches no session.
        await asyncio.to_thread(Caller(caller.port, "modern").text, "demand", label=label, number=number)
    assert (await call.event()).data["result"]["content"][0]["text"] == "reported"
    assert "content-encoding" not in call.headers


@each_era
def test_reports_arrive_while_the_tool_runs(site, era):
    """LH-13, BL-089: through the view they pass GZip, ConditionalGet, Session, Locale, Common and LoginRequired."""
    streams.run(in_lockstep(Caller(site.port, era)))


@each_era
def test_reports_pass_a_buffering_proxy_while_the_tool_runs(site, era):
    """BL-089."""
    with in_front_of(site.port) as port:
        streams.run(in_lockstep(Caller(site.port, era), port))


@each_era
def test_a_tool_that_has_written_reports_without_waiting_for_its_own_lock(site, era):
    """On SQLite nobody else can write before the call has ended."""
    name = f"{site.port} {era}"
    streams.run(in_lockstep(Caller(site.port, era), name=name))


@each_era
@pytest.mark.parametrize("door", ["consumer", "view"])
def test_a_client_that_never_reads_holds_nothing_longer_than_send_timeout(door, era, database):
    """As many calls as there are threads for them: then somebody else wants a thread, and a row that they have written.

    A modern call is given up and rolled back, a legacy one goes on without its client.
    """
    with served("uvicorn", 1, "--door", door, SEND_TIMEOUT="1", DATABASE_URL=database.url) as site:
        caller = Caller(site.port, era)
        for _ in range(5):
            caller.text("count_users")
        before = caller.process()

        async def steps():
            names = ["", "", "", "", "u0", "u1", "u2", "u3"]
            calls = [await caller.call("report", room=ROOM, count=COUNT, size=20_000, name=name) for name in names]
            another = "u0" if era == "modern" else "u4"
            assert await asyncio.to_thread(caller.text, "make_user", name=another) == another
            async with asyncio.timeout(LIMIT):
                while database.connections()["idle in transaction"]:
                    await asyncio.sleep(0.05)
            assert await asyncio.to_thread(caller.text, "count_users") == ("1" if era == "modern" else "5")
            for call in calls:
                await call.close()
            async with asyncio.timeout(LIMIT):
                while (after := await asyncio.to_thread(caller.process))["tasks"] > before["tasks"]:
                    await asyncio.sleep(0.05)
            assert after["files"] <= before["files"] + 10  # connections of the threads that were new

        streams.run(steps())
        # What uvicorn says of an application that breaks a response off, and there is no other way to do that.
        assert set(site.errors.read_text().splitlines()) <= {f"ERROR:    {BROKEN_OFF}"}
