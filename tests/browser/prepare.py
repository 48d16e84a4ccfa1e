"""Fills the database of a served help desk, and prints a password for the admin and a token of the agent as JSON."""

import json
import sys

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    from example_project.helpdesk.management.commands.demo import administrator, agent, new_password, new_token

    call_command("migrate", verbosity=0)
    call_command("seed", stdout=sys.stderr)
    sys.stdout.write(json.dumps({"password": new_password(administrator()), "token": new_token(agent())}))
