"""Resources, templates, prompts and completions through the endpoint, as each role."""

import base64
import json

from django.db import connections

from django_mcp.events.log import _waiting_on
from django_mcp.models import Event
from example_project.helpdesk.choices import Priority, Status
from example_project.helpdesk.models import Agent, Attachment, Comment, Ticket
from tests.example.desk import ERAS, ROLES, DeskTestCase, agent_of, new_ticket

GUIDE, QUEUES, MINE = "helpdesk://guide", "helpdesk://queues", "helpdesk://my-tickets"
TICKET = "helpdesk://tickets/{number}"
ATTACHMENT = "helpdesk://tickets/{number}/attachments/{name}"


class Resources(DeskTestCase):
    def test_each_role_is_told_of_what_it_may_read(self):
        for era in ERAS:
            for role in ROLES:
                resources = self.request(role, "resources/list", era).result["resources"]
                expected = [GUIDE, MINE] if role == "customer" else [GUIDE, QUEUES, MINE]
                registered, tickets = resources[: len(expected)], resources[len(expected) :]
                assert [resource["uri"] for resource in registered] == expected
                urgent = Ticket.objects.active().filter(priority=Priority.URGENT)
                if role == "customer":
                    urgent = urgent.filter(customer=self.own.customer)
                assert [one["uri"] for one in tickets] == [
                    f"helpdesk://tickets/{pk}" for pk in urgent.order_by("due_at", "pk").values_list("pk", flat=True)
                ]
                templates = self.request(role, "resources/templates/list", era).result["resourceTemplates"]
                assert [template["uriTemplate"] for template in templates] == [TICKET, ATTACHMENT]

    def test_urgent_tickets_are_listed_and_can_be_read(self):
        listed = self.request("agent", "resources/list").result["resources"][-1]
        assert listed["name"].startswith("HD-")
        assert self.read("agent", listed["uri"])["text"].startswith(f"# {listed['title']}")

    def test_who_has_no_part_in_the_help_desk_has_no_tickets_of_his_own(self):
        listed = self.request("outsider", "resources/list").result["resources"]
        assert MINE not in [one["uri"] for one in listed]
        assert self.request("outsider", "resources/read", uri=MINE).error["code"] == -32602

    def test_the_guide_is_in_the_language_of_the_caller(self):
        for role in ROLES:
            for era in ERAS:
                assert self.read(role, GUIDE, era)["text"].startswith("# How we answer")
        answer = self.client_of("agent", **{"Accept-Language": "de"}).modern("resources/read", {"uri": GUIDE})
        assert answer.result["contents"][0]["text"].startswith("# Wie wir antworten")
        assert (answer.result["ttlMs"], answer.result["cacheScope"]) == (3_600_000, "private")

    def test_queues_are_for_agents(self):
        for era in ERAS:
            queues = json.loads(self.read("agent", QUEUES, era)["text"])
            assert queues[0]["slug"] == "app"
        assert self.request("customer", "resources/read", uri=QUEUES).error["code"] == -32602

    def test_everybody_has_tickets_of_their_own(self):
        Ticket.objects.filter(pk=self.urgent.pk).update(assignee=agent_of("agent"))
        for era in ERAS:
            assert f"- HD-{self.own.pk} Bell does not ring: new" in self.read("customer", MINE, era)["text"]
            assert f"- HD-{self.urgent.pk} " in self.read("agent", MINE, era)["text"]
        Ticket.objects.all().delete()
        assert self.read("manager", MINE)["text"] == "Nothing to do."

    def test_a_ticket_is_a_page(self):
        Comment.objects.create(ticket=self.own, body="Hello?")
        Comment.objects.create(ticket=self.own, agent=agent_of("agent"), body="Again.", is_internal=True)
        uri = f"helpdesk://tickets/{self.own.pk}"
        for era in ERAS:
            page = self.read("agent", uri, era)
            assert page["mimeType"] == "text/markdown"
            assert page["text"].startswith(f"# HD-{self.own.pk} Bell does not ring\n\n- customer: Jonas Albrecht <")
            assert "**Mara Okafor**" in page["text"]
            assert "(internal note)" in page["text"]
            assert "internal note" not in self.read("customer", uri, era)["text"]

    def test_a_foreign_ticket_is_not_found(self):
        for uri in (f"helpdesk://tickets/{self.foreign.pk}", "helpdesk://tickets/999999"):
            assert self.request("customer", "resources/read", uri=uri).error["code"] == -32602
            assert self.request("customer", "resources/read", "2025-11-25", uri=uri).error["code"] == -32002

    def test_attachments_are_texts_or_bytes(self):
        Attachment.objects.create(ticket=self.own, name="bell.txt", content=b"ding")
        Attachment.objects.create(ticket=self.own, name="bell.png", content=b"\x89PNG", media_type="image/png")
        folder = f"helpdesk://tickets/{self.own.pk}/attachments"
        for role in ROLES:
            for era in ERAS:
                text, picture = self.read(role, f"{folder}/bell.txt", era), self.read(role, f"{folder}/bell.png", era)
                assert (text["mimeType"], text["text"]) == ("text/plain", "ding")
                assert (picture["mimeType"], base64.b64decode(picture["blob"])) == ("image/png", b"\x89PNG")

    def test_attachments_of_foreign_tickets_are_not_found(self):
        Attachment.objects.create(ticket=self.foreign, name="saddle.txt", content=b"hard")
        uri = f"helpdesk://tickets/{self.foreign.pk}/attachments/saddle.txt"
        assert self.request("customer", "resources/read", uri=uri).error["code"] == -32602
        assert self.read("agent", uri)["text"] == "hard"


class Prompts(DeskTestCase):
    def get(self, role, name, era="modern", **arguments):
        return self.request(role, "prompts/get", era, name=name, arguments=arguments)

    def test_each_role_is_told_of_its_prompts(self):
        expected = {"customer": ["report_problem"]}
        expected["agent"] = ["draft_reply", "triage_queue", "report_problem"]
        expected["manager"] = ["draft_reply", "triage_queue", "weekly_review", "report_problem"]
        for era in ERAS:
            for role in ROLES:
                prompts = self.request(role, "prompts/list", era).result["prompts"]
                assert [prompt["name"] for prompt in prompts] == expected[role]

    def test_a_reply_is_drafted_with_the_ticket_at_hand(self):
        for era in ERAS:
            page, request = self.get("agent", "draft_reply", era, number=str(self.own.pk), tone="formal").result[
                "messages"
            ]
            assert page["content"]["resource"]["uri"] == f"helpdesk://tickets/{self.own.pk}"
            assert "Bell does not ring" in page["content"]["resource"]["text"]
            assert "Jonas Albrecht in German. The tone is formal." in request["content"]["text"]
        assert self.get("customer", "draft_reply", number=str(self.own.pk)).error["code"] == -32602
        assert "no ticket 999999" in self.get("agent", "draft_reply", number="999999").error["message"]

    def test_a_queue_is_sorted(self):
        for era in ERAS:
            [message] = self.get("agent", "triage_queue", era, queue="workshop").result["messages"]
            assert "Workshop and warranty" in message["content"]["text"]
            assert f"- HD-{self.own.pk} Bell does not ring" in message["content"]["text"]
        client = self.client_of("agent", **{"Accept-Language": "de"})
        answer = client.modern("prompts/get", {"name": "triage_queue", "arguments": {"queue": "workshop"}})
        assert answer.result["messages"][0]["content"]["text"].startswith("Geh die Tickets der Warteschlange Workshop")

    def test_weeks_are_reviewed_by_managers(self):
        for era in ERAS:
            [message] = self.get("manager", "weekly_review", era, weeks="2").result["messages"]
            assert "the last 14 days" in message["content"]["text"]
        assert self.get("agent", "weekly_review").error["code"] == -32602

    def test_a_problem_is_reported_in_the_language_of_the_customer(self):
        for era in ERAS:
            [message] = self.get("customer", "report_problem", era, product="Falk Commuter").result["messages"]
            assert message["content"]["text"].startswith("Something is wrong with my Falk Commuter.")
        client = self.client_of("customer", **{"Accept-Language": "de"})
        answer = client.modern("prompts/get", {"name": "report_problem", "arguments": {"product": "Minnow 20"}})
        assert answer.result["messages"][0]["content"]["text"].startswith("Mit meinem Minnow 20 stimmt")


class Completions(DeskTestCase):
    def complete(self, role, ref, name, value, era="modern", **chosen):
        argument = {"name": name, "value": value}
        reference = {"type": "ref/resource", "uri": ref} if ":" in ref else {"type": "ref/prompt", "name": ref}
        params = {"ref": reference, "argument": argument, "context": {"arguments": chosen}}
        return self.request(role, "completion/complete", era, **params).result["completion"]

    def test_customers_are_offered_their_own_tickets(self):
        own = Ticket.objects.filter(customer=self.own.customer).active()
        for era in ERAS:
            offered = self.complete("customer", TICKET, "number", "", era)
            assert offered["values"] == [str(pk) for pk in own.order_by("pk").values_list("pk", flat=True)]
        assert self.complete("customer", TICKET, "number", str(self.foreign.pk))["values"] == []
        assert self.complete("agent", TICKET, "number", str(self.foreign.pk))["values"] == [str(self.foreign.pk)]

    def test_many_tickets_are_cut_and_counted(self):
        Ticket.objects.exclude(status=Status.NEW).update(status=Status.OPEN, resolved_at=None)
        for number in range(80):
            new_ticket(None, f"Squeak {number}")
        offered = self.complete("agent", "draft_reply", "number", "")
        assert (len(offered["values"]), offered["hasMore"]) == (100, True)
        assert offered["total"] == Ticket.objects.count()
        assert self.complete("agent", "draft_reply", "number", "squeak 7")["total"] == 11
        assert offered["values"][0] == str(Ticket.objects.order_by("pk")[0].pk)

    def test_queues_and_tones_are_offered(self):
        for era in ERAS:
            assert self.complete("agent", "triage_queue", "queue", "WORK", era)["values"] == ["workshop"]
            assert self.complete("agent", "triage_queue", "queue", "invoices", era)["values"] == ["billing"]
            assert self.complete("manager", "draft_reply", "tone", "f", era)["values"][0] == "friendly"

    def test_files_are_offered_once_the_ticket_is_known(self):
        for ticket, name in ((self.own, "bell.txt"), (self.own, "log.txt"), (self.foreign, "below.txt")):
            Attachment.objects.create(ticket=ticket, name=name, content=b"x")
        for era in ERAS:
            offered = self.complete("customer", ATTACHMENT, "name", "be", era, number=str(self.own.pk))
            assert offered["values"] == ["bell.txt"]
        assert self.complete("customer", ATTACHMENT, "name", "", number=str(self.foreign.pk))["values"] == []
        assert self.complete("customer", ATTACHMENT, "name", "")["values"] == []

    def test_agents_are_named_after_their_users(self):
        agent = Agent.objects.get(user__username="tom")
        assert str(agent) == "Tom Brandt"
        agent.user.first_name = agent.user.last_name = ""
        assert str(agent) == "tom"


class Changes(DeskTestCase):
    def test_what_is_said_about_a_ticket_is_told_to_those_who_follow_it(self):
        Event.objects.all().delete()
        _waiting_on(connections["default"])._hooks.clear()  # as the end of the transaction would
        Comment.objects.create(ticket=self.own, body="Hello?")
        assert list(Event.objects.values_list("uri", flat=True)) == [f"helpdesk://tickets/{self.own.pk}"]
        self.own.subject = "Bell rings all the time"
        self.own.save()
        assert MINE in Event.objects.values_list("uri", flat=True)
        Attachment.objects.create(ticket=self.own, name="bell.txt", media_type="text/plain", content=b"ding")
        told = Event.objects.values_list("uri", flat=True)
        assert f"helpdesk://tickets/{self.own.pk}/attachments/bell.txt" in told
