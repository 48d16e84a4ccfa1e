"""What models may do in the help desk. ``django_mcp`` imports the ``mcp`` module of every installed app.

A primitive is listed for those who have its ``permission``; which rows they see is up to the querysets.
Titles are translated, since people read them. Docstrings and errors are English: they speak to the model.
"""

from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

from django_mcp import Icon, default_server

from . import duplicates, prompts, reading, refunds, reports, resources, writing

__all__ = ["duplicates", "prompts", "reading", "refunds", "reports", "resources", "writing"]

default_server.title = _("Veloworks help desk")
default_server.icons = [Icon(static("helpdesk/wheel.svg"), mime_type="image/svg+xml", sizes=["any"])]
default_server.instructions = (
    "The help desk of a bicycle shop. Tickets are called HD-12; tools take the number alone: 12. "
    "Look before you write: search_tickets finds numbers, get_ticket tells what was said so far. "
    "Comments reach the customer unless they are internal."
)
