"""See the package. In a process of its own: a user model is chosen once and for all."""

import os
import re
import sys
from typing import Any

import django


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.people.settings"
    django.setup()

    from django.core.management import call_command
    from django.test import Client

    from django_mcp import tool
    from django_mcp.models import AccessToken, RegisteredPrimitive
    from tests.people.models import Person
    from tests.rows import open_as

    tool(name="add")(lambda: "")
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("check", fail_level="WARNING", stdout=sys.stderr)
    call_command("makemigrations", "django_mcp", check=True, dry_run=True, verbosity=0)
    person: Any = Person._default_manager.create(email="ann@example.com")
    open_as(person)
    client = Client()
    client.force_login(person)
    value = re.search(r"mcp_[\w-]{43}", _post(client, "accesstoken/add/", user=person.pk, name="laptop"))
    assert value is not None
    assert AccessToken.objects.find(value[0]) is not None
    for model in ("accesstoken", "registeredprimitive", "session"):
        assert "1 " in client.get(f"/admin/django_mcp/{model}/?q=a").content.decode()
        assert client.get(f"/admin/django_mcp/{model}/1/change/").status_code == 200
    _post(client, "registeredprimitive/1/change/", enabled="")
    assert not RegisteredPrimitive.objects.get().enabled
    sys.stdout.write("every page was opened\n")


def _post(client, path, **data):
    answer = client.post(f"/admin/django_mcp/{path}", data, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


if __name__ == "__main__":
    main()
