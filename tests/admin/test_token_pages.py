"""The pages of access tokens."""

import re
from datetime import timedelta
from http import HTTPStatus
from unittest.mock import patch

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as BrowserSession
from django.db import DatabaseError, connection
from django.db.models.signals import pre_save
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from django_mcp.models import AccessToken
from tests.admin.pages import PageTestCase

ADD = "admin:django_mcp_accesstoken_add"
VALUE = re.compile(r"mcp_[\w-]{43}")


class TokenPageTestCase(PageTestCase):
    ann: User

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.ann = User.objects.create(username="ann")

    def issue(self, **data):
        return self.client.post(reverse(ADD), {"user": self.ann.pk, "name": "laptop", **data})


class IssueTests(TokenPageTestCase):
    def test_the_value_is_shown_once_and_stored_nowhere(self):
        """AUTH-22"""
        with self.assertNoLogs():
            page = self.issue()
        [value] = set(VALUE.findall(page.content.decode()))
        token = AccessToken.objects.find(value)
        assert token is not None
        assert (token.user, token.name, token.expires) == (self.ann, "laptop", None)
        assert "no-store" in page.headers["Cache-Control"]
        kept = [
            *map(str, AccessToken.objects.values().get().values()),
            *map(str, LogEntry.objects.values().get().values()),
            *(str(session.get_decoded()) for session in BrowserSession.objects.all()),
            *(cookie.OutputString() for cookie in self.client.cookies.values()),
            self.listing(AccessToken).content.decode(),
            self.page(token).content.decode(),
        ]
        assert not [text for text in kept if value in text]
        assert self.log() == [(str(token), "Added.")]

    def test_it_may_be_for_a_while(self):
        until = (timezone.now() + timedelta(days=30)).replace(microsecond=0)
        self.issue(expires_0=until.date().isoformat(), expires_1=until.time().isoformat())
        assert AccessToken.objects.get().expires == until

    def test_a_token_that_would_not_work_is_refused(self):
        self.ann.is_active = False
        self.ann.save()
        text = self.text(self.issue(expires_0="2020-01-01", expires_1="00:00:00"))
        assert "This user is inactive, so a token would not work." in text
        assert "This time has passed." in text
        assert not AccessToken.objects.exists()

    def test_it_takes_the_permission(self):
        self.log_in_with("view_accesstoken", "change_accesstoken")
        assert self.issue().status_code == HTTPStatus.FORBIDDEN

    def test_tokens_of_superusers_are_issued_by_superusers_alone(self):
        self.ann.is_superuser = True
        self.ann.save()
        assert VALUE.search(self.issue().content.decode())
        self.log_in_with("add_accesstoken")
        assert "Only superusers issue tokens of superusers." in self.text(self.issue())
        assert AccessToken.objects.count() == 1

    def test_users_are_searched_where_one_may_see_them(self):
        assert "admin-autocomplete" in self.client.get(reverse(ADD)).content.decode()
        self.log_in_with("add_accesstoken")
        page = self.client.get(reverse(ADD)).content.decode()
        assert "admin-autocomplete" not in page
        assert "vForeignKeyRawIdAdminField" in page
        assert VALUE.search(self.issue().content.decode())


class RevokeTests(TokenPageTestCase):
    def test_several_are_revoked_together_and_each_is_logged(self):
        tokens = [AccessToken.objects.issue(self.ann, name)[0] for name in "ab"]
        assert self.messages(self.act("revoke", *tokens)) == ["2 tokens were revoked."]
        assert self.messages(self.act("revoke", *tokens)) == ["0 tokens were revoked."]
        assert not AccessToken.objects.filter(revoked=None).exists()
        assert sorted(message for _, message in self.log()) == ["Revoked.", "Revoked."]

    def test_one_is_revoked_on_its_page(self):
        token, _ = AccessToken.objects.issue(self.ann)
        assert 'name="_revoke"' in self.page(token).content.decode()
        assert self.messages(self.save(token, _revoke="1")) == ["1 token was revoked."]
        token.refresh_from_db()
        assert token.revoked is not None
        assert 'name="_revoke"' not in self.page(token).content.decode()

    def test_one_that_is_deleted_meanwhile_is_left_out(self):
        tokens = [AccessToken.objects.issue(self.ann, name)[0] for name in "abc"]

        def delete_second(instance, **values):
            AccessToken.objects.filter(name="b").delete()

        pre_save.connect(delete_second, sender=AccessToken)
        try:
            assert self.messages(self.act("revoke", *tokens)) == ["2 tokens were revoked."]
        finally:
            assert pre_save.disconnect(delete_second, sender=AccessToken)
        assert AccessToken.objects.filter(revoked=None).count() == 0
        assert len(self.log()) == 2

    def test_an_error_of_the_database_is_no_deleted_row(self):
        token, _ = AccessToken.objects.issue(self.ann)
        failing = patch.object(AccessToken, "revoke", side_effect=DatabaseError("disk full"))
        with failing, self.assertRaisesMessage(DatabaseError, "disk full"):
            self.act("revoke", token)

    def test_whoever_may_only_look_revokes_nothing(self):
        token, _ = AccessToken.objects.issue(self.ann)
        self.log_in_with("view_accesstoken")
        assert 'name="_revoke"' not in self.page(token).content.decode()
        assert self.save(token, _revoke="1").status_code == HTTPStatus.FORBIDDEN
        self.act("revoke", token)
        token.refresh_from_db()
        assert token.revoked is None


class PageTests(TokenPageTestCase):
    def test_the_list_says_which_are_good(self):
        now = timezone.now()
        gone = User.objects.create(username="gone", is_active=False)
        AccessToken.objects.issue(self.ann, "first")
        AccessToken.objects.issue(self.ann, expires=now - timedelta(days=1))
        AccessToken.objects.issue(gone, "third")
        AccessToken.objects.issue(self.ann, "fourth")[0].revoke()
        text = self.text(self.listing(AccessToken))
        for pattern in (
            r"first mcp_\S+ ann good",
            r"\(no name\) mcp_\S+ ann expired",
            r"third mcp_\S+ gone user is inactive",
        ):
            assert re.search(pattern, text), pattern
        assert re.search(r"fourth mcp_\S+ ann revoked", text)
        for state, names in {"good": ["third", "first"], "expired": [""], "revoked": ["fourth"]}.items():
            found = self.listing(AccessToken, state=state).context["cl"].result_list
            assert [token.name for token in found] == names
        assert len(self.listing(AccessToken, q="gon").context["cl"].result_list) == 1

    def test_the_number_of_queries_is_fixed(self):
        AccessToken.objects.issue(self.ann)
        self.listing(AccessToken)
        with CaptureQueriesContext(connection) as queries:
            self.listing(AccessToken)
        for number in range(50):
            AccessToken.objects.issue(User.objects.create(username=f"user {number}"))
        with self.assertNumQueries(len(queries)):
            self.listing(AccessToken)

    def test_only_the_name_and_the_end_are_changed(self):
        token, value = AccessToken.objects.issue(self.ann, "before")
        self.save(token, name="after", user=self.root.pk, digest="x", prefix="x")
        found = AccessToken.objects.find(value)
        assert found is not None
        assert (found.name, found.user, found.prefix) == ("after", self.ann, value[:10])

    def test_one_that_has_expired_may_be_renamed(self):
        past = timezone.now().replace(microsecond=0) - timedelta(days=1)
        token, _ = AccessToken.objects.issue(self.ann, "before", past)
        self.save(token, name="after", expires_0=past.date().isoformat(), expires_1=past.time().isoformat())
        token.refresh_from_db()
        assert (token.name, token.expires) == ("after", past)
