"""What holds the example together: settings, entry points, texts."""

import gettext
import re
import runpy
import sys
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

from django.utils import translation

import example_project
from example_project import asgi, settings
from tests.example.apps import UnnamedHelpdesk

SITE = Path(example_project.__file__).parent
LOCALE = SITE / "helpdesk" / "locale" / "de" / "LC_MESSAGES"
MESSAGE = re.compile(r'^msgid ((?:".*"\n)+)(?:msgid_plural .*\n)?msgstr(?:\[0\])? ((?:".*"\n?)+)', re.MULTILINE)


def test_daphne_comes_first_and_tokens_are_asked_for():
    assert settings.INSTALLED_APPS[0] == "daphne"
    assert settings.DJANGO_MCP["AUTHENTICATION"] == "django_mcp.auth.BearerToken"


def test_the_server_has_a_name_and_says_how_to_begin():
    with translation.override("de"):
        assert str(UnnamedHelpdesk.told["title"]) == "Veloworks-Kundendienst"
    assert "search_tickets" in UnnamedHelpdesk.told["instructions"]


def test_the_server_has_an_icon_that_is_there():
    [icon] = UnnamedHelpdesk.told["icons"]
    path = SITE / "helpdesk" / "static" / icon.src.partition("static/")[2]
    assert ElementTree.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_the_application_is_callable():
    assert callable(asgi.application)


def test_manage_runs_commands_under_one_name_for_each_module():
    with (
        patch("django.core.management.execute_from_command_line") as execute,
        patch.object(sys, "path", ["a folder"]),
        patch.object(sys, "argv", ["manage.py", "check"]),
    ):
        runpy.run_path(str(SITE / "manage.py"), run_name="__main__")
        assert (Path(sys.path[0]) / "example_project" / "manage.py").exists()
        manage = runpy.run_path(str(SITE / "manage.py"))
    execute.assert_called_once_with(["manage.py", "check"])
    assert callable(manage["main"])


def test_every_text_is_translated_and_compiled():
    """After a change: django-admin makemessages -l de --no-location --no-wrap, and compilemessages."""
    with (LOCALE / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    messages = MESSAGE.findall((LOCALE / "django.po").read_text(encoding="utf-8"))[1:]
    assert len(messages) > 90
    for original, german in messages:
        assert _text(german), original
        # Both: a text with a plural is found by its number alone.
        found = {compiled.gettext(_text(original)), compiled.ngettext(_text(original), "", 1)}
        assert _text(german) in found, f"run compilemessages: {original}"


def _text(quoted: str) -> str:
    lines = (line.strip()[1:-1] for line in quoted.strip().splitlines())
    return "".join(lines).replace("\\n", "\n").replace('\\"', '"')
