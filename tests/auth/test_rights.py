"""The rights of a caller, read again."""

from asgiref.sync import async_to_sync
from django.contrib.auth.models import AnonymousUser, Group, User
from django.test import TestCase

from django_mcp.auth.rights import renew, warm
from django_mcp.server.call import Caller


def renewed(user):
    async_to_sync(renew)(Caller(user=user, principal="p"))
    return user


class RenewTests(TestCase):
    def test_what_a_row_says_now_counts_and_what_a_site_has_noted_stays(self):
        user = User.objects.create(username="ann", is_superuser=True)
        warm(user)
        user.tenant = "a"  # type: ignore[attr-defined]  # as an authentication may
        assert user.has_perm("auth.add_group")
        User.objects.update(is_superuser=False, first_name="Ann")
        renewed(user)
        assert not user.has_perm("auth.add_group")
        assert (user.tenant, user.first_name) == ("a", "")  # type: ignore[attr-defined]  # the same

    def test_permissions_are_there_for_code_that_may_not_query(self):
        user = renewed(User.objects.create(username="ann"))
        with self.assertNumQueries(0):
            assert not user.has_perm("auth.add_group")

    def test_a_user_who_was_deleted_is_not_active(self):
        user = User.objects.create(username="ann")
        User.objects.all().delete()
        user.pk = 1
        assert not renewed(user).is_active

    def test_who_has_no_row_keeps_what_he_has(self):
        assert renewed(AnonymousUser()) == AnonymousUser()
        assert renewed(User(username="unsaved")).is_active
        key = object()
        assert renewed(key) is key

    def test_a_user_model_without_rights_has_none_to_read(self):
        group = Group.objects.create(name="users of some kind")
        with self.assertNumQueries(0):
            renewed(group)
