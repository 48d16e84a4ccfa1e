"""Sites that differ: without the admin, and with a user model of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

WITHOUT_ADMIN = """
import sys
import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    SECRET_KEY="x",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django_mcp"],
)
django.setup()
call_command("migrate", verbosity=0)
call_command("mcp_sync")
call_command("makemigrations", check=True, dry_run=True, verbosity=0)
print("django.contrib.admin" in sys.modules, "django_mcp.admin" in sys.modules)
"""


def test_the_app_loads_where_there_is_no_admin():
    assert run("-c", WITHOUT_ADMIN) == "default: 0 added, 0 back again, 0 vanished, 0 as before.\nFalse False\n"


def test_users_may_be_of_another_kind():
    """Without names, groups, permissions or ``is_active`` as columns, and not in the admin themselves."""
    assert run("-m", "tests.people") == "every page was opened\n"


def run(*arguments):
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-W", "error", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
