"""Each ASGI server carries the wire to both doors: requests, a stream, a hang-up, a large body, an orderly end."""

import contextlib
import socket
import time

import pytest

from . import wire
from .served import served

pytestmark = pytest.mark.integration

CONSUMERS = [(server, "consumer") for server in ("daphne", "granian", "hypercorn", "uvicorn")]
VIEWS = [(server, "view") for server in ("daphne", "uvicorn")]
DOORS = pytest.mark.parametrize(("server", "door"), [*CONSUMERS, *VIEWS])
STOP_LIMIT = 60


@pytest.fixture(scope="module", params=[*CONSUMERS, *VIEWS], ids="-".join)
def port(request):
    server, door = request.param
    # Which asks nothing of the consumer, and of an async view that it says no.
    with served(server, 1, "--door", door, ATOMIC_REQUESTS="1") as site:
        yield site.port


def test_twenty_requests_of_both_eras_are_answered(port):
    client = wire.open_session(port)
    for number in range(10):
        assert wire.echo_region(client, "2025-11-25", f"r{number}") == f"region=r{number}"
        assert client.modern("tools/call", {"name": "test_simple_text"}).result["resultType"] == "complete"
    assert client.send("DELETE", headers=client.session_headers).status == 204
    assert client.legacy("ping").status == 404


def test_stream_opens_while_its_session_goes_on(port):
    client = wire.open_session(port)
    connection = wire.open_stream(client)
    response = connection.getresponse()
    assert response.status == 200
    assert response.headers.get_content_type() == "text/event-stream"
    assert client.legacy("ping").result == {}
    connection.close()
    assert client.legacy("ping").result == {}


def test_hang_up_in_the_middle_of_a_request_hurts_nobody(port):
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=wire.LIMIT) as left:
        left.sendall(f"{head}{{".encode())
    assert wire.client_of(port).modern("tools/call", {"name": "test_simple_text"}).status == 200


def test_body_over_the_limit_is_refused_in_json(port):
    connection = wire.SocketDoor(port).connect()
    body = b" " * 5_000_000
    connection.putrequest("POST", "/mcp")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    # It may be refused by its Content-Length, before all of it was sent.
    with contextlib.suppress(ConnectionError):
        connection.send(body)
    answer = wire.read_answer(connection)
    connection.close()
    assert answer.status == 413
    assert answer.json["error"]["code"] == -32600


@DOORS
def test_server_ends_in_time_while_a_stream_is_open(server, door):
    with served(server, 1, "--door", door) as site:
        connection = wire.open_stream(wire.open_session(site.port))
        assert connection.getresponse().status == 200
        began = time.monotonic()
        site.process.terminate()
        site.process.wait(STOP_LIMIT)
        assert time.monotonic() - began < STOP_LIMIT
        connection.close()


def test_view_stands_behind_the_middleware_of_the_site_and_the_consumer_does_not():
    for door, expected in (("consumer", None), ("view", "nosniff")):
        with served("uvicorn", 1, "--door", door) as site:
            assert wire.client_of(site.port).initialize().header("X-Content-Type-Options") == expected
