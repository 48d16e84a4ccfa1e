"""Each tool through the endpoint, as each role."""

import base64
import zlib
from datetime import timedelta
from typing import Any

from django.utils import timezone

from django_mcp.models import AccessToken
from example_project.helpdesk.choices import Status
from example_project.helpdesk.models import MAX_ATTACHMENT, Attachment, Comment, Customer, Ticket
from tests.example.desk import ERAS, DeskTestCase, agent_of, new_ticket

CUSTOMER = ["add_comment", "get_ticket", "open_ticket", "search_tickets"]
AGENT = [
    *CUSTOMER,
    "arrange_refund",
    "assign_ticket",
    "attach_text",
    "draw_ticket_chart",
    "find_customers",
    "find_duplicates",
    "list_queues",
    "merge_tickets",
    "set_status",
]
MANAGER = [*AGENT, "delete_ticket", "help_desk_report"]


class ListedTools(DeskTestCase):
    def test_each_role_is_told_of_what_it_may_do(self):
        for era in ERAS:
            for role, expected in (("customer", CUSTOMER), ("agent", AGENT), ("manager", MANAGER)):
                tools = self.request(role, "tools/list", era).result["tools"]
                assert sorted(tool["name"] for tool in tools) == sorted(expected)

    def test_what_a_role_may_not_do_is_unknown(self):
        for role, allowed in (("customer", CUSTOMER), ("agent", AGENT)):
            for name in set(MANAGER) - set(allowed):
                self.assert_unknown(role, name)

    def test_tools_say_whether_they_read_and_delete(self):
        tools = {tool["name"]: tool["annotations"] for tool in self.request("manager", "tools/list").result["tools"]}
        assert tools["search_tickets"]["readOnlyHint"] is True
        assert tools["delete_ticket"]["destructiveHint"] is True
        assert tools["add_comment"]["destructiveHint"] is False
        assert tools["set_status"]["idempotentHint"] is True

    def test_titles_are_in_the_language_of_the_caller(self):
        answer = self.client_of("agent", **{"Accept-Language": "de"}).modern("tools/list")
        assert "Tickets suchen" in [tool["title"] for tool in answer.result["tools"]]


class ReadingTools(DeskTestCase):
    def test_customers_find_their_own_tickets_and_agents_all(self):
        for era in ERAS:
            found = self.call("customer", "search_tickets", era, text="bell ring")
            assert [line["number"] for line in found["tickets"]] == [self.own.pk]
            assert self.call("customer", "search_tickets", era, text="saddle") == {"total": 0, "tickets": []}
            assert self.call("agent", "search_tickets", era, text="saddle")["total"] == 1

    def test_a_search_is_narrowed_and_the_most_urgent_comes_first(self):
        Ticket.objects.filter(pk=self.urgent.pk).update(
            assignee=agent_of("agent"),
            opened_at=timezone.now() - timedelta(days=9),
            due_at=timezone.now() - timedelta(days=8),
        )
        narrow: dict[str, Any] = {
            "status": "open",
            "priority": "urgent",
            "queue": "workshop",
            "assigned_to_me": True,
            "overdue": True,
            "text": "snapped",
        }
        [line] = self.call("agent", "search_tickets", **narrow)["tickets"]
        assert (line["number"], line["priority"], line["assignee"]) == (self.urgent.pk, "urgent", "agent")
        priorities = [line["priority"] for line in self.call("manager", "search_tickets", limit=50)["tickets"]]
        order = ["urgent", "high", "normal", "low"]
        assert priorities == sorted(priorities, key=order.index)

    def test_an_unknown_queue_is_answered_with_the_known_ones(self):
        text = self.refusal("agent", "search_tickets", queue="shop")
        assert text == "There is no queue 'shop'. The queues are: app, billing, orders, returns, workshop."

    def test_a_ticket_is_read_with_what_may_follow(self):
        Comment.objects.create(ticket=self.own, body="Still silent")
        Comment.objects.create(ticket=self.own, agent=agent_of("agent"), body="Again he", is_internal=True)
        Attachment.objects.create(ticket=self.own, name="bell.txt", content=b"ding")
        for era in ERAS:
            read = self.call("customer", "get_ticket", era, number=self.own.pk)
            assert [(line["author"], line["text"]) for line in read["comments"]] == [("Jonas Albrecht", "Still silent")]
            assert read["attachments"] == ["bell.txt"]
            assert read["possible_next_statuses"] == ["open", "waiting", "resolved", "closed"]
        comments = self.call("agent", "get_ticket", number=self.own.pk)["comments"]
        assert [(line["author"], line["is_internal"]) for line in comments][1:] == [("Mara Okafor", True)]

    def test_a_foreign_ticket_is_answered_like_none(self):
        for number in (self.foreign.pk, 999_999):
            text = self.refusal("customer", "get_ticket", number=number)
            assert text == f"There is no ticket {number} that you may see. Find its number with search_tickets."

    def test_queues_are_listed_with_their_load(self):
        before = {queue["slug"]: queue for queue in self.call("agent", "list_queues")}
        new_ticket("customer", "Pedal squeaks")
        after = {queue["slug"]: queue for queue in self.call("agent", "list_queues", "2025-11-25")}
        assert after["workshop"]["active"] == before["workshop"]["active"] + 1
        assert after["workshop"]["unassigned"] == before["workshop"]["unassigned"] + 1
        assert after["billing"] == before["billing"]

    def test_customers_are_found_with_their_active_tickets(self):
        done = new_ticket("customer", "Was nothing", status=Status.CLOSED)
        [card] = self.call("agent", "find_customers", text="Jonas Albrecht")
        assert card["email"] == "customer@veloworks.example"
        assert card["language"] == "German"
        assert self.own.pk in card["active_tickets"]
        assert done.pk not in card["active_tickets"]
        assert "text" in self.refusal("agent", "find_customers", text="J")


class ReportingTools(DeskTestCase):
    def test_the_report_counts_what_was_opened_and_resolved(self):
        before = self.call("manager", "help_desk_report", days=1)
        ticket = new_ticket(None, "Done at once", status=Status.RESOLVED)
        report = self.call("manager", "help_desk_report", "2025-11-25", days=1)
        assert report["opened"] == before["opened"] + 1
        assert report["resolved"] == before["resolved"] + 1
        assert ticket.resolved_at is not None
        assert report["median_hours_to_resolve"] is not None
        assert report["queues"][0]["queue"] == "app"

    def test_without_resolved_tickets_there_is_no_median(self):
        Ticket.objects.filter(resolved_at__isnull=False).delete()
        assert self.call("manager", "help_desk_report")["median_hours_to_resolve"] is None

    def test_the_chart_is_a_picture_with_its_numbers(self):
        result = self.request("agent", "tools/call", name="draw_ticket_chart", arguments={"weeks": 4}).result
        legend, picture = result["content"]
        assert legend["text"].startswith("Blue: opened, ")
        data = base64.b64decode(picture["data"])
        assert (picture["mimeType"], data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
        width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        length = int.from_bytes(data[33:37], "big")
        assert len(zlib.decompress(data[41 : 41 + length])) == height * (1 + 3 * width)

    def test_an_empty_desk_has_a_chart_too(self):
        Ticket.objects.all().delete()
        legend = self.request("agent", "tools/call", name="draw_ticket_chart", arguments={"weeks": 2}).result
        assert legend["content"][0]["text"] == "Blue: opened, 0, 0. Green: resolved, 0, 0."

    def test_duplicates_are_found(self):
        again = new_ticket("customer", "Bell does not ring")
        for era in ERAS:
            found = self.call("agent", "find_duplicates", era, queue="workshop", similarity=1)
            pair = {"keep": self.own.pk, "duplicate": again.pk, "same_customer": True, "similarity": 1.0}
            assert pair in found


class WritingTools(DeskTestCase):
    def test_customers_open_tickets_for_themselves(self):
        for era in ERAS:
            line = self.call(
                "customer", "open_ticket", era, queue="app", subject="No signal", description="None.", priority="high"
            )
            ticket = Ticket.objects.get(pk=line["number"])
            assert (ticket.customer.user_id, ticket.status) == (self.own.customer.user_id, Status.NEW)
            assert ticket.due_at - ticket.opened_at == timedelta(hours=6)

    def test_agents_say_for_whom_they_open_a_ticket(self):
        ticket = {"queue": "app", "subject": "No signal", "description": "None."}
        assert "find_customers" in self.refusal("agent", "open_ticket", **ticket)
        assert "find_customers" in self.refusal("agent", "open_ticket", **ticket, customer="no@one.example")
        email = self.foreign.customer.email
        assert self.call("agent", "open_ticket", **ticket, customer=email.upper())["priority"] == "normal"

    def test_a_user_without_a_customer_cannot_open_tickets(self):
        Customer.objects.filter(user__username="customer").update(user=None)
        text = self.refusal("customer", "open_ticket", queue="app", subject="No signal", description="None.")
        assert "belongs to no customer" in text

    def test_comments_have_an_author(self):
        for role, author in (("customer", "Jonas Albrecht"), ("agent", "Mara Okafor"), ("manager", "Petra Lindqvist")):
            for era in ERAS:
                line = self.call(role, "add_comment", era, number=self.own.pk, text="Any news?")
                assert (line["author"], line["is_internal"]) == (author, False)
        self.own.refresh_from_db()
        assert self.own.updated_at > self.own.opened_at

    def test_internal_notes_are_for_agents(self):
        assert self.call("agent", "add_comment", number=self.own.pk, text="Hm.", internal=True)["is_internal"]
        assert "Only agents" in self.refusal("customer", "add_comment", number=self.own.pk, text="Hm.", internal=True)
        assert "neither an agent" in self.refusal("outsider", "add_comment", number=self.own.pk, text="Hm.")

    def test_a_status_moves_along_its_way(self):
        for status in ("open", "open", "resolved", "closed"):
            assert self.call("agent", "set_status", number=self.own.pk, status=status)["status"] == status
        text = self.refusal("agent", "set_status", number=self.own.pk, status="waiting")
        assert text == f"HD-{self.own.pk} is closed. From there it can become: open."
        self.own.refresh_from_db()
        assert self.own.resolved_at is not None
        self.call("manager", "set_status", "2025-11-25", number=self.own.pk, status="open")
        self.own.refresh_from_db()
        assert self.own.resolved_at is None

    def test_tickets_are_given_to_agents_and_back(self):
        for era in ERAS:
            assert self.call("agent", "assign_ticket", era, number=self.own.pk, agent="tom")["assignee"] == "tom"
            assert self.call("agent", "assign_ticket", era, number=self.own.pk, agent=None)["assignee"] is None
        text = self.refusal("agent", "assign_ticket", number=self.own.pk, agent="nobody")
        assert text.startswith("No agent 'nobody' is available. Available are: agent, aylin, ")

    def test_texts_are_attached_once(self):
        for era, name in zip(ERAS, ("a.txt", "b.md"), strict=True):
            text = self.call("agent", "attach_text", era, number=self.own.pk, name=name, text="ding")
            assert text == f"{name} (4 bytes) is attached to HD-{self.own.pk}."
        assert "another name" in self.refusal("agent", "attach_text", number=self.own.pk, name="a.txt", text="dong")
        too_long = "x" * (MAX_ATTACHMENT + 1)
        assert "at most" in self.refusal("agent", "attach_text", number=self.own.pk, name="c.log", text=too_long)
        assert "name" in self.refusal("agent", "attach_text", number=self.own.pk, name="../x.txt", text="x")

    def test_a_duplicate_is_merged_into_the_ticket_that_is_kept(self):
        again = new_ticket("customer", "Bell still does not ring")
        Comment.objects.create(ticket=again, body="Hello?")
        self.call("agent", "merge_tickets", keep=self.own.pk, duplicate=again.pk)
        again.refresh_from_db()
        assert again.status == Status.CLOSED
        assert self.own.comments.get().body == "Hello?"
        self.call("agent", "merge_tickets", "2025-11-25", keep=self.own.pk, duplicate=again.pk)

    def test_only_two_tickets_of_one_customer_are_merged(self):
        assert "itself" in self.refusal("agent", "merge_tickets", keep=self.own.pk, duplicate=self.own.pk)
        other = Customer.objects.exclude(pk=self.own.customer_id)[0]
        Ticket.objects.filter(pk=self.foreign.pk).update(customer=other)
        text = self.refusal("agent", "merge_tickets", keep=self.own.pk, duplicate=self.foreign.pk)
        assert "different customers" in text

    def test_a_ticket_is_deleted_by_number_and_subject(self):
        for era in ERAS:
            spam = new_ticket(None, "Cheap watches")
            assert "'Cheap watches'" in self.refusal("manager", "delete_ticket", number=spam.pk, subject="Watches")
            text = self.call("manager", "delete_ticket", era, number=spam.pk, subject="Cheap watches")
            assert text == f"HD-{spam.pk} is deleted."
            assert not Ticket.objects.filter(pk=spam.pk).exists()

    def test_nobody_gets_in_without_a_token(self):
        AccessToken.objects.all().delete()
        assert self.request("agent", "tools/list").status == 401
