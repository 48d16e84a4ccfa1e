"""Handlers of the site that a subscription has to pass, whichever era and door it comes by."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied

import django_mcp
from django_mcp import (
    Context,
    InvalidArguments,
    InvalidPrimitive,
    MCPServer,
    Resource,
    ResourceNotFound,
    ResourceTemplate,
    ToolError,
    default_server,
)
from django_mcp.servers import all_servers, forget_servers
from tests.events.streaming import SUBSCRIPTION, StreamTestCase
from tests.events.test_get_streams import changed as told
from tests.events.test_get_streams import updated as told_of
from tests.events.test_listening import acknowledged, changed, is_closing
from tests.events.test_stdio import StdioTestCase

User = get_user_model()


class HandlerTestCase(StreamTestCase):
    def setUp(self):
        super().setUp()
        self.enterContext(default_server.registry.override())
        self.asked: list[Any] = []

    def note(self, uri, context: Context):
        self.asked.append((uri, context.user.is_anonymous))

    def veto(self, error):
        def refuse():
            self.asked.append("veto")
            raise error

        return refuse


class VetoTests(HandlerTestCase):
    def test_a_veto_is_told_and_nothing_is_subscribed_to(self):
        """S116; what is refused is worded as it is for readers."""
        cases = {
            "odd://tool": (ToolError("Closed tickets do not change."), -32603, "Closed tickets do not change."),
            "odd://arguments": (InvalidArguments("Not this one"), -32602, "Not this one"),
            "odd://denied": (PermissionDenied("secret"), -32002, "Resource not found"),
            "odd://gone": (ResourceNotFound(), -32002, "Resource not found"),
            "odd://row": (User.DoesNotExist(), -32002, "Resource not found"),
        }
        for uri, (error, *_) in cases.items():
            default_server.define_resource(uri, lambda: "", name="odd", on_subscribe=self.veto(error))

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            for uri, (_, code, message) in cases.items():
                error = (await session.call("resources/subscribe", uri=uri))["error"]
                assert (error["code"], error["message"]) == (code, message), uri
                await django_mcp.anotify_resource_updated(uri)
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == told("tools")

        self.play(scenario)

    def test_what_is_vetoed_is_no_part_of_the_honoured_filter(self):
        """SUB-02, S244"""
        default_server.define_resource("odd://one", lambda: "", name="one", on_subscribe=self.veto(ToolError("no")))
        default_server.define_resource("odd://two", lambda: "", name="two", on_subscribe=self.note)

        async def scenario(site):
            both = ["odd://one", "odd://two"]
            stream = await site.listen({"resourceSubscriptions": both, "toolsListChanged": True})
            honoured = {"resourceSubscriptions": ["odd://two"], "toolsListChanged": True}
            assert await stream.message() == acknowledged(honoured)
            await django_mcp.anotify_resource_updated("odd://one")
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == changed("tools")
            alone = await site.listen({"resourceSubscriptions": ["odd://one"]})
            assert await alone.message() == acknowledged({})
            assert is_closing(await alone.message())

        self.play(scenario)
        assert self.asked == ["veto", ("odd://two", True), "veto"]

    def test_a_handler_that_fails_lets_nobody_subscribe(self):
        """What went wrong is for the log."""
        default_server.define_resource("odd://one", lambda: "", name="one", on_subscribe=self.veto(KeyError("secret")))
        default_server.define_resource("odd://two", lambda: "", name="two", on_subscribe=lambda: False)
        default_server.define_resource("odd://three", lambda: "", name="three", on_subscribe=lambda: {"a b": 1})
        default_server.define_resource("odd://four", lambda: "", name="four", on_subscribe=lambda: {"dev.mcp/x": 1})
        uris = ["odd://one", "odd://two", "odd://three", "odd://four"]

        async def scenario(site):
            session = await site.session()
            for uri in uris:
                with self.assertLogs("django_mcp.server", "ERROR"):
                    error = (await session.call("resources/subscribe", uri=uri))["error"]
                assert error == {"code": -32603, "message": "Internal error"}
                with self.assertLogs("django_mcp.server", "ERROR"):
                    stream = await site.listen({"resourceSubscriptions": [uri]})
                    assert await stream.message() == acknowledged({})

        self.play(scenario)

    def test_the_reporter_hears_of_what_fails(self):
        """S189"""
        self.settings_of_the_test = {"EXCEPTION_REPORTER": "tests.events.test_subscription_handlers.report"}
        super().setUp()
        default_server.define_resource("odd://one", lambda: "", name="one", on_subscribe=self.veto(KeyError("x")))
        REPORTED.clear()

        async def scenario(site):
            with self.assertLogs("django_mcp.server", "ERROR"):
                await (await site.listen({"resourceSubscriptions": ["odd://one"]})).message()
                await (await site.session()).call("resources/subscribe", uri="odd://one")

        self.play(scenario)
        assert REPORTED == ["KeyError", "KeyError"]

    def test_an_end_may_be_vetoed_too(self):
        default_server.define_resource(
            "odd://one", lambda: "", name="one", on_unsubscribe=self.veto(InvalidArguments("Stay"))
        )

        async def scenario(site):
            session = await site.session()
            stream = await session.get()
            assert (await session.call("resources/subscribe", uri="odd://one"))["result"] == {}
            error = (await session.call("resources/unsubscribe", uri="odd://one"))["error"]
            assert (error["code"], error["message"]) == (-32602, "Stay")
            await django_mcp.anotify_resource_updated("odd://one")
            assert await stream.message() == told_of("odd://one")

        self.play(scenario)

    def test_who_may_not_read_is_refused_before_anybody_is_asked(self):
        """RES-15: behind a URI is what a reader would meet."""
        default_server.on_subscribe(self.note)
        default_server.on_unsubscribe(self.note)
        default_server.define_resource("odd://one", lambda: "", name="one", permission="auth.view_user")
        default_server.define_resource_template("odd://{name}", lambda name: name, name="any")

        async def scenario(site):
            session = await site.session()
            for uri in ("odd://one", "no://such"):
                assert (await session.call("resources/subscribe", uri=uri))["error"]["code"] == -32002
                assert (await session.call("resources/unsubscribe", uri=uri))["result"] == {}
            stream = await site.listen({"resourceSubscriptions": ["odd://one"]})
            assert await stream.message() == acknowledged({})

        self.play(scenario)
        assert self.asked == []

    def test_a_resource_that_hides_behind_another_is_not_told(self):
        """RES-15: whoever may not read the first that a URI stands for does not hear of it."""
        default_server.define_resource_template("odd://{name}", lambda name: name, name="any")

        async def scenario(site):
            stream = await site.listen({"resourceSubscriptions": ["odd://one"], "toolsListChanged": True})
            await stream.message()
            default_server.define_resource("odd://one", lambda: "", name="one", permission="auth.view_user")
            await django_mcp.anotify_resource_updated("odd://one")
            await django_mcp.anotify_tools_changed()
            assert await stream.message() == changed("tools")

        self.play(scenario)


REPORTED: list[str] = []


def report(error, context):
    REPORTED.append(type(error).__name__)


class AnswerTests(HandlerTestCase):
    def test_a_dict_goes_into_meta_of_the_answer(self):
        """S116: there and nowhere else; the resource's own comes first."""
        default_server.define_resource(
            "odd://one", lambda: "", name="one", on_subscribe=lambda uri: {"com.example/lag": 5, "uri": uri}
        )

        @default_server.on_subscribe
        async def everywhere(uri):
            return {"com.example/lag": 60, "com.example/by": "server"}

        @default_server.on_unsubscribe
        def goodbye():
            return {"com.example/by": "bye"}

        async def scenario(site):
            session = await site.session()
            result = (await session.call("resources/subscribe", uri="odd://one"))["result"]
            assert result == {"_meta": {"com.example/lag": 5, "uri": "odd://one", "com.example/by": "server"}}
            result = (await session.call("resources/unsubscribe", uri="odd://one"))["result"]
            assert result == {"_meta": {"com.example/by": "bye"}}
            stream = await site.listen({"resourceSubscriptions": ["odd://one"]})
            assert (await stream.message())["params"]["_meta"] == {SUBSCRIPTION: 1}

        self.play(scenario)

    def test_a_template_gives_its_variables_as_its_function_gets_them(self):
        seen = []

        def follow(pk, uri, context: Context, page=None):
            seen.append((pk, uri, page, context.session is not None))

        default_server.define_resource_template(
            "odd://{pk:int}{?page}", lambda pk, page="1": "", name="odd", on_subscribe=follow
        )
        default_server.define_resource_template(
            "even://{pk}", _read_number, name="even", on_subscribe=lambda pk: seen.append(pk)
        )

        async def scenario(site):
            session = await site.session()
            await session.call("resources/subscribe", uri="odd://7")
            await session.call("resources/subscribe", uri="odd://8?page=2")
            assert (await session.call("resources/subscribe", uri="even://x"))["error"]["code"] == -32002
            await (await site.listen({"resourceSubscriptions": ["odd://9", "even://4"]})).message()

        self.play(scenario)
        assert seen == [(7, "odd://7", None, True), (8, "odd://8?page=2", "2", True), (9, "odd://9", None, False), 4]

    def test_what_a_handler_writes_is_undone_where_it_refuses(self):
        def write(context):
            User.objects.create(username=f"u{User.objects.count()}")
            if context.session is None:
                raise ToolError("no")

        default_server.define_resource("odd://one", lambda: "", name="one", on_subscribe=write)

        async def scenario(site):
            await (await site.session()).call("resources/subscribe", uri="odd://one")
            await (await site.listen({"resourceSubscriptions": ["odd://one"]})).message()

        self.play(scenario)
        assert User.objects.count() == 1


def _read_number(pk: int) -> str:
    return str(pk)  # pragma: no cover - nobody reads it


class StyleTests(HandlerTestCase):
    def test_classes_and_decorators_have_them_too(self):
        @default_server.resource("odd://decorated", on_subscribe=self.note)
        def decorated() -> str:
            return ""  # pragma: no cover - nobody reads it

        def note(uri):
            self.asked.append(uri)

        @default_server.register
        class Whole(Resource):
            uri = "odd://class"
            on_subscribe = note
            on_unsubscribe = note

            def read(self) -> str:
                return ""  # pragma: no cover - nobody reads it

        @default_server.register
        class Many(ResourceTemplate):
            uri_template = "odd://many/{pk}"

            def on_subscribe(pk, uri):
                note(f"{pk} {uri}")

            def read(self, pk: int) -> str:
                return ""  # pragma: no cover - nobody reads it

        async def scenario(site):
            session = await site.session()
            for uri in ("odd://decorated", "odd://class", "odd://many/3"):
                assert (await session.call("resources/subscribe", uri=uri))["result"] == {}
                assert (await session.call("resources/unsubscribe", uri=uri))["result"] == {}

        self.play(scenario)
        assert self.asked == [("odd://decorated", True), "odd://class", "odd://class", "3 odd://many/3"]

    def test_a_module_that_runs_twice_asks_once(self):
        for _ in range(2):
            default_server.on_subscribe(_everywhere)
        assert len(default_server.registry.on_subscribe) == 1


def _everywhere(uri):
    """Registered twice."""


class StdioHandlerTests(StdioTestCase):
    def test_a_stdio_client_has_to_pass_them(self):
        self.enterContext(default_server.registry.override())
        default_server.define_resource(
            "odd://one", lambda: "", name="one", on_subscribe=lambda context: _only_sessions(context)
        )

        async def steps(client):
            await client.initialize()
            answer = await client.legacy("resources/subscribe", {"uri": "odd://one"})
            assert answer["result"] == {"_meta": {"com.example/ok": True}}
            wanted = {"notifications": {"resourceSubscriptions": ["odd://one"]}}
            assert await client.modern("subscriptions/listen", wanted, id=3) == acknowledged({}, 3)
            assert is_closing(await client.receive(), 3)

        self.talk(steps)


def _only_sessions(context):
    if context.session is None:
        raise ToolError("no")
    return {"com.example/ok": True}


@pytest.fixture
def server():
    servers = all_servers()
    yield MCPServer("asked")
    forget_servers(servers)


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (
            lambda server: server.on_subscribe(5),
            "on_subscribe was given 5. It is a function of the URI and the context, as it likes: "
            "write def on_subscribe(uri, context).",
        ),
        (
            lambda server: server.define_resource("a:b", lambda: "", name="x", on_unsubscribe=_number),
            "tests.events.test_subscription_handlers._number takes pk as on_unsubscribe. It is given uri and the "
            "context, as it likes: use these names.",
        ),
        (
            lambda server: server.define_resource_template("a:{b}", lambda b: "", name="x", on_subscribe=_number),
            "tests.events.test_subscription_handlers._number takes pk as on_subscribe. It is given uri, b and the "
            "context, as it likes: use these names.",
        ),
        (
            lambda server: server.define_resource_template(
                "a:{b}{?pk}", lambda b, pk="": "", name="x", on_subscribe=_number
            ),
            "tests.events.test_subscription_handlers._number takes pk as on_subscribe, which a URI may leave out: "
            "write pk=None.",
        ),
    ],
)
def test_what_is_no_handler_is_refused_where_it_is_registered(server, register, message):
    with pytest.raises(InvalidPrimitive) as caught:
        register(server)
    assert str(caught.value) == message


def _number(pk): ...
