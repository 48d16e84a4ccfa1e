"""The admin and the REST API."""

import json
from http import HTTPStatus

from django.contrib.auth.models import AnonymousUser, User
from django.db import IntegrityError, connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from example_project import settings
from example_project.helpdesk.choices import Status
from example_project.helpdesk.models import Agent, Attachment, Comment, Customer, Queue, Ticket
from tests.example.desk import DeskTestCase, agent_of


@override_settings(MIDDLEWARE=settings.MIDDLEWARE)
class PageTestCase(DeskTestCase):
    def log_in(self, username):
        self.client.force_login(User.objects.get(username=username))


class Admin(PageTestCase):
    def test_the_front_page_leads_to_the_admin(self):
        assert self.client.get("/").headers["Location"] == "/admin/"

    def test_agents_see_lists_and_forms(self):
        self.log_in("manager")
        Attachment.objects.create(ticket=self.own, name="bell.txt", content=b"ding")
        Comment.objects.create(ticket=self.own, body="Hello?")
        rows = [Queue.objects.all()[0], self.own.customer, agent_of("tom"), self.own]
        for row in rows:
            name = f"admin:helpdesk_{row._meta.model_name}"
            page = self.client.get(reverse(f"{name}_changelist"))
            assert page.status_code == HTTPStatus.OK
            assert self.client.get(reverse(f"{name}_change", args=[row.pk])).status_code == HTTPStatus.OK

    def test_the_number_of_queries_of_each_list_is_fixed(self):
        self.client.force_login(User.objects.create_superuser("root"))
        for model in (Queue, Customer, Agent, Ticket):
            url = reverse(f"admin:helpdesk_{model._meta.model_name}_changelist")
            first = model._default_manager.values_list("pk", flat=True)[0]
            with CaptureQueriesContext(connection) as queries:
                self.client.get(url, {"pk__in": first})
            with self.assertNumQueries(len(queries)):
                page = self.client.get(url, {"pk__gte": 0})
            assert len(page.context["cl"].result_list) > 3

    def test_tickets_are_resolved_together(self):
        self.log_in("agent")
        chosen = [self.own.pk, self.foreign.pk]
        data = {"action": "resolve", "_selected_action": chosen}
        page = self.client.post(reverse("admin:helpdesk_ticket_changelist"), data, follow=True)
        assert [str(message) for message in page.context["messages"]] == ["2 tickets were resolved."]
        resolved = Ticket.objects.filter(pk__in=chosen, status=Status.RESOLVED, resolved_at__isnull=False)
        assert resolved.count() == len(chosen)

    def test_the_admin_speaks_german(self):
        self.log_in("agent")
        page = self.client.get(reverse("admin:helpdesk_ticket_changelist"), headers={"Accept-Language": "de"})
        assert "Warteschlange" in page.content.decode()


class API(PageTestCase):
    def api(self, path="", data=None, method=None):
        url = f"/api/tickets/{path}"
        if data is None:
            return self.client.get(url, headers={"Accept": "application/json"})
        return self.client.generic(method or "POST", url, json.dumps(data), content_type="application/json")

    def test_nobody_sees_tickets_without_a_login(self):
        assert self.api().status_code == HTTPStatus.FORBIDDEN

    def test_customers_see_their_own_tickets(self):
        self.log_in("customer")
        references = [ticket["reference"] for ticket in self.api().json()["results"]]
        assert f"HD-{self.own.pk}" in references
        assert f"HD-{self.foreign.pk}" not in references
        assert self.api(f"{self.foreign.pk}/").status_code == HTTPStatus.NOT_FOUND

    def test_customers_open_tickets_for_themselves(self):
        self.log_in("customer")
        ticket = {"queue": "app", "subject": "No signal", "description": "None.", "customer": "x@y.example"}
        assert self.api(data=ticket).status_code == HTTPStatus.BAD_REQUEST
        del ticket["customer"]
        created = self.api(data=ticket).json()
        assert (created["customer"], created["status"]) == (self.own.customer.email, "new")
        Customer.objects.filter(user__username="customer").update(user=None)
        assert self.api(data=ticket).json() == {"customer": ["Name the email address of a customer."]}

    def test_agents_open_tickets_for_a_customer(self):
        self.log_in("agent")
        ticket = {"queue": "app", "subject": "No signal", "description": "None."}
        assert self.api(data=ticket).json() == {"customer": ["Name the email address of a customer."]}
        ticket["customer"] = self.foreign.customer.email
        assert self.api(data=ticket).status_code == HTTPStatus.CREATED

    def test_agents_change_tickets_and_customers_do_not(self):
        for role, expected in (("customer", HTTPStatus.FORBIDDEN), ("agent", HTTPStatus.OK)):
            self.log_in(role)
            assert self.api(f"{self.own.pk}/", {"subject": "Bell"}, "PATCH").status_code == expected
            assert self.api(f"{self.own.pk}/move/", {"status": "open"}).status_code == expected
        answer = self.api(f"{self.own.pk}/move/", {"status": "new"})
        assert "From there it can become" in answer.json()["status"][0]
        assert self.api(f"{self.own.pk}/move/", {"status": "lost"}).status_code == HTTPStatus.BAD_REQUEST

    def test_internal_notes_are_for_agents(self):
        Comment.objects.create(ticket=self.own, body="Hello?")
        Comment.objects.create(ticket=self.own, agent=agent_of("tom"), body="Again.", is_internal=True)
        for role, authors in (("customer", ["Jonas Albrecht"]), ("agent", ["Jonas Albrecht", "Tom Brandt"])):
            self.log_in(role)
            assert [comment["author"] for comment in self.api(f"{self.own.pk}/comments/").json()] == authors


class Models(DeskTestCase):
    def test_the_database_refuses_what_makes_no_sense(self):
        tickets = Ticket.objects.filter(pk=self.own.pk)
        for values in (
            {"status": "lost"},
            {"priority": 9},
            {"status": Status.CLOSED},
            {"due_at": self.own.opened_at.replace(year=2000)},
        ):
            with self.assertRaises(IntegrityError), transaction.atomic():
                tickets.update(**values)
        with self.assertRaises(IntegrityError), transaction.atomic():
            Comment.objects.create(ticket=self.own, body="Who says so?", is_internal=True)

    def test_rows_have_names(self):
        comment = Comment(ticket=self.own, body="Hello?")
        attachment = Attachment(ticket=self.own, name="bell.txt")
        assert [str(row) for row in (comment, attachment, self.own.queue)] == [
            "Jonas Albrecht: Hello?",
            "bell.txt",
            "Workshop and warranty",
        ]

    def test_anonymous_visitors_see_no_ticket(self):
        assert not Ticket.objects.visible_to(AnonymousUser()).exists()
