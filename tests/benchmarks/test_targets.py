"""What cannot be installed or started is tried once, and leaves nothing behind."""

import subprocess
import sys

import pytest

from benchmarks import environments
from benchmarks.environments import SDK, Unavailable, python_with
from benchmarks.targets import FLOOR, OURS, Server, Servers, Target, python_of


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """The commands that would have made an environment in an empty cache."""
    given = []
    monkeypatch.setenv("DJANGO_MCP_BENCHMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "_run", given.append)
    environments._made.cache_clear()
    yield given
    environments._made.cache_clear()


def test_an_environment_is_made_once_with_the_pinned_peer(commands, monkeypatch, tmp_path):
    def make(command):
        commands.append(command)
        if command[-2] == "venv":
            (folder := tmp_path / "cache" / command[-1]).mkdir(parents=True)
            assert folder.name.startswith("half-mcp-")

    monkeypatch.setattr(environments, "_run", make)
    pythons = {python_with(SDK), python_with(SDK)}
    environments._made.cache_clear()  # as in the next run
    pythons.add(python_with(SDK))
    assert len(pythons) == 1
    [_, install] = commands
    assert SDK in install
    assert len([each for each in install if each.startswith("uvicorn==")]) == 1
    [folder] = (tmp_path / "cache").iterdir()
    assert pythons == {str(folder / "bin" / "python")}


def test_an_environment_that_another_run_has_made_meanwhile_is_taken(monkeypatch, tmp_path):
    folder = tmp_path / "mcp"

    def make(command):
        folder.mkdir(exist_ok=True)

    monkeypatch.setattr(environments, "_run", make)
    environments._install([SDK], folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_peer_that_cannot_be_installed_is_unavailable_and_not_tried_again(commands, monkeypatch):
    def fail(command):
        commands.append(command)
        raise subprocess.CalledProcessError(1, command, stderr="WARNING: old pip\nERROR: No matching distribution\n")

    monkeypatch.setattr(environments, "_run", fail)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"^could not be installed: ERROR: No matching distribution$"):
            python_of(SDK)
    assert len(commands) == 1


def test_ours_and_the_floors_run_here():
    assert python_of(OURS) == python_of(FLOOR) == sys.executable


def test_a_server_that_does_not_start_is_not_tried_again():
    tried = []

    def command(python, application, port):
        tried.append(port)
        return [python, "-c", "raise SystemExit('no')"]

    with Servers() as servers:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="does not listen"):
                servers.get(Target(FLOOR, command, "no:app"))
    assert len(tried) == 1


def test_a_server_is_started_once_and_shared():
    def command(python, application, port):
        return [python, "-m", "http.server", "--bind", "127.0.0.1", str(port)]

    with Servers() as servers:
        target = Target(FLOOR, command, "")
        assert servers.get(target) is servers.get(target)


def test_a_server_without_a_database_has_no_token():
    server = Server(port=1, pid=1, site=None)
    with pytest.raises(RuntimeError, match="no token"):
        _ = server.token
