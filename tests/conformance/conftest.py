"""What several tests of served sites stand on."""

import psycopg
import pytest

from . import postgres


@pytest.fixture
def database():
    """A database on PostgreSQL for the workers of one site."""
    try:
        with postgres.database() as found:
            yield found
    except psycopg.OperationalError as error:
        pytest.skip(f"No PostgreSQL: {error}")
