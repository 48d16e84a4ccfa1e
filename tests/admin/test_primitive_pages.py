"""The pages of tools, prompts and resources."""

import re
from http import HTTPStatus

from django.contrib.auth.models import Group
from django.db import connection
from django.db.models.signals import pre_save
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from django_mcp import default_server
from django_mcp.models import RegisteredPrimitive
from django_mcp.registry import Kind
from tests.admin.pages import PageTestCase, row_of


class ListTests(PageTestCase):
    def test_it_shows_where_a_thing_is_from_whether_it_is_on_and_for_whom(self):
        RegisteredPrimitive.objects.exclude(key__in=["echo", "greet", "static://a"]).delete()
        row_of("echo").groups.add(*(Group.objects.create(name=name) for name in ("agents", "managers")))
        RegisteredPrimitive.objects.filter(key="greet").update(enabled=False)
        RegisteredPrimitive.objects.filter(key="static://a").update(vanished=timezone.now())
        text = self.text(self.listing(RegisteredPrimitive))
        assert "greet prompt off all groups shop default" in text
        assert "static://a resource vanished all groups shop default" in text
        assert "echo tool on agents, managers shop default" in text

    def test_the_number_of_queries_is_fixed(self):
        group = Group.objects.create(name="agents")
        few = RegisteredPrimitive.objects.filter(key="echo")
        RegisteredPrimitive.objects.exclude(pk__in=few).update(vanished=timezone.now())
        row_of("echo").groups.add(group)
        self.listing(RegisteredPrimitive)
        with CaptureQueriesContext(connection) as queries:
            self.listing(RegisteredPrimitive, state="on")
        RegisteredPrimitive.objects.update(vanished=None)
        for row in RegisteredPrimitive.objects.all():
            row.groups.add(group)
        with self.assertNumQueries(len(queries)):
            page = self.listing(RegisteredPrimitive, state="on")
        assert len(page.context["cl"].result_list) > 50

    def test_it_is_searched_and_filtered(self):
        found = self.listing(RegisteredPrimitive, q="static://").context["cl"].result_list
        assert {row.key for row in found} == {"static://a", "static://broken", "static://staff"}
        RegisteredPrimitive.objects.filter(key="echo").update(enabled=False)
        found = self.listing(RegisteredPrimitive, state="off").context["cl"].result_list
        assert {row.key for row in found} == {"echo"}
        found = self.listing(RegisteredPrimitive, kind__exact="prompt", app="shop").context["cl"].result_list
        assert {row.key for row in found} == {"greet", "plain", "secret", "broken"}


class SwitchTests(PageTestCase):
    def test_several_are_switched_together_and_each_is_logged(self):
        rows = [row_of("echo"), row_of("add")]
        assert self.messages(self.act("disable", *rows)) == ["2 were switched off."]
        assert RegisteredPrimitive.objects.filter(enabled=False).count() == 2
        assert self.messages(self.act("enable", rows[0], row_of("total"))) == ["1 was switched on."]
        assert self.messages(self.act("disable", rows[1])) == ["0 were switched off."]
        assert sorted(self.log()) == [("add", "Switched off."), ("echo", "Switched off."), ("echo", "Switched on.")]

    def test_what_is_deleted_meanwhile_is_left_out(self):
        """Somebody else deletes it between the moment it was read and the one it is written."""
        rows = [row_of("add"), row_of("echo"), row_of("total")]

        def delete_echo(instance, **values):
            RegisteredPrimitive.objects.filter(key="echo").delete()

        pre_save.connect(delete_echo, sender=RegisteredPrimitive)
        try:
            assert self.messages(self.act("disable", *rows)) == ["2 were switched off."]
        finally:
            assert pre_save.disconnect(delete_echo, sender=RegisteredPrimitive)
        assert sorted(RegisteredPrimitive.objects.filter(enabled=False).values_list("key", flat=True)) == [
            "add",
            "total",
        ]
        assert sorted(self.log()) == [("add", "Switched off."), ("total", "Switched off.")]

    def test_whoever_may_only_look_switches_nothing(self):
        self.log_in_with("view_registeredprimitive")
        row_of("echo").groups.add(Group.objects.create(name="agents"))
        assert "agents" in self.text(self.page(row_of("echo")))
        assert 'name="action"' not in self.listing(RegisteredPrimitive).content.decode()
        self.act("disable", row_of("echo"))
        assert self.save(row_of("echo"), only_for=[]).status_code == HTTPStatus.FORBIDDEN
        row = row_of("echo")
        assert (row.enabled, row.groups.count()) == (True, 1)

    def test_whoever_may_not_even_look_sees_nothing(self):
        self.log_in_with()
        assert self.listing(RegisteredPrimitive).status_code == HTTPStatus.FORBIDDEN
        assert self.page(row_of("echo")).status_code == HTTPStatus.FORBIDDEN


class ChangeTests(PageTestCase):
    def test_only_the_switch_and_the_groups_are_written(self):
        self.log_in_with("change_registeredprimitive")
        row, group = row_of("echo"), Group.objects.create(name="agents")
        self.save(row, only_for=[group.pk], key="changed", server="changed", enabled="")
        row.refresh_from_db()
        assert (row.key, row.server, row.enabled) == ("echo", "default", False)
        assert list(row.groups.all()) == [group]
        assert self.log() == [("echo", "Changed Enabled and Only for the groups.")]
        self.save(row, enabled="on")
        row.refresh_from_db()
        assert (row.enabled, row.groups.count()) == (True, 0)

    def test_what_the_sync_wrote_meanwhile_stays(self):
        row = row_of("echo")
        page = self.page(row)
        RegisteredPrimitive.objects.filter(pk=row.pk).update(vanished=timezone.now())
        assert 'name="enabled"' in page.content.decode()
        self.save(row, enabled="")
        row.refresh_from_db()
        assert row.vanished is not None
        assert not row.enabled

    def shown(self, row):
        """The values that the form of an open page says it was opened with."""
        inputs = re.findall(r'name="(initial-\w+)" value="([^"]*)"', self.page(row).content.decode())
        return {name: [value for other, value in inputs if other == name] for name, _ in inputs}

    def test_who_left_the_switch_alone_does_not_undo_what_another_admin_did_meanwhile(self):
        row, group = row_of("echo"), Group.objects.create(name="agents")
        opened = self.shown(row)
        RegisteredPrimitive.objects.filter(pk=row.pk).update(enabled=False)
        self.save(row, enabled="on", only_for=[group.pk], **opened)
        row = row_of("echo")
        assert (row.enabled, list(row.groups.all())) == (False, [group])
        assert self.log() == [("echo", "Changed Only for the groups.")]

    def test_nor_the_groups_of_another_admin(self):
        row, group, other = row_of("echo"), *(Group.objects.create(name=name) for name in "ab")
        row.groups.set([group])
        opened = self.shown(row)
        row.groups.set([group, other])
        self.save(row, only_for=[group.pk], **opened)
        row = row_of("echo")
        assert (row.enabled, row.groups.count()) == (False, 2)
        opened = self.shown(row)
        self.save(row, enabled="on", **opened)
        row = row_of("echo")
        assert (row.enabled, row.groups.count()) == (True, 0)

    def test_a_group_that_is_gone_meanwhile_is_told(self):
        row, group = row_of("echo"), Group.objects.create(name="agents")
        opened = self.shown(row)
        key, _ = group.pk, group.delete()
        answer = self.save(row, enabled="", only_for=[key], **opened)
        assert "is not one of the available choices" in self.text(answer)
        assert row_of("echo").enabled

    def test_it_shows_the_definition_as_text_that_people_can_read(self):
        text = self.text(self.page(row_of("book")))
        assert "tests.shop.mcp.book" in text
        assert "&quot;x-mcp-header&quot;: &quot;Clinic&quot;" in text
        assert "Has a parameter that the client repeats in a header." in text
        assert "for clients of the protocol revision 2026-07-28" in text
        assert "auth.change_user" in self.text(self.page(row_of("rename")))
        assert "&lt;lambda&gt;" in self.text(self.page(row_of("staff_only")))
        assert "note://{name}" in self.text(self.page(row_of("note://{name}")))

    def test_every_page_can_be_opened(self):
        for row in RegisteredPrimitive.objects.all():
            assert self.page(row).status_code == HTTPStatus.OK, row

    def test_the_number_of_queries_is_fixed(self):
        self.page(row_of("echo"))
        with CaptureQueriesContext(connection) as queries:
            self.page(row_of("echo"))
        for number in range(5):
            row_of("book").groups.add(Group.objects.create(name=f"group {number}"))
        with self.assertNumQueries(len(queries)):
            self.page(row_of("book"))

    def test_what_this_process_does_not_have_is_still_switched(self):
        row = row_of("echo")
        with default_server.registry.override() as registry:
            for key in list(registry.tools):
                registry.unregister(Kind.TOOL, key)
            page = self.page(row)
            assert "As registered" not in self.text(page)
            self.save(row, enabled="")
        assert not row_of("echo").enabled
        for number, (server, kind) in enumerate((("nowhere", "tool"), ("default", "widget"))):
            lost = RegisteredPrimitive.objects.create(digest=str(number), server=server, kind=kind, key="lost")
            assert self.page(lost).status_code == HTTPStatus.OK


class DeleteTests(PageTestCase):
    def test_only_what_vanished_can_be_deleted(self):
        here = row_of("echo")
        gone = RegisteredPrimitive.objects.create(
            digest="x", server="default", kind="tool", key="gone", vanished=timezone.now()
        )
        refused = self.act("delete_selected", here)
        assert self.messages(refused) == ["Only what vanished can be deleted. Switch off what is registered."]
        assert "Are you sure" in self.text(self.act("delete_selected", here, gone))
        self.act("delete_selected", here, gone, post="yes")
        assert list(RegisteredPrimitive.objects.filter(pk__in=[here.pk, gone.pk])) == [here]
        delete = reverse("admin:django_mcp_registeredprimitive_delete", args=[here.pk])
        assert self.client.post(delete, {"post": "yes"}).status_code == HTTPStatus.FORBIDDEN

    def test_what_another_version_of_the_site_has_marked_keeps_its_switch(self):
        """Without the row, what is switched off would be on again."""
        RegisteredPrimitive.objects.filter(key="echo").update(vanished=timezone.now(), enabled=False)
        self.act("delete_selected", row_of("echo"), post="yes")
        assert not row_of("echo").enabled
        delete = reverse("admin:django_mcp_registeredprimitive_delete", args=[row_of("echo").pk])
        assert self.client.post(delete, {"post": "yes"}).status_code == HTTPStatus.FORBIDDEN

    def test_nobody_adds_one(self):
        assert self.client.get(reverse("admin:django_mcp_registeredprimitive_add")).status_code == HTTPStatus.FORBIDDEN
