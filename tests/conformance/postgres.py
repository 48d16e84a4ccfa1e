"""A PostgreSQL database of a test's own, and a look at who is connected to it."""

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg

SERVER = "postgres://postgres@127.0.0.1:5432"
LIMIT = 120
_numbers = itertools.count()


class Database:
    def __init__(self, name: str, server: str) -> None:
        self.name = name
        self.url = f"{server}/{name}"
        self._server = server

    def connections(self) -> Counter[str]:
        """How many there are in each state."""
        with _admin(self._server) as admin:
            rows = admin.execute("SELECT state FROM pg_stat_activity WHERE datname = %s", [self.name])
            return Counter(str(state) for (state,) in rows)

    def cut(self) -> None:
        """What a restart of the database does to its clients."""
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with _admin(self._server) as admin:
            admin.execute(query, [self.name])

    def rows(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, connect_timeout=LIMIT) as connection:
            return connection.execute(query).fetchall()


@contextlib.contextmanager
def database() -> Iterator[Database]:
    """On the server that DATABASE_URL names, or on this machine; raises psycopg.OperationalError if there is none."""
    given = urlsplit(os.environ.get("DATABASE_URL", ""))
    server = f"{given.scheme}://{given.netloc}" if given.scheme.startswith("postgres") else SERVER
    name = f"django_mcp_workers_{os.getpid()}_{next(_numbers)}"
    with _admin(server) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    try:
        yield Database(name, server)
    finally:
        with _admin(server) as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _admin(server: str) -> psycopg.Connection:
    return psycopg.connect(f"{server}/postgres", autocommit=True, connect_timeout=LIMIT)
