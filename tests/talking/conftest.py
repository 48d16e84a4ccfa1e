"""The tests here talk to a server of their own."""

import pytest
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from tests.shop.mcp import gate
from tests.wire.client import WireClient
from tests.wire.doors import WSGIDoor, consumer

from .asking_site import runs
from .live import DOORS
from .paging import BEARER, logged_in


@pytest.fixture(autouse=True)
def talking_site(settings):
    settings.ROOT_URLCONF = "tests.talking.site"


@pytest.fixture(autouse=True)
def connections_of_the_test_stay_open(db):
    """As in Django's own test clients."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def fresh_gate():
    gate.reset()
    yield
    gate.opened.set()


@pytest.fixture(params=DOORS)
def door(request):
    return request.param


@pytest.fixture
def asking_site(settings):
    settings.ROOT_URLCONF = "tests.talking.asking_site"
    runs.clear()


@pytest.fixture(params=["consumer", "wsgi"])
def client(request, db, asking_site):
    return WireClient(WSGIDoor() if request.param == "wsgi" else consumer())


@pytest.fixture
def one(db, asking_site):
    return WireClient(consumer())


@pytest.fixture
def pages_site(db, settings):
    settings.ROOT_URLCONF = "tests.talking.pages_site"
    settings.DJANGO_MCP = BEARER


@pytest.fixture
def ann(db):
    return User.objects.create_user("ann", "ann@example.org")


@pytest.fixture
def browser(ann):
    return logged_in(ann)
