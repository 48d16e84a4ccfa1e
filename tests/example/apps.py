from typing import Any, ClassVar

from django_mcp import default_server
from example_project.helpdesk.apps import HelpdeskConfig


class UnnamedHelpdesk(HelpdeskConfig):
    """The help desk, whose name the suite's server does not take: it serves other apps too."""

    told: ClassVar[dict[str, Any]] = {}

    def ready(self) -> None:
        self.told.update(
            title=default_server.title, instructions=default_server.instructions, icons=default_server.icons
        )
        default_server.title = default_server.instructions = None
        default_server.icons = ()
