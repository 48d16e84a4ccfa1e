"""A seeded help desk and a client for each role."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone

from django_mcp import default_server
from django_mcp.models import AccessToken
from django_mcp.protocol.versions import LATEST
from django_mcp.registry import Kind
from django_mcp.testing import MCPClient, MCPTestCase, ToolReply
from example_project.helpdesk.choices import Priority, Status
from example_project.helpdesk.models import Agent, Customer, Queue, Ticket
from example_project.helpdesk.seeding import fill
from tests.wire.client import WireClient
from tests.wire.doors import Answer, consumer

ROLES = ("customer", "agent", "manager")
ERAS = ("modern", "2025-11-25")


@override_settings(
    DJANGO_MCP={"AUTHENTICATION": "django_mcp.auth.BearerToken", "CACHE_SECONDS": 0},
    ROOT_URLCONF="example_project.urls",
)
class DeskTestCase(MCPTestCase):
    users: dict[str, User]
    tokens: dict[str, str]
    own: Ticket
    foreign: Ticket
    urgent: Ticket
    outsider: User

    @classmethod
    def setUpTestData(cls) -> None:
        fill(timezone.now(), tickets=40)
        cls.own = new_ticket("customer", "Bell does not ring")
        cls.foreign = new_ticket(None, "Saddle is too hard")
        cls.urgent = new_ticket(None, "Brake cable snapped", priority=Priority.URGENT, status=Status.OPEN)
        # Every permission, but no part in the help desk.
        cls.outsider = User.objects.create_superuser("outsider")
        cls.users = {user.username: user for user in User.objects.filter(username__in=[*ROLES, "outsider"])}
        cls.tokens = {name: AccessToken.objects.issue(user)[1] for name, user in cls.users.items()}

    def setUp(self) -> None:
        """The suite has one server for all its apps; a site has the help desk alone."""
        registry = self.enterContext(default_server.registry.override())
        for kind in Kind:
            for key, primitive in list(registry.snapshot().of(kind).items()):
                if not primitive.origin.startswith("example_project."):
                    registry.unregister(kind, key)

    def client_of(self, role: str, **headers: str | None) -> WireClient:
        return WireClient(consumer(), headers={"Authorization": f"Bearer {self.tokens[role]}", **headers})

    def request(self, role: str, method: str, era: str = "modern", **params: Any) -> Answer:
        return self.client_of(role).call(era, method, params)

    def mcp(self, role: str, era: str = "modern") -> MCPClient:
        return MCPClient(self.users[role], revision=LATEST if era == "modern" else era)

    def call(self, role: str, tool: str, era: str = "modern", **arguments: Any) -> Any:
        """What the tool returned, as a program gets it, or the text where it returned one."""
        reply = self.mcp(role, era).call_tool(tool, arguments)
        assert not reply.is_error, reply
        self._check(role, reply)
        if "structuredContent" not in reply:
            return reply.text
        value = reply.structured
        return value["result"] if era != "modern" and set(value) == {"result"} else value

    def _check(self, role: str, reply: ToolReply) -> None:
        self.mcp_client = self.mcp(role, "modern" if reply.revision.is_modern else reply.revision)
        self.assertConforms(reply)

    def refusal(self, role: str, tool: str, **arguments: Any) -> str:
        """The text of the error that the model reads."""
        return self.assertToolError(tool, arguments, user=self.users[role]).text

    def assert_unknown(self, role: str, tool: str) -> None:
        """What a role may not do does not exist for it."""
        self.assertToolHidden(tool, user=self.users[role])

    def read(self, role: str, uri: str, era: str = "modern") -> dict[str, Any]:
        [contents] = self.mcp(role, era).read_resource(uri)["contents"]
        return contents  # type: ignore[no-any-return]


def new_ticket(username: str | None, subject: str, **values: Any) -> Ticket:
    """A ticket of this user's customer, or of one without a user."""
    customer = Customer.objects.filter(user__username=username).order_by("pk")[0]
    queue = Queue.objects.get(slug="workshop")
    return Ticket.objects.create(
        queue=queue, customer=customer, subject=subject, description=f"{subject}. What now?", **values
    )


def agent_of(username: str) -> Agent:
    return Agent.objects.get(user__username=username)
