"""nginx as sites put it in front: it buffers what it passes on, and compresses it."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = 120
# Debian has it where only root's PATH leads.
PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    gzip on;
    gzip_types application/json text/plain;
    gzip_min_length 0;
    gzip_proxied any;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{site};
            proxy_set_header Host $http_host;
            proxy_http_version 1.1;
            proxy_buffering on;
            proxy_buffers 16 64k;
        }}
    }}
}}
"""


@contextlib.contextmanager
def in_front_of(site: int) -> Iterator[int]:
    """The port of an nginx that passes everything on to a site's. Skips where there is none."""
    if PROGRAM is None:
        pytest.skip("nginx is missing: apt-get install nginx-light")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nginx.conf")
        file.write_text(CONFIGURATION.format(folder=folder, port=port, site=site))
        command = [PROGRAM, "-p", folder, "-c", str(file), "-e", "stderr"]
        with subprocess.Popen(command) as process:
            try:
                _await_answer(port, process)
                yield port
            finally:
                process.terminate()


def _await_answer(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("nginx did not start; what it said is above.")
