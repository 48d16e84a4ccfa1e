"""Methods and notifications of a site's own: ``server.method()`` and ``server.notification()`` (S196-S198, M6, M7)."""

from dataclasses import dataclass
from datetime import date

import pytest
from django.contrib.auth.models import User
from django.urls import path

from django_mcp import AlreadyRegistered, Context, InvalidPrimitive, ProtocolError, ToolError
from django_mcp.primitives.methods import CustomMethod
from django_mcp.protocol.methods import METHODS as TAKEN
from django_mcp.protocol.methods import NOTIFICATIONS as TAKEN_NOTIFICATIONS
from django_mcp.protocol.methods import OPEN_NOTIFICATIONS
from django_mcp.protocol.versions import ALL, LATEST
from django_mcp.server.dispatch import METHODS
from django_mcp.testing import MCPClient, MCPError
from tests.server.around import HERE
from tests.wire.client import LEGACY, WireClient
from tests.wire.doors import DOORS, consumer

pytestmark = pytest.mark.django_db


@pytest.fixture(params=ALL)
def client(request, desk):
    return MCPClient(server=desk, revision=request.param)


def reserve(context: Context, seat: int, day: date, note: str = "none") -> dict[str, object]:
    return {"seat": seat, "day": day, "note": note, "user": str(context.user)}


async def areserve(context: Context, seat: int, day: date, note: str = "none") -> dict[str, object]:
    return reserve(context, seat, day, note)


@pytest.mark.parametrize("function", [reserve, areserve])
def test_params_arrive_typed_and_the_result_is_shaped_for_its_revision(desk, client, function):
    """S196, RPC-15, RPC-16; unknown members are let be (RPC-28)."""
    desk.method("example/reserve")(function)
    result = client.request("example/reserve", {"seat": 7, "day": "2026-07-28", "unknown": []})
    assert result.seat == 7
    assert result.day == "2026-07-28"
    assert result.note == "none"
    assert ("resultType" in result) == client.revision.is_modern


@dataclass
class Seat:
    row: int


def test_one_parameter_takes_them_all(desk, client):
    """The context is given to those that name it (S186)."""

    @desk.method("example/raw")
    def raw(params: dict[str, object]) -> object:
        return params

    @desk.method("example/typed")
    def typed(params: Seat) -> object:
        return {"next": params.row + 1}

    @desk.method("example/nothing")
    def nothing() -> None:
        pass

    assert client.request("example/raw", {"a": [1], "_meta": {"b": 2}})["a"] == [1]
    assert "b" not in client.request("example/raw", {"a": [1], "_meta": {"b": 2}})
    assert client.request("example/typed", {"row": 4})["next"] == 5
    assert set(client.request("example/nothing")) <= {"resultType", "_meta"}


def test_params_that_do_not_fit_are_told_by_name(desk, client):
    """RPC-08, X12"""
    desk.method("example/reserve")(reserve)
    with pytest.raises(MCPError) as raised:
        client.request("example/reserve", {"seat": "seven"})
    assert raised.value.code == -32602
    assert "seat" in raised.value.message
    assert "day" in raised.value.message


def test_what_goes_wrong_in_a_method_is_answered_as_elsewhere(desk, client, set_around, seen, caplog):
    """RPC-04, RPC-21, RPC-29, S13"""
    set_around(EXCEPTION_REPORTER=f"{HERE}.report")

    @desk.method("example/fail")
    def fail(kind: str) -> object:
        User.objects.create(username="lost")
        if kind == "own":
            raise ProtocolError(1234, "Sold out", data={"seats": 0})
        if kind == "told":
            raise ToolError("Not today.")
        if kind == "list":
            return [1]
        raise RuntimeError("postgres://u:secret@db")

    for kind, error in (
        ("own", (1234, "Sold out", {"seats": 0})),
        ("told", (-32603, "Not today.", None)),
        ("list", (-32603, "Internal error", None)),
        ("boom", (-32603, "Internal error", None)),
    ):
        with pytest.raises(MCPError) as raised:
            client.request("example/fail", {"kind": kind})
        assert raised.value.args == error
    assert not User.objects.exists()
    assert "returned list. The result of a method is an object: return a dict." in caplog.text
    assert [entry[0] for entry in seen] == ["InvalidOutput", "RuntimeError"]


def test_who_may_not_use_a_method_does_not_know_it(desk, client):
    """RPC-09"""
    desk.method("example/reserve", permission="auth.view_user")(reserve)
    with pytest.raises(MCPError) as hidden:
        client.request("example/reserve", {})
    client.login(User.objects.create_superuser("root"))
    assert client.request("example/reserve", {"seat": 1, "day": "2026-01-01"})["user"] == "root"
    with pytest.raises(MCPError) as unknown:
        client.request("example/unknown", {})
    assert hidden.value.code == unknown.value.code == -32601
    assert hidden.value.message.replace("reserve", "unknown") == unknown.value.message


@pytest.mark.parametrize("door", DOORS)
def test_the_header_rules_of_the_modern_wire_hold(desk, settings, door):
    """MH-09: routing headers repeat the body, whoever defined the method."""
    settings.ROOT_URLCONF = (path("mcp", desk.urls),)
    desk.method("example/reserve")(reserve)
    client = WireClient(DOORS[door]())
    params = {"seat": 1, "day": "2026-01-01"}
    assert client.modern("example/reserve", params).result["seat"] == 1
    for value in (None, "example/other"):
        answer = client.modern("example/reserve", params, headers={"Mcp-Method": value})
        assert (answer.status, answer.error["code"]) == (400, -32020)
    answer = client.modern("example/other")
    assert (answer.status, answer.error["code"]) == (404, -32601)
    assert client.call("2025-11-25", "example/reserve", params).result["seat"] == 1


def test_a_handler_reaches_its_server_and_what_is_registered_there(desk, client):
    """M5, M8"""
    desk.resource("note://a")(lambda: "text")

    @desk.method("example/inline")
    def inline(context: Context) -> dict[str, object]:
        resource, _ = context.server.registry.find_resource("note://a")
        return {"text": resource.function(), "session": context.session is not None}

    result = client.request("example/inline")
    assert (result.text, result.session) == ("text", not client.revision.is_modern)


def test_capabilities_are_the_authors_own(desk):
    """S23: nothing is advertised that was not written."""
    desk.method("example/reserve")(reserve)
    client = MCPClient(server=desk)
    assert client.request("server/discover")["capabilities"] == {"logging": {}}
    desk.extensions["com.example/seats"] = {"rows": 9}
    assert client.request("server/discover")["capabilities"]["extensions"] == {"com.example/seats": {"rows": 9}}


@pytest.mark.parametrize("name", sorted(TAKEN | {"rpc.discover"}))
def test_methods_of_the_protocol_are_not_overridden(desk, name):
    """S197: of no revision, and not those that are answered elsewhere than in the table."""
    with pytest.raises(InvalidPrimitive, match="belongs to the protocol"):
        desk.method(name)(reserve)


@pytest.mark.parametrize("name", sorted(TAKEN_NOTIFICATIONS - OPEN_NOTIFICATIONS))
def test_notifications_of_the_protocol_are_not_overridden(desk, name):
    """S197"""
    with pytest.raises(InvalidPrimitive, match="belongs to the protocol"):
        desk.notification(name)(reserve)


def test_the_site_may_hear_that_the_roots_of_a_client_changed(desk):
    """S137: by default nothing happens."""
    heard = []
    client = MCPClient(server=desk, revision="2025-11-25")
    client.notify("notifications/roots/list_changed")

    @desk.notification("notifications/roots/list_changed")
    def look_again(context: Context) -> None:
        heard.append(context.session is not None)

    client.notify("notifications/roots/list_changed")
    assert heard == [True]


def test_every_method_that_is_served_is_taken():
    assert {name for methods in METHODS.values() for name in methods} <= TAKEN


def no_parameters_twice(params: dict[str, object], seat: int) -> None: ...


@pytest.mark.parametrize(
    ("decorator", "name", "function", "advice"),
    [
        ("method", "two words", reserve, 'write @server.method("example/do")'),
        ("method", "", reserve, "1 to 128 printable ASCII characters"),
        ("method", 5, reserve, "was given 5 where the name belongs"),
        ("method", "notifications/done", reserve, 'write @server.notification("notifications/done")'),
        ("method", "example/do", no_parameters_twice, "keep params alone"),
        ("method", "example/do", dict, "It takes functions"),
        ("notification", "example/done", reserve, 'write @server.notification("notifications/example/done")'),
        ("notification", "ö", reserve, 'write @server.notification("notifications/example/done")'),
    ],
)
def test_mistakes_are_refused_when_they_are_made(desk, decorator, name, function, advice):
    with pytest.raises(InvalidPrimitive) as raised:
        getattr(desk, decorator)(name)(function)
    assert advice in str(raised.value)


def test_a_name_has_one_handler(desk):
    """S197, X6: a refused one leaves the first at work."""
    desk.method("example/reserve")(reserve)
    desk.method("example/reserve")(reserve)  # the same once more is harmless
    with pytest.raises(AlreadyRegistered) as raised:
        desk.method("example/reserve")(areserve)
    for name in ("test_custom_methods.reserve", "test_custom_methods.areserve", "change one of the two names"):
        assert name in str(raised.value)
    assert desk.registry.find_method("example/reserve").function is reserve
    assert CustomMethod.from_function("example/do", reserve).to_wire(LATEST) == {}


def test_an_override_of_the_registry_takes_methods_back(desk):
    with desk.registry.override() as registry:
        desk.method("example/reserve")(reserve)
        assert registry.find_method("example/reserve")
    assert desk.registry.find_method("example/reserve") is None


@pytest.fixture
def noted(desk):
    notes = []

    @desk.notification("notifications/example/note")
    def note(context: Context, text: str) -> None:
        User.objects.create(username=text)
        notes.append((text, context.request_id, str(context.protocol_version)))
        if text == "bad":
            raise RuntimeError("postgres://u:secret@db")

    return notes


def test_a_notification_runs_its_handler_and_gets_no_answer(client, noted):
    """M7, RPC-07; an id makes it an unknown method (S11)."""
    client.notify("notifications/example/note", {"text": "hello"})
    assert noted == [("hello", None, str(client.revision))]
    with pytest.raises(MCPError, match="Method not found"):
        client.request("notifications/example/note", {"text": "hello"})
    client.notify("notifications/example/unknown")
    assert len(noted) == 1


def test_nobody_hears_of_a_notification_that_failed(client, noted, set_around, seen, caplog):
    """RPC-07, S189; what it wrote is undone."""
    caplog.set_level("INFO", "django_mcp.server")
    set_around(EXCEPTION_REPORTER=f"{HERE}.report", MIDDLEWARE=[f"{HERE}.outer"])
    client.notify("notifications/example/note", {"text": "bad"})
    client.notify("notifications/example/note", {"text": 5})
    assert not User.objects.exists()
    assert "Notification notifications/example/note failed" in caplog.text
    assert "was not taken: 'text: " in caplog.text
    assert "outer before notifications/example/note" in seen


@pytest.mark.parametrize("door", DOORS)
def test_notifications_arrive_through_every_door(desk, settings, noted, door):
    """MH-07, LH-06: 202 without a body, whatever the handler makes of it."""
    settings.ROOT_URLCONF = (path("mcp", desk.urls),)
    client = WireClient(DOORS[door]())
    message = {"jsonrpc": "2.0", "method": "notifications/example/note", "params": {"text": "modern"}}
    answers = [client.post(message, {"MCP-Protocol-Version": "2026-07-28"})]
    for index, revision in enumerate(LEGACY):
        client.initialize(revision)
        noted_as = {**message, "params": {"text": f"legacy {index}"}}
        answers.append(client.post(noted_as, client.session_headers))
    answers.append(client.post({**message, "params": {"text": "bad"}}, client.session_headers))
    assert [(answer.status, answer.body) for answer in answers] == [(202, b"")] * 6
    assert [note[2] for note in noted] == ["2026-07-28", *LEGACY, LEGACY[-1]]


def test_a_header_that_contradicts_a_notification_is_refused(desk, settings, noted):
    settings.ROOT_URLCONF = (path("mcp", desk.urls),)
    client = WireClient(consumer())
    params: dict[str, object] = {"text": "x"}
    message = {"jsonrpc": "2.0", "method": "notifications/example/note", "params": params}
    answer = client.post(message, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/other"})
    assert (answer.status, answer.error["code"]) == (400, -32020)
    assert client.post(message, {"MCP-Protocol-Version": "2099-01-01"}).status == 202
    envelope = {"clientInfo": "no object", "clientCapabilities": None}
    params["_meta"] = {f"io.modelcontextprotocol/{key}": value for key, value in envelope.items()}
    assert client.post(message, {"MCP-Protocol-Version": "2026-07-28"}).status == 202
    assert len(noted) == 1
