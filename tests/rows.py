"""Sessions in the database, and somebody else who is busy with them."""

from datetime import timedelta
from threading import Event, Thread

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, User
from django.db import connections, transaction
from django.test import TestCase
from django.utils import timezone

from django_mcp import default_server, inventory
from django_mcp.auth.base import principal_for
from django_mcp.managers import digest_of
from django_mcp.models import RegisteredPrimitive, Session
from django_mcp.protocol.versions import Revision
from django_mcp.server.call import Caller
from django_mcp.sessions import find_session, open_session

ANYBODY = AnonymousUser()


def caller_of(user):
    return Caller(user=user, principal=principal_for(user))


def fresh_primitives():
    """The rows as migrate has made them, whatever a test that commits has left."""
    RegisteredPrimitive.objects.all().delete()
    inventory.sync(default_server, RegisteredPrimitive.objects.all())
    return RegisteredPrimitive.objects.count()


def open_as(user, *, server="shop", client_info=None, client_capabilities=None):
    return open_session(
        server=server,
        caller=caller_of(user),
        revision=Revision.V2025_06_18,
        client_info={"name": "client"} if client_info is None else client_info,
        client_capabilities=client_capabilities or {},
    )


def find_as(user, session_id, *, server="shop"):
    return find_session(server=server, principal=principal_for(user), session_id=session_id)


def age(session_id, **times):
    """Move these times of a session back by so many seconds."""
    row = Session.objects.get(digest=digest_of(session_id))
    for name, seconds in times.items():
        setattr(row, name, getattr(row, name) - timedelta(seconds=seconds))
    row.save(update_fields=list(times))


class SessionTestCase(TestCase):
    ann: User
    bob: User

    @classmethod
    def setUpTestData(cls):
        cls.ann = get_user_model().objects.create_user("ann")
        cls.bob = get_user_model().objects.create_user("bob")


def new_session(digest):
    now = timezone.now()
    return Session.objects.create(
        digest=digest,
        server="shop",
        principal="anonymous",
        revision="2025-11-25",
        initialized=True,
        created=now,
        last_seen=now,
        expires=now + timedelta(days=1),
    )


class writer:
    """Another connection that has these rows in an open transaction for as long as this lasts."""

    def __init__(self, rows):
        self.rows = rows
        self.holding, self.finish = Event(), Event()
        self.thread = Thread(target=self.hold)

    def hold(self):
        try:
            with transaction.atomic():
                self.rows.all().update(client_info={"name": "other"})
                self.holding.set()
                self.finish.wait(30)
        finally:
            connections.close_all()

    def __enter__(self):
        self.thread.start()
        assert self.holding.wait(30)

    def __exit__(self, *exception):
        self.finish.set()
        self.thread.join(30)
        assert not self.thread.is_alive()
