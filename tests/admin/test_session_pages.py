"""The pages of legacy sessions."""

from http import HTTPStatus

from django.contrib.auth.models import AnonymousUser, User
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_mcp.models import Session
from tests.admin.pages import PageTestCase
from tests.rows import find_as, open_as


class SessionPageTests(PageTestCase):
    def test_it_says_which_client_of_whom_is_connected(self):
        open_as(self.root, client_info={"name": "Cursor", "version": "1.2"}, client_capabilities={"roots": {}})
        open_as(AnonymousUser(), client_info={"name": "<b>", "version": ""})
        open_as(AnonymousUser(), client_info={})
        text = self.text(self.listing(Session))
        assert "Cursor 1.2 root 2025-06-18" in text
        assert "&lt;b&gt; - 2025" in text
        assert "? - 2025" in text
        [found] = self.listing(Session, q="curs").context["cl"].result_list
        assert "&quot;roots&quot;" in self.text(self.page(found))

    def test_a_client_cannot_make_the_list_long(self):
        open_as(self.root, client_info={"name": "<script>" * 5000, "version": ["x"] * 3000})
        listing = self.listing(Session)
        assert len(listing.content) < 20_000
        assert "&lt;script&gt;" in self.text(listing)

    def test_the_number_of_queries_is_fixed(self):
        open_as(self.root)
        self.listing(Session)
        with CaptureQueriesContext(connection) as queries:
            self.listing(Session)
        for number in range(50):
            open_as(User.objects.create(username=f"user {number}"))
        with self.assertNumQueries(len(queries)):
            self.listing(Session)

    @override_settings(DJANGO_MCP={"SESSION_CACHE": 60})
    def test_sessions_end_where_they_are_deleted(self):
        first, second, third = (open_as(self.root) for _ in range(3))
        rows = list(Session.objects.order_by("pk"))
        assert "End the selected sessions" in self.text(self.listing(Session))
        self.act("delete_selected", *rows[:2], post="yes")
        assert find_as(self.root, first) is None
        assert find_as(self.root, second) is None
        assert find_as(self.root, third) is not None
        self.client.post(reverse("admin:django_mcp_session_delete", args=[rows[2].pk]), {"post": "yes"})
        assert find_as(self.root, third) is None
        assert len(self.log()) == 3

    def test_nobody_adds_or_edits_one(self):
        open_as(self.root)
        row = Session.objects.get()
        assert self.client.get(reverse("admin:django_mcp_session_add")).status_code == HTTPStatus.FORBIDDEN
        assert self.save(row, server="other").status_code == HTTPStatus.FORBIDDEN

    def test_ending_takes_the_permission(self):
        open_as(self.root)
        row = Session.objects.get()
        self.log_in_with("view_session")
        self.act("delete_selected", row, post="yes")
        assert Session.objects.filter(pk=row.pk).exists()
