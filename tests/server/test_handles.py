"""State between calls: nothing is kept with a connection, so a tool gives out a handle and takes it back."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.core.signing import BadSignature, SignatureExpired

from django_mcp import Context, ToolError
from django_mcp.testing import MCPClient

pytestmark = pytest.mark.django_db
SALT = "tests.basket"


def add_baskets(desk, lifetime):
    @desk.tool
    def open_basket(context: Context) -> str:
        """Open a basket. Its handle is good for ten minutes."""
        return signing.dumps({"principal": context.principal, "opened": "today"}, salt=SALT)

    @desk.tool
    def look_into(basket: str, context: Context) -> str:
        """Say when a basket was opened."""
        try:
            found = signing.loads(basket, salt=SALT, max_age=lifetime)
        except SignatureExpired:
            raise ToolError("This basket has expired. Open another one with open_basket.") from None
        except BadSignature:
            found = {}
        if found.get("principal") != context.principal:
            raise ToolError("There is no such basket. Open one with open_basket.")
        return str(found["opened"])


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_handle_is_good_in_any_connection_of_its_user_and_of_nobody_else(desk, revision):
    """TOOL-30, RPC-23: checked in each call, and what is wrong with it is told to the model."""
    ann, bob = (User.objects.create(username=name) for name in ("ann", "bob"))
    add_baskets(desk, timedelta(minutes=10))
    basket = MCPClient(ann, server=desk, revision=revision).call_tool("open_basket").text
    assert MCPClient(ann, server=desk, revision=revision).call_tool("look_into", {"basket": basket}).text == "today"
    for user, handle in ((bob, basket), (ann, "made up")):
        refusal = MCPClient(user, server=desk, revision=revision).call_tool("look_into", {"basket": handle})
        assert refusal.is_error
        assert refusal.text == "There is no such basket. Open one with open_basket."


def test_an_expired_handle_says_so(desk):
    """TOOL-30"""
    add_baskets(desk, timedelta(seconds=-1))
    client = MCPClient(server=desk)
    basket = client.call_tool("open_basket").text
    refusal = client.call_tool("look_into", {"basket": basket})
    assert refusal.is_error
    assert "has expired" in refusal.text
