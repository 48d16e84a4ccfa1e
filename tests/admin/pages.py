"""Staff with and without permissions, and what the pages show them."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import TestCase
from django.urls import reverse

from django_mcp.models import RegisteredPrimitive
from tests.rows import fresh_primitives


class PageTestCase(TestCase):
    root: User

    @classmethod
    def setUpTestData(cls) -> None:
        cls.root = User.objects.create_superuser("root")
        fresh_primitives()

    def setUp(self) -> None:
        self.client.force_login(self.root)

    def log_in_with(self, *codenames: str) -> User:
        """As somebody of the staff with these permissions."""
        user = User.objects.create(username="staff", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        self.client.force_login(user)
        return user

    def listing(self, model: Any, **query: str) -> Any:
        return self.client.get(reverse(f"admin:django_mcp_{model._meta.model_name}_changelist"), query)

    def page(self, row: Any) -> Any:
        return self.client.get(self.address(row))

    def save(self, row: Any, **data: Any) -> Any:
        return self.client.post(self.address(row), data, follow=True)

    def address(self, row: Any) -> str:
        return reverse(f"admin:django_mcp_{row._meta.model_name}_change", args=[row.pk])

    def act(self, action: str, *rows: Any, **data: Any) -> Any:
        address = reverse(f"admin:django_mcp_{rows[0]._meta.model_name}_changelist")
        data = {"action": action, "_selected_action": [row.pk for row in rows], **data}
        return self.client.post(address, data, follow=True)

    def text(self, response: Any) -> str:
        """What a person reads."""
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))

    def messages(self, response: Any) -> list[str]:
        return [str(message) for message in response.context["messages"]]

    def log(self) -> list[tuple[str, str]]:
        return [(entry.object_repr, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]


def row_of(key: str) -> RegisteredPrimitive:
    return RegisteredPrimitive.objects.get(key=key)
