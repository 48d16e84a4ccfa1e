"""Models drive live data: what is saved, deleted or linked is published with its transaction."""

from typing import Any
from unittest.mock import patch

from asgiref.sync import async_to_sync
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connections, transaction
from django.test import TestCase, TransactionTestCase
from django.urls import path
from django.utils import timezone

import django_mcp
from django_mcp import MCPServer
from django_mcp.events.log import _waiting_on
from django_mcp.events.watching import follow, follow_all
from django_mcp.exceptions import InvalidPrimitive
from django_mcp.models import Event
from django_mcp.servers import all_servers, forget_servers
from tests.shop.models import Book, Category, Product
from tests.wire.client import WireClient
from tests.wire.doors import DOORS


class WatchTestCase(TestCase):
    def setUp(self):
        self.addCleanup(forget_servers, all_servers())
        self.server = MCPServer("watching")
        self.addCleanup(lambda: self.server.registry.restore(type(self.server.registry.snapshot())()))

    def watch(self, template, **options):
        names = [part.partition("}")[0] for part in template.split("{")[1:]]
        decorate = self.server.resource_template if names else self.server.resource
        function = eval(f"lambda {', '.join(names)}: ''")  # noqa: S307 - with the parameters of the template
        decorate(template, name="watched", **options)(function)

    def published(self):
        uris = list(Event.objects.filter(server="watching").order_by("pk").values_list("uri", flat=True))
        Event.objects.all().delete()
        _waiting_on(connections["default"])._hooks.clear()  # as the end of the transaction would
        return uris


class WatchTests(WatchTestCase):
    def test_a_template_takes_its_variables_from_the_object(self):
        self.watch("product://{pk}/{name}", watch=Product)
        pen = Product.objects.create(name="red pen")
        assert self.published() == [f"product://{pen.pk}/red%20pen"]
        pen.name = "größe"
        pen.save()
        assert self.published() == [f"product://{pen.pk}/gr%C3%B6%C3%9Fe"]
        key = pen.pk
        pen.delete()
        assert self.published() == [f"product://{key}/gr%C3%B6%C3%9Fe"]

    def test_a_resource_is_told_of_every_object(self):
        self.watch("shop://stock", watch=[Product, "shop.Category"])
        Product.objects.create(name="pen")
        assert self.published() == ["shop://stock"]
        Category.objects.create(name="tools")
        assert self.published() == ["shop://stock"]

    def test_a_function_says_which_uris(self):
        answers = iter(["note://a", ["note://b", "note://c"], None, "no uri"])
        self.watch("note://{name}", watch=Product, uri_for=lambda product: next(answers))
        for number in range(3):
            Product.objects.create(name=str(number))
        assert self.published() == ["note://a", "note://b", "note://c"]
        with self.assertLogs("django_mcp.events", "ERROR"):
            Product.objects.create(name="wrong")
        assert self.published() == []
        assert Product.objects.count() == 4

    def test_objects_of_inheriting_models_are_watched_too(self):
        self.watch("product://{pk}", watch=Product)
        book = Book.objects.create(name="novel")
        assert self.published() == [f"product://{book.pk}"]

    def test_other_models_are_left_alone(self):
        self.watch("category://{pk}", watch=Category)
        Product.objects.create(name="pen")
        assert self.published() == []

    def test_what_is_no_resource_any_more_is_not_told(self):
        self.watch("product://{pk}", watch=Product)
        self.server.registry.restore(type(self.server.registry.snapshot())())
        Product.objects.create(name="pen")
        assert self.published() == []

    def test_a_save_does_not_look_through_all_resources(self):
        self.watch("product://{pk}", watch=Product)
        Product.objects.create(name="pen")
        self.published()
        with patch("django_mcp.events.watching._watches", side_effect=AssertionError):
            ink = Product.objects.create(name="ink")
        assert self.published() == [f"product://{ink.pk}"]

    def test_links_are_told_from_both_sides(self):
        self.watch("group://{pk}", watch=Group)
        self.watch("user://{pk}", watch=User)
        ann, bob = (User.objects.create(username=name) for name in ("ann", "bob"))
        desk = Group.objects.create(name="desk")
        permission = Permission.objects.all()[0]
        self.published()
        ann_uri, bob_uri, desk_uri = f"user://{ann.pk}", f"user://{bob.pk}", f"group://{desk.pk}"
        ann.groups.add(desk)
        assert sorted(self.published()) == sorted([ann_uri, desk_uri])
        desk.user_set.add(ann, bob)
        assert sorted(self.published()) == sorted([desk_uri, bob_uri])
        desk.user_set.remove(bob)
        assert sorted(self.published()) == sorted([desk_uri, bob_uri])
        desk.user_set.clear()
        assert sorted(self.published()) == sorted([desk_uri, ann_uri])
        desk.permissions.set([permission])
        assert self.published() == [desk_uri]

    def test_a_fixture_is_not_told(self):
        self.watch("product://{pk}", watch=Product)
        Product(name="pen", updated_at=timezone.now()).save_base(raw=True)
        assert self.published() == []

    def test_what_has_no_signals_has_a_function(self):
        self.watch("product://{pk}", watch=Product)
        Product.objects.bulk_create([Product(name="a"), Product(name="b")])
        assert self.published() == []
        django_mcp.notify_objects_updated(Product.objects.order_by("pk"))
        uris = [f"product://{pk}" for pk in Product.objects.order_by("pk").values_list("pk", flat=True)]
        assert self.published() == uris
        async_to_sync(django_mcp.anotify_objects_updated)(list(Product.objects.order_by("pk")))
        assert self.published() == uris

    def test_what_was_registered_before_the_models_is_followed_later(self):
        with patch.object(apps, "models_ready", False):
            self.watch("group://{pk}", watch=Group)
            follow(self.server)
        self.watch("product://{pk}", watch="shop.Product")
        follow_all()
        pen = Product.objects.create(name="pen")
        assert self.published() == [f"product://{pen.pk}"]


class CoalescingTests(TransactionTestCase):
    databases = {"default", "other"}

    def setUp(self):
        self.addCleanup(forget_servers, all_servers())
        self.server = MCPServer("watching")
        self.server.resource("shop://stock", watch=Product)(lambda: "")
        self.addCleanup(lambda: self.server.registry.restore(type(self.server.registry.snapshot())()))

    def test_a_transaction_tells_once_and_only_if_it_commits(self):
        with transaction.atomic():
            for number in range(5):
                Product.objects.create(name=str(number))
        assert Event.objects.count() == 1
        with transaction.atomic():
            Product.objects.create(name="no")
            transaction.set_rollback(True)
        assert Event.objects.count() == 1

    def test_another_database_tells_after_its_own_commit(self):
        with transaction.atomic(using="other"):
            Product.objects.using("other").create(name="pen")
            assert not Event.objects.exists()
        assert Event.objects.count() == 1


class MistakeTests(WatchTestCase):
    def test_what_cannot_be_watched_is_refused_at_once(self):
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"watch": "Product"}, 'watch="helpdesk.Ticket"'),
            ({"watch": Product()}, "watch=Ticket"),
            ({"watch": int}, "watch=Ticket"),
            ({"watch": []}, "watch=Ticket"),
            ({"uri_for": str}, "write watch=Ticket beside it"),
            ({"watch": Product, "uri_for": "pk"}, "function of an object"),
            ({"watch": Product}, "has no attribute number"),
        ]
        for options, hint in wrong:
            with self.subTest(options=options), self.assertRaisesMessage(InvalidPrimitive, hint):
                self.watch("product://{number}", **options)

    def test_a_model_that_is_not_there_is_told(self):
        with self.assertRaisesMessage(LookupError, "Nothing"):
            self.watch("product://{number}", watch="shop.Nothing")


class InvalidatesTests(WatchTestCase):
    def call(self, function, **arguments):
        with self.settings(ROOT_URLCONF=(path("mcp", self.server.urls),)):
            return WireClient(DOORS["consumer"]()).call_tool("modern", function.__name__, arguments)

    def test_a_tool_tells_what_it_changed(self):
        @self.server.tool(invalidates=["ticket://{number}", "desk://queue", "user://{owner}"])
        def close_ticket(number: int, owner: str | None = None) -> str:
            return "closed"

        @self.server.tool(invalidates=["ticket://{number}"])
        async def aclose(number: int) -> str:
            return "closed"

        self.call(close_ticket, number=5)
        assert self.published() == ["ticket://5", "desk://queue"]
        self.call(close_ticket, number=5, owner="ann")
        assert self.published() == ["ticket://5", "desk://queue", "user://ann"]
        self.call(aclose, number=6)
        assert self.published() == ["ticket://6"]

    def test_a_tool_that_fails_tells_nothing(self):
        @self.server.tool(invalidates=["desk://queue"])
        def broken() -> str:
            raise django_mcp.ToolError("no")

        assert self.call(broken)["isError"]
        assert self.published() == []

    def test_what_is_no_list_of_uris_is_refused_at_once(self):
        wrong: list[tuple[Any, str]] = [
            ("desk://queue", 'invalidates=["ticket://{number}"]'),
            (5, 'invalidates=["ticket://{number}"]'),
            (["ticket://{pk}"], "has no parameter pk"),
        ]
        for invalidates, hint in wrong:
            with self.subTest(invalidates=invalidates), self.assertRaisesMessage(InvalidPrimitive, hint):
                self.server.tool(name="close", invalidates=invalidates)(lambda number: "")


class ClassTests(WatchTestCase):
    def test_classes_say_it_too(self):
        @self.server.register
        class Stock(django_mcp.Resource):
            uri = "shop://stock"
            watch = Product

            def read(self): ...

        @self.server.register
        class Restock(django_mcp.Tool):
            invalidates = ("shop://stock",)

            def call(self): ...

        Product.objects.create(name="pen")
        assert self.published() == ["shop://stock"]
