"""Every test here that asks for ``client`` runs once through each door."""

import pytest

from tests.shop.mcp import gate
from tests.wire.client import LEGACY, WireClient
from tests.wire.doors import DOORS, consumer


@pytest.fixture(params=DOORS)
def door(request, db):
    return DOORS[request.param]()


@pytest.fixture
def client(door):
    return WireClient(door)


@pytest.fixture(params=["modern", *LEGACY])
def era(request):
    return request.param


@pytest.hookimpl(tryfirst=True)  # before the markers are looked at
def pytest_collection_modifyitems(config, items):
    """Views and older revisions repeat what the newest revision of each era is asked through the consumer."""
    spared = []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        is_view = params.get("door") in ("view-asgi", "view-wsgi")
        is_older = params.get("era") in LEGACY[:-1]
        if is_view or is_older:
            item.add_marker(pytest.mark.repeats)
        if is_view and is_older:
            spared.append(item)  # below the doors all is one
    kept = set(items) - set(spared)
    config.hook.pytest_deselected(items=spared)
    items[:] = [item for item in items if item in kept]


@pytest.fixture
def session(db):
    """The id of a legacy session."""
    client = WireClient(consumer())
    client.initialize()
    return client.session


@pytest.fixture(autouse=True)
def fresh_gate():
    gate.reset()
    yield
    gate.opened.set()
