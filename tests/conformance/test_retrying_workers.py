"""Modern clients answer what they were asked at whichever worker they meet, and after a restart (MRTR-06, MRTR-07)."""

import os
import subprocess
import sys

import pytest

from tests.talking.rounds import refused, text_of
from tests.wire.client import META

from . import wire
from .served import MANAGE, served

pytestmark = pytest.mark.integration

WORKERS = 4
TRIES = 60
DECLARED = {f"{META}clientCapabilities": {"elicitation": {}}}
ANSWERS = {"q1": {"action": "accept", "content": {"ok": True}}}
TOKENS = """
from django.contrib.auth.models import User
from django_mcp.models import AccessToken
for name in ("ann", "bob"):
    print(AccessToken.objects.issue(User.objects.create(username=name))[1])
"""


@pytest.fixture
def site(database):
    """Gives the site, with other variables where a test wants them; the database outlives it."""
    variables = {"DATABASE_URL": database.url, "AUTHENTICATION": "django_mcp.auth.BearerToken"}
    return lambda **more: served("uvicorn", WORKERS, **{**variables, **more})


@pytest.fixture
def tokens(database):
    environment = {**os.environ, "DATABASE_URL": database.url}
    manage = [sys.executable, str(MANAGE)]
    subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True, timeout=120)
    made = subprocess.run(
        [*manage, "shell", "--no-imports", "--command", TOKENS],
        env=environment,
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
    )
    return made.stdout.split()


class Person:
    """Everything it sends goes over a connection of its own, so it may meet any worker."""

    def __init__(self, port, token):
        self.client = wire.client_of(port)
        self.client.path = "/bugs"
        self.client.headers["Authorization"] = f"Bearer {token}"

    def book(self, name, state=None, tool="book"):
        params = {"name": tool, "arguments": {"name": name}}
        if state is not None:
            params |= {"requestState": state, "inputResponses": ANSWERS}
        return self.client.modern("tools/call", params, meta=DECLARED)

    def asked(self, name):
        """The state that comes with the question."""
        result = self.book(name).result
        assert result["resultType"] == "input_required"
        return result["requestState"]


def names(database):
    rows = database.rows("SELECT username FROM auth_user WHERE username NOT IN ('ann', 'bob') ORDER BY username")
    return [name for (name,) in rows]


def test_a_retry_works_at_another_worker_and_after_a_restart(site, tokens, database):
    """MRTR-16: what was written before the question is there once."""
    done = []
    with site() as first:
        ann = Person(first.port, tokens[0])
        for number in range(TRIES):
            name = f"guest {number}"
            before, after, _ = text_of(ann.book(name, ann.asked(name))).split()
            done += [f"{name} asked", f"{name} booked"]
            if before != after:
                break
        else:
            pytest.fail("One worker took all requests")
        assert names(database) == sorted(done)
        state = ann.asked("late")
    with site() as second:
        ann = Person(second.port, tokens[0])
        assert text_of(ann.book("late", state)).endswith("True")
        assert names(database) == sorted([*done, "late asked", "late booked"])


def test_a_state_that_is_not_good_has_no_effect(site, tokens, database):
    """MRTR-06, MRTR-07: tampered, another's, for another tool or another argument, expired."""
    with site() as first:
        ann, bob = (Person(first.port, token) for token in tokens)
        state = ann.asked("guest")
        last = "A" if state[-1] != "A" else "B"
        for bad in (state[:-1] + last, state[: len(state) // 2], "", "é"):
            assert refused(ann.book("guest", bad)), bad
        assert refused(bob.book("guest", state))
        assert refused(ann.book("guest", state, tool="rebook"))
        assert refused(ann.book("other", state))
        assert names(database) == []
        assert text_of(ann.book("guest", state)).endswith("True")
    with site(STATE_TTL="0.001") as second:
        ann = Person(second.port, tokens[0])
        assert refused(ann.book("late", ann.asked("late")))
    assert names(database) == ["guest asked", "guest booked"]
