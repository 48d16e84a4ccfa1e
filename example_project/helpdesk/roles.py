"""Who may do what. Each role is a group, so the admin can change it afterwards."""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.models import Group, Permission


class Role(StrEnum):
    CUSTOMER = "customer"
    AGENT = "agent"
    MANAGER = "manager"

    @property
    def codenames(self) -> frozenset[str]:
        """The permissions, those of the role before it included."""
        return _CODENAMES[self]

    @property
    def group(self) -> Group:
        return Group.objects.get(name=self.value)


_CUSTOMER = frozenset({"view_ticket", "add_ticket", "add_comment", "view_attachment"})
_AGENT = _CUSTOMER | {
    "handle_ticket",
    "change_ticket",
    "view_comment",
    "add_attachment",
    "view_queue",
    "view_customer",
    "view_agent",
}
_MANAGER = _AGENT | {
    "view_report",
    "delete_ticket",
    "add_queue",
    "change_queue",
    "add_customer",
    "change_customer",
    "change_agent",
    "delete_attachment",
    "delete_comment",
}
_CODENAMES = {Role.CUSTOMER: _CUSTOMER, Role.AGENT: _AGENT, Role.MANAGER: _MANAGER}


def create_roles() -> None:
    """Make the groups. One that exists keeps what was added to it, and gets back what is missing."""
    permissions = {
        permission.codename: permission for permission in Permission.objects.filter(content_type__app_label="helpdesk")
    }
    for role in Role:
        group, _created = Group.objects.get_or_create(name=role.value)
        group.permissions.add(*(permissions[codename] for codename in sorted(role.codenames)))
