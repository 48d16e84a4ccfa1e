"""The event log under processes that write at once, roll back, hold transactions open and are killed.

Runs on the database of DATABASE_URL, on SQLite without it. A thousand runs take a while:
python -m tests.conformance.writers --runs 1000
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

LIMIT = 300


def test_no_event_is_lost_or_doubled():
    command = [sys.executable, "-m", "tests.conformance.writers", "--runs", "2", "--events", "200"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("'lost': 0, 'doubled': 0, 'disordered': 0") == 2
