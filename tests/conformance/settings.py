"""Settings of the fixture site. DATABASE_URL and REDIS_URL are honoured; without them SQLite and no layer."""

import os
from pathlib import Path

from tests.databases import database_from_url

_SQLITE = Path(__file__).with_name("db.sqlite3")

SECRET_KEY = "conformance"
DEBUG = False
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ROOT_URLCONF = "tests.conformance.urls"
ASGI_APPLICATION = "tests.conformance.asgi.application"

_DATABASE = database_from_url(os.environ.get("DATABASE_URL") or f"sqlite:///{_SQLITE}")
if _DATABASE["ENGINE"].endswith("sqlite3"):
    # Several processes write: readers must not wait for a writer, and a writer must wait from its start.
    _DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        "timeout": 20,
    }
_KEPT = {"CONN_MAX_AGE": int(os.environ.get("CONN_MAX_AGE", "60")), "CONN_HEALTH_CHECKS": True}
DATABASES = {"default": {**_DATABASE, **_KEPT}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
if os.environ.get("REDIS_URL"):
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [{"address": os.environ["REDIS_URL"], "socket_timeout": 30}]},
        }
    }

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django_mcp",
    "tests.conformance",
]
MIDDLEWARE: list[str] = []
USE_TZ = True

# Open to everyone, which has to be spelled out, unless a test wants to tell people apart.
# Everybody is the same user then.
DJANGO_MCP = {
    "AUTHENTICATION": os.environ.get("AUTHENTICATION", "django_mcp.auth.AllowAny"),
    "MAX_STREAMS_PER_USER": 10_000,
    "SEND_TIMEOUT": float(os.environ.get("SEND_TIMEOUT", "20")),
    "STATE_TTL": float(os.environ.get("STATE_TTL", "600")),
}
SILENCED_SYSTEM_CHECKS = ["django_mcp.E003"]
# That the site has nothing but its endpoint is no news; errors are.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "loggers": {"django.request": {"level": "ERROR"}},
}
