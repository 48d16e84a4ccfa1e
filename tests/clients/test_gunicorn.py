"""The view under gunicorn on PostgreSQL: workers without an event loop, and clients of both eras at once."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

import psycopg
import pytest

from tests.conformance import wire
from tests.conformance.postgres import database
from tests.conformance.served import served

from . import drivers
from .contract import MODES, check, check_typescript

pytestmark = pytest.mark.integration

LEGACY = "2025-11-25"
ERAS = ("modern", LEGACY)
WORKERS = 4
THREADS = {"sync": 1, "gthread": 4}
SESSIONS = 12
CALLS = 240
AT_ONCE = 8
LIMIT = 120
# Each says how many users there are, on its own way to the database.
COUNTERS = ("count_users", "acount_users", "to_async", "to_sync", "own_block")
DRIVERS = (drivers.python_sdk, drivers.fastmcp_client)
PACKAGES = (("sdk", "legacy"), *(("client", mode) for mode in MODES))


@contextmanager
def served_on_postgres(kind, **variables):
    with ExitStack() as stack:
        try:
            postgres = stack.enter_context(database())
        except psycopg.OperationalError as error:
            pytest.skip(f"No PostgreSQL server answers: {error}")
        options = ("--threads", str(THREADS[kind]))
        with served("gunicorn", WORKERS, *options, DATABASE_URL=postgres.url, **variables) as site:
            yield Site(site.url, site.port, postgres, WORKERS * THREADS[kind])
        assert not postgres.connections()


class Site:
    def __init__(self, url, port, postgres, threads):
        self.url = url
        self.port = port
        self.postgres = postgres
        self.threads = threads

    def client(self):
        client = wire.client_of(self.port)
        client.path = "/bugs"
        return client

    def session(self):
        client = self.client()
        assert client.initialize().status == 200
        return client


@pytest.fixture(scope="module", params=["sync-0", "sync-1", "gthread-1"])
def site(request):
    kind, atomic = request.param.split("-")
    with served_on_postgres(kind, ATOMIC_REQUESTS=atomic) as site:
        yield site


def text(client, era, name, /, **arguments):
    return client.call_tool(era, name, arguments)["content"][0]["text"]


@pytest.mark.usefixtures("node")
def test_all_clients_at_once_get_their_own_answers_and_leave_no_connection(site):
    """BL-002, BL-026, BL-086."""
    users = text(site.client(), "modern", "count_users")
    real = [
        *(partial(check_python, driver, site.url, mode) for driver in DRIVERS for mode in MODES),
        *(partial(check_node, site.url, package, mode) for package, mode in PACKAGES),
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool, ThreadPoolExecutor(2) as others:
        checked = [others.submit(one) for one in real]
        sessions = list(pool.map(lambda _: site.session(), range(SESSIONS)))

        def call(number):
            client, era = sessions[number % SESSIONS], ERAS[number % 2]
            if number % 3 == 0:
                return text(client, era, "echo", text=f"{number}") == f"{number}"
            return text(client, era, COUNTERS[number % len(COUNTERS)]) == users

        assert all(pool.map(call, range(CALLS)))
        for one in checked:
            one.result()
    states = site.postgres.connections()
    assert set(states) <= {"idle"}
    assert states["idle"] <= site.threads


def check_python(driver, url, mode):
    check(driver(url, mode), mode)


def check_node(url, package, mode):
    check_typescript(drivers.typescript(package, url, mode), package, mode)


@pytest.mark.parametrize("prefix", ["", "a"])
@pytest.mark.parametrize("era", ERAS)
def test_a_failed_tool_leaves_no_row_and_its_session_stays(site, era, prefix):
    """BL-101."""
    client = site.session()
    own = f"{site.port} {era} {prefix}"
    assert text(client, era, f"{prefix}make_user", name=f"{own} good") == f"{own} good"
    failed = client.call_tool(era, f"{prefix}make_user_and_fail", {"name": f"{own} bad"})
    assert (failed["isError"], failed["content"][0]["text"]) == (True, f"{own} bad was written")
    # The same name twice: an error of the database in a transaction of ours, or of the request.
    assert client.call_tool(era, f"{prefix}make_user", {"name": f"{own} good"})["isError"]
    names = site.postgres.rows("SELECT username FROM auth_user")
    assert [name for (name,) in names if str(name).startswith(f"{own} ")] == [f"{own} good"]
    assert client.legacy("ping").result == {}


def test_there_are_no_streams_and_nothing_that_would_need_one(site):
    client = site.session()
    answer = client.send("GET", headers={**client.session_headers, "Accept": "text/event-stream"})
    assert (answer.status, answer.header("Allow")) == (405, "POST, DELETE, OPTIONS")
    assert answer.json["error"]["code"] == -32600
    assert client.modern("server/discover").result["capabilities"] == {"tools": {}}
    assert client.initialize().result["capabilities"] == {"tools": {}}
    assert client.modern("subscriptions/listen", {"notifications": {}}).error["code"] == -32601
    assert client.send("DELETE", headers=client.session_headers).status == 204
    assert client.legacy("ping").status == 404


def test_a_database_that_was_restarted_fails_no_request(site):
    client = site.session()
    for _ in range(WORKERS * 2):
        assert client.legacy("ping").status == 200
    site.postgres.cut()
    for number in range(WORKERS * 4):
        assert text(client, ERAS[number % 2], COUNTERS[number % len(COUNTERS)]).isdecimal()


@pytest.mark.parametrize("kind", THREADS)
def test_connections_that_are_not_kept_are_closed_with_their_requests(kind):
    with served_on_postgres(kind, CONN_MAX_AGE="0") as site:
        client = site.session()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            texts = set(pool.map(lambda number: text(client, LEGACY, COUNTERS[number % len(COUNTERS)]), range(60)))
        assert texts == {"0"}
        # A server closes what belongs to a request after it has answered.
        end = time.monotonic() + LIMIT
        while site.postgres.connections():
            assert time.monotonic() < end
            time.sleep(0.02)
