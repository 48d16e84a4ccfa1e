"""manage.py seed"""

from datetime import UTC, datetime
from io import StringIO

from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import TestCase

from example_project.helpdesk.models import Attachment, Comment, Customer, Queue, Ticket
from example_project.helpdesk.roles import Role, create_roles
from example_project.helpdesk.seeding import Counts, fill

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def contents():
    """Every seeded text with its time, in order, without the numbers that the database hands out."""
    tickets = Ticket.objects.order_by("pk").values_list("customer__email", "subject", "status", "opened_at")
    comments = Comment.objects.order_by("pk").values_list("body", "created_at", "agent__user__username")
    return [
        *tickets,
        *comments,
        *((bytes(content),) for content in Attachment.objects.order_by("pk").values_list("content", flat=True)),
    ]


class SeedTests(TestCase):
    def test_the_command_fills_an_empty_desk_once(self):
        lines = []
        for _ in range(2):
            out = StringIO()
            call_command("seed", stdout=out)
            lines.append(out.getvalue())
        counts = Counts.now()
        assert counts.tickets == 1200
        assert counts.tickets + counts.customers + counts.comments + counts.attachments > 4000
        first, second = (line.split(": ") for line in lines)
        assert (first[0], second[0]) == ("Seeded", "Left alone")
        assert first[1] == second[1]

    def test_the_same_moment_gives_the_same_rows(self):
        fill(NOW, tickets=60)
        before = contents()
        Ticket.objects.all().delete()
        User.objects.all().delete()
        Queue.objects.all().delete()
        Customer.objects.all().delete()
        fill(NOW, tickets=60)
        assert contents() == before

    def test_no_text_has_an_open_place(self):
        fill(NOW, tickets=300)
        assert not [row for row in contents() if "{" in str(row[0])]

    def test_everything_happened_before_now(self):
        fill(NOW, tickets=300)
        assert not Ticket.objects.filter(opened_at__gt=NOW).exists()
        assert not Ticket.objects.filter(updated_at__gt=NOW).exists()
        assert not Comment.objects.filter(created_at__gt=NOW).exists()

    def test_roles_get_back_what_they_lack_and_keep_the_rest(self):
        create_roles()
        group = Role.AGENT.group
        group.permissions.clear()
        create_roles()
        assert set(group.permissions.values_list("codename", flat=True)) == Role.AGENT.codenames
        assert Group.objects.count() == len(Role)
