"""The door to a served site: real HTTP, every request on a connection of its own."""

import http.client

from tests.wire.client import WireClient
from tests.wire.doors import Answer, Pairs

LIMIT = 120


class SocketDoor:
    """Sends over a new connection each time, so that any worker may get it."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)

    def send(self, method: str, path: str, headers: Pairs, body: bytes = b"") -> Answer:
        connection = self.connect()
        try:
            connection.request(method, path, body or None, dict(headers))
            return read_answer(connection)
        finally:
            connection.close()


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    return Answer(response.status, response.getheaders(), response.read())


def client_of(port: int) -> WireClient:
    return WireClient(SocketDoor(port), headers={"Host": f"127.0.0.1:{port}"})


def open_session(port: int) -> WireClient:
    client = client_of(port)
    assert client.initialize().status == 200
    assert client.notify("notifications/initialized").status == 202
    return client


def open_stream(client: WireClient) -> http.client.HTTPConnection:
    """The connection of a GET stream; reading it, and closing it, is the caller's."""
    connection: http.client.HTTPConnection = client.door.connect()
    headers = {**client.session_headers, "Accept": "text/event-stream"}
    connection.request("GET", client.path, headers={name: value for name, value in headers.items() if value})
    return connection


def echo_region(client: WireClient, era: str, region: str) -> str:
    """Calls the tool that answers its argument."""
    result = client.call_tool(era, "test_x_mcp_header", {"region": region})
    text: str = result["content"][0]["text"]
    return text
