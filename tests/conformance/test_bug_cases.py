"""Rows of the bug log that show on real servers alone: sockets, processes and their resources.

Runs on the database of DATABASE_URL, on SQLite without it.
"""

import contextlib
import json
import os
import socket
import sqlite3
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.wire.client import META, MODERN

from . import wire
from .served import served

pytestmark = pytest.mark.integration

SERVERS = ["daphne", "uvicorn"]
SITES = [("daphne", "consumer"), ("uvicorn", "consumer"), ("uvicorn", "view")]
LEGACY = "2025-11-25"
LIMIT = 120


def client_of(port):
    client = wire.client_of(port)
    client.path = "/bugs"
    return client


def text(client, name, era="modern", **arguments):
    return client.call_tool(era, name, arguments)["content"][0]["text"]


def process(client):
    return client.call_tool("modern", "process")["structuredContent"]


def wait_for(condition, limit=LIMIT):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "It did not come to pass."
        time.sleep(0.05)


@pytest.fixture(scope="module", params=SITES, ids="-".join)
def site(request):
    server, door = request.param
    with served(server, 1, "--door", door) as site:
        yield site


@pytest.fixture
def client(site):
    return client_of(site.port)


@pytest.mark.parametrize("age", ["0", "600"])
@pytest.mark.parametrize(("server", "door"), SITES)
def test_connections_and_files_do_not_grow_with_the_calls(server, door, age, monkeypatch):
    """BL-002: 200 calls in a row and 50 at once; then a call after the database has closed the connections."""
    monkeypatch.setenv("CONN_MAX_AGE", age)
    with served(server, 1, "--door", door) as site, ThreadPoolExecutor(16) as pool:
        client = client_of(site.port)
        client.initialize()

        def call(number):
            name = "count_users" if number % 2 else "acount_users"
            return text(client, name, LEGACY if number % 3 else "modern")

        list(pool.map(call, range(50)))
        before = process(client)
        texts = [call(number) for number in range(200)] + list(pool.map(call, range(50)))
        after = process(client)
        assert set(texts) == {"0"}
        assert after["files"] - before["files"] <= 4
        assert after["threads"] <= before["threads"] + 2
        if os.environ.get("DATABASE_URL", "").startswith("postgres"):
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                others = "datname = current_database() AND pid <> pg_backend_pid()"
                connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        assert {call(number) for number in range(20)} == {"0"}


def test_two_slow_sync_tools_delay_nobody(site, client):
    """BL-003."""
    client.initialize()
    with ThreadPoolExecutor(2) as pool:
        began = time.monotonic()
        slow = [pool.submit(text, client_of(site.port), "slow", seconds=3) for _ in range(2)]
        time.sleep(0.2)
        assert client.legacy("ping").result == {}
        assert client.modern("tools/list").status == 200
        assert not any(one.done() for one in slow)
        assert [one.result() for one in slow] == ["slept", "slept"]
        assert time.monotonic() - began < 6  # one after the other


@pytest.mark.parametrize("name", ["to_async", "to_sync", "own_block"])
def test_tools_may_cross_the_bridge_themselves(client, name):
    """BL-086."""
    assert text(client, name) == text(client, name, LEGACY)


def request_bytes(client, name, session=None, accept="*/*", **arguments):
    params = {"name": name, "arguments": arguments}
    head = {"Host": "127.0.0.1", "Content-Type": "application/json", "Accept": accept}
    if session:
        head["Mcp-Session-Id"] = session
    else:
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        head |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head["Content-Length"] = str(len(body))
    lines = [f"POST {client.path} HTTP/1.1", *(f"{key}: {value}" for key, value in head.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def connected(port, sent):
    connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
    connection.sendall(sent)
    return connection


def reset(connection):
    """Ends it at once, as a host that goes away does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_hang_up_cancels_in_one_era_and_in_one_alone(site, client, accept):
    """BL-001."""
    client.initialize()
    before = process(client)
    for name, session, after in (("modern", None, "cancelled"), ("legacy", client.session, "finished")):
        own = f"{name} {accept}"
        connection = connected(
            site.port, request_bytes(client, "aslow", session, accept, label=own, seconds=30 if session is None else 1)
        )
        wait_for(lambda own=own: text(client, "outcome", label=own) == "running")
        connection.close()
        wait_for(lambda own=own, after=after: text(client, "outcome", label=own) == after)
    wait_for(lambda: process(client)["tasks"] <= before["tasks"])


def leave_in_the_middle(site, client, calls, streams, never_reading):
    """So many of each come and go, at once or after the first bytes."""
    call = request_bytes(client, "aslow", client.session, label="left", seconds=0.2)
    big = request_bytes(client, "big", client.session, megabytes=10)
    head = ["Host: 127.0.0.1", "Accept: text/event-stream", f"Mcp-Session-Id: {client.session}"]
    stream = "\r\n".join([f"GET {client.path} HTTP/1.1", *head, "", ""]).encode()
    for number in range(calls):
        connection = connected(site.port, call)
        if number % 2:
            time.sleep(0.002)
        reset(connection)
    for number in range(streams):
        connection = connected(site.port, stream)
        if number % 2:
            assert connection.recv(12) == b"HTTP/1.1 200"
        reset(connection)
    stuck = [connected(site.port, big) for _ in range(never_reading)]
    assert text(client, "count_users") == "0"
    for connection in stuck:
        reset(connection)


def test_clients_that_leave_take_everything_with_them(site, client):
    """BL-058: 500 calls and 200 streams, left at once or in the middle; and readers that never read."""
    client.initialize()
    tasks = process(client)["tasks"]
    # Threads stay for whoever comes next, each with the database open: a first crowd makes them and gives them work.
    leave_in_the_middle(site, client, calls=100, streams=20, never_reading=2)
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: text(client_of(site.port), "count_users"), range(100))) == {"0"}
    wait_for(lambda: process(client)["tasks"] <= tasks)
    before = process(client)
    leave_in_the_middle(site, client, calls=500, streams=200, never_reading=5)
    wait_for(lambda: process(client)["tasks"] <= tasks)
    wait_for(lambda: process(client)["files"] <= before["files"] + 4)
    assert process(client)["memory"] < before["memory"] + 150_000_000


@contextlib.contextmanager
def two_processes(tmp_path, monkeypatch):
    """Two servers of one database, which is SQLite's file unless another one is named."""
    path = tmp_path / "shared.sqlite3"
    if "DATABASE_URL" not in os.environ:
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    with served("uvicorn") as one, served("uvicorn") as two:
        yield one, two, path


def test_two_processes_are_one_server(tmp_path, monkeypatch):
    """BL-026, BL-082: one restarts in between, and what one ends has ended for the other."""
    with two_processes(tmp_path, monkeypatch) as (one, two, _path):
        client = client_of(one.port)
        client.initialize()
        for number in range(10):
            client.door.port = (one.port, two.port)[number % 2]
            assert client.legacy("tools/list").status == 200
            assert client.legacy("logging/setLevel", {"level": "debug"}).result == {}
        with served("uvicorn") as third:
            client.door.port = third.port
            assert client.legacy("tools/list").status == 200
        client.door.port = two.port
        assert client.send("DELETE", headers=client.session_headers).status == 204
        client.door.port = one.port
        assert client.legacy("tools/list").status == 404


def test_a_locked_database_fails_no_reading_request(tmp_path, monkeypatch):
    """BL-087: thirty at once in one session and in thirty, in two processes, beside a writer of three seconds."""
    if "DATABASE_URL" in os.environ:
        pytest.skip("only SQLite has one writer")
    with two_processes(tmp_path, monkeypatch) as (one, two, path), ThreadPoolExecutor(30) as pool:
        ports = [one.port, two.port] * 15
        clients = [client_of(port) for port in ports]
        for client in clients:
            client.initialize()

        def call(number):
            client = clients[0] if number < 30 else clients[number - 30]
            return client.legacy("tools/list").status, text(client, "count_users", LEGACY)

        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            answers = list(pool.map(call, range(60)))
            took = time.monotonic() - began
            writer.execute("ROLLBACK")
    assert set(answers) == {(200, "0")}
    assert took < 5  # which SQLite lets those wait who want to write


def test_a_flood_without_a_length_is_cut_off(site, client):
    """BL-088: 50 MB in chunks; the server stops reading and keeps its memory."""
    client.modern("tools/list")
    before = process(client)["memory"]
    connection = wire.SocketDoor(site.port).connect()
    connection.putrequest("POST", client.path)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"%x\r\n%s\r\n" % (1_000_000, b" " * 1_000_000)
    with contextlib.suppress(ConnectionError, TimeoutError):
        for _ in range(50):
            connection.send(piece)
        connection.send(b"0\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        assert wire.read_answer(connection).status == 413
    connection.close()
    assert process(client)["memory"] < before + 80_000_000


def test_an_idle_server_does_nothing(site, client):
    """BL-102: with streams that were left and streams that are open."""
    client.initialize()
    streams = [wire.open_stream(client) for _ in range(5)]
    assert [stream.getresponse().status for stream in streams] == [200] * 5
    streams.pop().close()
    before = process(client)["cpu"]
    time.sleep(3)
    assert process(client)["cpu"] - before < 1  # of three seconds
    for stream in streams:
        stream.close()
