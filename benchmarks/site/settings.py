"""Settings of the measured site, on the database whose URL is in BENCHMARK_DATABASE; no middleware, no logs.

benchmarks/apps/mcpz.py takes what it can from here.
"""

import os

from tests.databases import database_from_url

SECRET_KEY = "benchmark"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "benchmarks.site.urls"
DATABASES = {"default": database_from_url(os.environ["BENCHMARK_DATABASE"])}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django_mcp",
    "benchmarks.site",
]
USE_TZ = True
_STREAMS = int(os.environ.get("DJANGO_MCP_BENCHMARK_STREAMS", "1000"))
DJANGO_MCP = {
    "AUTHENTICATION": "django_mcp.auth.AllowAny",
    "MAX_STREAMS": _STREAMS,
    "MAX_STREAMS_PER_USER": _STREAMS,
}
SILENCED_SYSTEM_CHECKS = ["django_mcp.E003"]
