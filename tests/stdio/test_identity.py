"""The user of a stdio process: loaded once, and again when he may have changed."""

import asyncio
from unittest.mock import patch

import pytest
from django.contrib.auth.models import Permission, User
from django.test import override_settings

from django_mcp.protocol.errors import ProtocolError
from django_mcp.transports.stdio_identity import NamedUser, UnusableUser, find_user, open_identity

from .client import talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ann():
    return User.objects.create_user("ann")


def at_once(seconds=0):
    return override_settings(DJANGO_MCP={"CACHE_SECONDS": seconds})


def test_without_a_name_the_client_is_anonymous():
    """BL-099."""
    identity = asyncio.run(open_identity(None))
    caller = asyncio.run(identity.caller())
    assert (identity.principal, caller.principal, caller.user.is_anonymous) == ("anonymous", "anonymous", True)


def test_the_named_user_is_the_caller_with_his_permissions_at_hand(ann):
    ann.user_permissions.add(Permission.objects.get(codename="view_user"))

    async def steps(client):
        assert await client.call("awhoami") == "ann True"
        await client.initialize()

    talk(steps, identity=NamedUser(find_user("ann")))


@pytest.mark.parametrize(("name", "text"), [("nobody", "No user with username 'nobody'"), ("ann", "is inactive")])
def test_a_user_who_may_not_log_in_is_refused(ann, name, text):
    User.objects.update(is_active=False)
    with pytest.raises(UnusableUser, match=text):
        asyncio.run(open_identity(name))


def test_what_changes_counts_within_cache_seconds(ann):
    async def main():
        identity = await open_identity("ann")
        assert identity.principal == f"user:{ann.pk}"
        with at_once(100):
            await User.objects.aupdate(username="bob")
            assert (await identity.caller()).user.username == "ann"
        with at_once():
            first, second = await asyncio.gather(identity.caller(), identity.caller())
            assert (first.user.username, first.principal) == ("bob", f"user:{ann.pk}")
            assert first.user is not second.user
            await User.objects.aupdate(is_active=False)
            with pytest.raises(ProtocolError):
                await identity.caller()
            await User.objects.aupdate(is_active=True)
            assert (await identity.caller()).user.username == "bob"
            await User.objects.all().adelete()
            with pytest.raises(ProtocolError):
                await identity.caller()

    asyncio.run(main())


def test_requests_that_wait_together_read_the_row_once(ann):
    async def main():
        identity = await open_identity("ann")
        assert isinstance(identity, NamedUser)
        loads = []

        async def reload():
            loads.append(1)
            await asyncio.sleep(0)
            identity._loaded = float("inf")

        identity._loaded = float("-inf")
        with patch.object(identity, "_reload", reload):
            await asyncio.gather(*(identity.caller() for _ in range(5)))
        assert loads == [1]

    asyncio.run(main())


def test_requests_of_a_user_who_was_switched_off_are_refused(ann):
    async def steps(client):
        await User.objects.aupdate(is_active=False)
        with at_once():
            for answer in (await client.initialize(), await client.modern("tools/list")):
                assert answer["error"]["code"] == -32600

    talk(steps, identity=NamedUser(find_user("ann")))
