"""A process that serves another catalogue than those before it says so, and not too often."""

import threading
from datetime import timedelta
from unittest.mock import patch

from django.db import OperationalError, connections
from django.test import TestCase
from django.utils import timezone

from django_mcp import MCPServer
from django_mcp.events import catalogues
from django_mcp.events.kinds import Kind
from django_mcp.models import Catalogue, Event
from django_mcp.servers import all_servers, forget_servers


class CatalogueTests(TestCase):
    def setUp(self):
        self.addCleanup(forget_servers, all_servers())
        self.server = MCPServer("catalogue")

    def add(self, name, **options):
        self.server.tool(name=name, **options)(lambda: "")

    def test_only_what_is_new_is_told(self):
        """TOOL-28, RES-12"""
        self.add("one")
        assert catalogues.announce(self.server) == []
        assert catalogues.announce(self.server) == []
        self.add("two")
        assert catalogues.announce(self.server) == [Kind.TOOLS_CHANGED]
        assert catalogues.announce(self.server) == []
        self.server.prompt(name="greet")(lambda: "")
        self.server.resource("static://b", name="b")(lambda: "")
        assert catalogues.announce(self.server) == [Kind.PROMPTS_CHANGED, Kind.RESOURCES_CHANGED]
        assert list(Event.objects.order_by("seq").values_list("kind", "server")) == [
            ("tools.list_changed", "catalogue"),
            ("prompts.list_changed", "catalogue"),
            ("resources.list_changed", "catalogue"),
        ]
        assert str(Catalogue.objects.order_by("pk")[0]) == "catalogue: tools.list_changed"

    def test_two_releases_side_by_side_are_told_once_an_hour(self):
        old, new = self.server.registry.snapshot(), None
        catalogues.announce(self.server)
        self.add("two")
        new = self.server.registry.snapshot()
        assert catalogues.announce(self.server) == [Kind.TOOLS_CHANGED]
        for snapshot in (old, new, old):
            self.server.registry.restore(snapshot)
            assert catalogues.announce(self.server) == []
        Catalogue.objects.update(announced=timezone.now() - timedelta(hours=2))
        self.server.registry.restore(old)
        assert catalogues.announce(self.server) == [Kind.TOOLS_CHANGED]

    def test_forgotten_catalogues_are_removed(self):
        catalogues.announce(self.server)
        Catalogue.objects.update(announced=timezone.now() - timedelta(days=31))
        self.add("two")
        catalogues.announce(self.server)
        assert Catalogue.objects.filter(kind=Kind.TOOLS_CHANGED).count() == 1


class ServingTests(TestCase):
    def setUp(self):
        self.addCleanup(forget_servers, all_servers())
        self.server = MCPServer("serving")
        self.addCleanup(catalogues._announced.pop, "serving", None)
        self.told = threading.Semaphore(0)

    def serve(self, **options):
        with (
            patch.object(catalogues, "is_test_run", return_value=False),
            patch.object(catalogues, "announce", **options) as announce,
            patch.object(connections, "close_all", self.told.release),
        ):
            yield announce

    def test_it_is_announced_once_and_after_each_change_of_the_code(self):
        for announce in self.serve():
            self.server.tool(name="early")(lambda: "")
            for _ in range(3):
                catalogues.start_serving(self.server)
            assert self.told.acquire(timeout=30)
            self.server.tool(name="late")(lambda: "")
            assert self.told.acquire(timeout=30)
            assert announce.call_count == 2

    def test_two_requests_at_once_announce_once(self):
        class Late(dict[str, int]):
            def get(self, name, default=None):
                found = super().get(name, default)
                self[name] = version
                return found

        version = self.server.registry.version
        for announce in self.serve():
            with patch.object(catalogues, "_announced", Late()):
                catalogues.start_serving(self.server)
            assert announce.call_count == 0

    def test_a_database_that_is_away_is_no_reason_to_fail(self):
        for _ in self.serve(side_effect=OperationalError("away")):
            with self.assertLogs("django_mcp.events", "WARNING"):
                catalogues.start_serving(self.server)
                assert self.told.acquire(timeout=30)

    def test_test_runs_announce_nothing(self):
        with patch.object(catalogues, "announce") as announce:
            catalogues.start_serving(self.server)
        assert not announce.called
