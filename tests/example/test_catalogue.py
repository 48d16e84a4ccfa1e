"""What each role is offered, as files that a reviewer reads when something of it changes."""

from example_project.helpdesk.models import Ticket
from tests.example.desk import ROLES, DeskTestCase


class Catalogues(DeskTestCase):
    def test_each_role_gets_what_the_files_say(self):
        """After a change: MCP_UPDATE_SNAPSHOTS=1 pytest tests/example/test_catalogue.py, and review the difference."""
        Ticket.objects.all().delete()  # urgent ones are listed as resources
        for role in ROLES:
            with self.subTest(role=role):
                self.assertCatalogueUnchanged(role, user=self.users[role])
