"""What the admin switches is told to clients, and to the other processes."""

from django.contrib.auth.models import Group
from django.test import TestCase

from django_mcp.events.kinds import Entry, Kind
from django_mcp.events.tail import _tell_local
from django_mcp.models import Event, PrimitiveGroup, RegisteredPrimitive
from django_mcp.switches import switchboard


class SwitchedTests(TestCase):
    def test_a_switch_is_told_and_a_new_row_is_not(self):
        row = RegisteredPrimitive.objects.create(digest="1", server="shop", kind="tool", key="echo")
        assert not Event.objects.exists()
        row.enabled = False
        row.save()
        told = list(Event.objects.order_by("pk").values_list("kind", "server"))
        assert told == [("catalogue.changed", "shop"), ("tools.list_changed", "shop")]

    def test_a_restriction_to_a_group_is_told(self):
        row = RegisteredPrimitive.objects.create(digest="1", server="shop", kind="resource template", key="a://{b}")
        PrimitiveGroup.objects.create(primitive=row, group=Group.objects.create(name="desk")).delete()
        assert set(Event.objects.values_list("kind", flat=True)) >= {"catalogue.changed", "resources.list_changed"}

    def test_what_another_process_says_is_read_again(self):
        for kind in (Kind.CATALOGUE_CHANGED, Kind.ACCESS_CHANGED):
            switchboard.read()
            switchboard._recent.put("", {}, "other")
            _tell_local([Entry(1, 0, kind)])
            assert switchboard._remembered() is None

    databases = {"default", "other"}
