"""Settings of the suite: both databases on the server that DATABASE_URL names, SQLite files without it."""

import os
import tempfile
from pathlib import Path
from typing import Any

from tests.databases import database_from_url

# One name a process, so that two runs on one machine do not share a database. SQLite gets a file:
# an in-memory database shared between threads locks whole tables.
_RUN = f"django_mcp_{os.getpid()}"
_FOLDER = Path(tempfile.gettempdir())
_URL = os.environ.get("DATABASE_URL") or f"sqlite:///{_FOLDER / _RUN}.sqlite3"


def _database(suffix: str) -> dict[str, Any]:
    database = database_from_url(_URL)
    if database["ENGINE"].endswith("sqlite3"):
        test_name = f"{_FOLDER / _RUN}_test{suffix}.sqlite3"
    else:
        test_name = f"test_{_RUN}{suffix}"
    return {**database, "NAME": f"{database.get('NAME', _FOLDER / _RUN)}{suffix}", "TEST": {"NAME": test_name}}


SECRET_KEY = "tests"
DEBUG = False
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1", "[::1]"]
ROOT_URLCONF = "tests.urls"

DATABASES = {"default": _database(""), "other": _database("_other")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django_mcp",
    "tests.shop",
    "tests.example.apps.UnnamedHelpdesk",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
STATIC_URL = "static/"

_LAYER: dict[str, Any] = {"BACKEND": "channels.layers.InMemoryChannelLayer"}
if "REDIS_URL" in os.environ:
    # Each process of pytest-xdist has a database of its own, and must not hear the others.
    _CONFIG = {"hosts": [os.environ["REDIS_URL"]], "prefix": os.environ.get("PYTEST_XDIST_WORKER", "asgi")}
    _LAYER = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": _CONFIG}
CHANNEL_LAYERS = {"default": _LAYER}

DJANGO_MCP = {"AUTHENTICATION": "django_mcp.auth.AllowAny"}
SILENCED_SYSTEM_CHECKS = ["django_mcp.E003"]
