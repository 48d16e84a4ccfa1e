"""The users of the seeded help desk. None has a password: ``demo`` issues what is needed to log in."""

from __future__ import annotations

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from example_project.helpdesk.models import Agent, Customer, Queue
from example_project.helpdesk.roles import Role, create_roles

from .people import AGENTS, DOMAIN


def create_accounts() -> None:
    """The roles, a user for each of them and the rest of the staff. Leaves alone what exists."""
    create_roles()
    _agent("manager", "Petra", "Lindqvist", Role.MANAGER)
    for username, first, last in AGENTS:
        _agent(username, first, last, Role.AGENT)
    user = _user("customer", "Jonas", "Albrecht", Role.CUSTOMER)
    Customer.objects.get_or_create(
        email=user.email, defaults={"name": user.get_full_name(), "city": "Bremen", "language": "de", "user": user}
    )


def _agent(username: str, first: str, last: str, role: Role) -> None:
    user = _user(username, first, last, role, is_staff=True)
    agent, is_new = Agent.objects.get_or_create(user=user)
    if is_new:
        agent.queues.set(Queue.objects.all())


def _user(username: str, first: str, last: str, role: Role, *, is_staff: bool = False) -> User:
    user, is_new = User.objects.get_or_create(
        username=username,
        defaults={
            "first_name": first,
            "last_name": last,
            "email": f"{username}@{DOMAIN}",
            "is_staff": is_staff,
            "password": make_password(None),
        },
    )
    if is_new:
        user.groups.add(role.group)
    return user
