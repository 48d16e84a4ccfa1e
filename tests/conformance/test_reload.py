"""Development servers start anew when an ``mcp.py`` changes, also with a stream open."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conformance.served import free_port
from tests.conformance.wire import client_of

pytestmark = pytest.mark.integration

LIMIT = 120
ROOT = Path(__file__).resolve().parents[2]
TOOL = "from django_mcp import tool\n\n\n@tool\ndef {name}() -> str:\n    '''A tool.'''\n    return 'x'\n"
SETTINGS = """
SECRET_KEY = "x"
DEBUG = True
INSTALLED_APPS = [{apps}"django.contrib.auth", "django.contrib.contenttypes", "django_mcp", "site1"]
ROOT_URLCONF = "site1.urls"
ASGI_APPLICATION = "site1.asgi.application"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}}}
DJANGO_MCP = {{"AUTHENTICATION": "django_mcp.auth.AllowAny"}}
"""
URLS = 'from django.urls import include, path\n\nurlpatterns = [path("mcp", include("django_mcp.urls"))]\n'
ASGI = "from django_mcp.asgi import get_asgi_application\n\napplication = get_asgi_application()\n"
SERVERS = {
    "daphne": ["-m", "django", "runserver", "{port}"],
    "wsgi": ["-m", "django", "runserver", "{port}"],
    "uvicorn": ["-m", "uvicorn", "site1.asgi:application", "--reload", "--port", "{port}"],
}


@pytest.fixture(params=SERVERS)
def site(request, tmp_path):
    """The port of a served site, and its ``mcp.py``."""
    folder = tmp_path / "site1"
    folder.mkdir()
    apps = '"daphne", ' if request.param == "daphne" else ""
    texts = {"__init__": "", "settings": SETTINGS.format(apps=apps), "urls": URLS, "asgi": ASGI}
    for name, text in {**texts, "mcp": TOOL.format(name="first")}.items():
        (folder / f"{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "DJANGO_SETTINGS_MODULE": "site1.settings"}
    run = [sys.executable, "-m", "django", "migrate", "--verbosity", "0", "--skip-checks"]
    subprocess.run(run, cwd=tmp_path, env=environment, check=True, timeout=120)
    port = free_port()
    command = [sys.executable, *(part.format(port=port) for part in SERVERS[request.param])]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    yield port, folder / "mcp.py"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT)


def listed(port):
    """The names of the tools; none while the server is away."""
    try:
        return [tool["name"] for tool in client_of(port).modern("tools/list").result["tools"]]
    except OSError:
        return []


def until_listed(port, name, between=lambda: None):
    end = time.monotonic() + LIMIT
    while listed(port) != [name]:
        assert time.monotonic() < end, f"{name} was not listed within {LIMIT} seconds"
        between()
        time.sleep(0.5)


def test_a_changed_module_is_served_although_a_stream_is_open(site):
    """S263, W20."""
    port, module = site
    until_listed(port, "first")
    client = client_of(port)
    client.initialize()
    stream = client.door.connect()
    headers = {key: value for key, value in client.session_headers.items() if value}
    stream.request("GET", "/mcp", headers={**headers, "Accept": "text/event-stream"})
    stream.getresponse()
    # Written again and again: what changes before the reloader's first look, a second after the start, is no change.
    until_listed(port, "second", between=lambda: module.write_text(TOOL.format(name="second")))
    stream.close()
