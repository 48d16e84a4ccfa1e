"""The tool that asks on a page of the help desk."""

from http import HTTPStatus

from django.test import Client, override_settings

from django_mcp.protocol.versions import LATEST, LATEST_LEGACY
from django_mcp.testing import MCPClient
from example_project import settings
from example_project.helpdesk.models import Comment
from tests.example.desk import DeskTestCase

URL_MODE = {"elicitation": {"url": {}}}


@override_settings(MIDDLEWARE=settings.MIDDLEWARE, LOGIN_URL=settings.LOGIN_URL)
class Refunds(DeskTestCase):
    def page(self, request):
        url = request["params"]["url"]
        browser = Client()
        login = browser.get(url)
        self.assertRedirects(login, login.headers["Location"])
        assert login.headers["Location"].startswith("/admin/login/?next=/refunds/")
        browser.force_login(self.users["customer"])
        assert browser.get(url).status_code == HTTPStatus.FORBIDDEN
        browser.force_login(self.users["agent"])
        shown = browser.get(url).content.decode()
        assert f"HD-{self.own.pk}: Bell does not ring, 12.50 \N{EURO SIGN}" in shown
        assert "This is no IBAN." in browser.post(url, {"iban": "1234"}).content.decode()
        done = browser.post(url, self.data, follow=True)
        assert "You may close this page." in done.content.decode()
        assert browser.get(url).status_code == HTTPStatus.NOT_FOUND
        return {"action": "accept"}

    def arrange(self, revision, **options):
        options.setdefault("answer", self.page)
        client = MCPClient(self.users["agent"], revision=revision, capabilities=URL_MODE, **options)
        return client.call_tool("arrange_refund", {"number": self.own.pk, "amount": 12.5})

    def test_the_model_learns_four_digits(self):
        self.data = {"iban": "DE02120300000000202051"}
        for revision in (LATEST, LATEST_LEGACY):
            reply = self.arrange(revision)
            assert not reply.is_error, reply
            [note] = Comment.objects.filter(ticket=self.own)
            assert note.body == "Refund of 12.50 \N{EURO SIGN} to the account that ends in 2051."
            assert note.is_internal
            assert "DE02" not in str(reply)
            note.delete()

    def test_an_agent_may_say_no(self):
        self.data = {"no": "1"}
        assert not self.arrange(LATEST).is_error
        assert not Comment.objects.filter(ticket=self.own).exists()

    def test_the_question_is_in_the_language_of_the_caller(self):
        asked = []

        def answer(request):
            asked.append(request["params"]["message"])
            return {"action": "decline"}

        for revision in (LATEST, LATEST_LEGACY):
            assert not self.arrange(revision, language="de", answer=answer).is_error
        assert asked == ["Geben Sie das Konto f\N{LATIN SMALL LETTER U WITH DIAERESIS}r die Erstattung ein."] * 2
