"""The databases of the measured sites: made for one run, with one user and one access token, and removed after it."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.databases import database_from_url

from .environments import Unavailable
from .processes import ROOT, environment

try:
    import psycopg
except ImportError:
    psycopg = None  # type: ignore[assignment]

POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"


@dataclass(frozen=True, slots=True)
class Site:
    """What a process of a site is started with, and a token that it knows."""

    env: dict[str, str]
    token: str


@contextlib.contextmanager
def sqlite(python: str, program: str) -> Iterator[Site]:
    with tempfile.TemporaryDirectory() as folder:
        yield _prepare(python, program, f"sqlite:///{folder}/db.sqlite3")


@contextlib.contextmanager
def postgres(python: str, program: str) -> Iterator[Site]:
    """On the server of BENCHMARK_POSTGRES. Raises ``Unavailable`` if there is none."""
    server = os.environ.get("BENCHMARK_POSTGRES", POSTGRES)
    name = f"django_mcp_benchmark_{os.getpid()}"
    with contextlib.closing(_connect(server)) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield _prepare(python, program, f"{server.rpartition('/')[0]}/{name}")
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _connect(url: str) -> "psycopg.Connection[Any]":
    if psycopg is None:
        raise Unavailable("psycopg is not installed")
    parts = database_from_url(url)
    at = {"host": parts["HOST"], "port": parts.get("PORT"), "user": parts.get("USER"), "dbname": parts["NAME"]}
    try:
        return psycopg.connect(**at, password=parts.get("PASSWORD"), autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        where = f"{parts['HOST']}:{parts.get('PORT', 5432)}"
        raise Unavailable(f"no PostgreSQL for us at {where}; set BENCHMARK_POSTGRES to the URL of one") from error


def _prepare(python: str, program: str, url: str) -> Site:
    env = {"BENCHMARK_DATABASE": url, "DJANGO_SETTINGS_MODULE": "benchmarks.site.settings"}
    command = [python, "-m", program]
    run = subprocess.run(
        command, cwd=ROOT, env=environment(env), capture_output=True, text=True, timeout=120, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{program} could not make its database:\n{run.stderr[-2000:]}")
    return Site(env, run.stdout.strip())
