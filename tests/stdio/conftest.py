"""Most tests here have no database, and a door asks it what is switched off."""

import pytest

from django_mcp import inventory
from django_mcp.switches import switchboard


@pytest.fixture(autouse=True)
def nothing_is_switched_off(request, monkeypatch):
    if request.node.get_closest_marker("django_db") is None:
        monkeypatch.setattr(switchboard, "_remembered", dict)
        monkeypatch.setattr(inventory, "keep_in_step", lambda server: None)
