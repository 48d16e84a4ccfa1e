"""Settings for a look around on one's own machine: DEBUG is on and the key is no secret."""

import os
from pathlib import Path

from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent

SECRET_KEY = os.environ.get("HELPDESK_SECRET_KEY", "for-the-demo-only")
DEBUG = True
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *os.environ.get("HELPDESK_HOSTS", "").split()]

ROOT_URLCONF = "example_project.urls"
ASGI_APPLICATION = "example_project.asgi.application"

INSTALLED_APPS = [
    "daphne",  # first, so that runserver serves ASGI
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_mcp",
    "example_project.helpdesk",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("HELPDESK_DATABASE", BASE_DIR / "db.sqlite3"),
        # Calls run side by side: readers must not wait for the writer, and writers wait from their start.
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
        # The threads that run tools keep their connection.
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "Europe/Berlin"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("de", _("German"))]
STATIC_URL = "static/"
# Where a person logs in whom a tool asks on a page.
LOGIN_URL = "admin:login"

DJANGO_MCP = {
    "AUTHENTICATION": "django_mcp.auth.BearerToken",
    # Where the site is served. Over stdio a tool that asks on a page cannot know it otherwise.
    "PUBLIC_URL": os.environ.get("HELPDESK_URL"),
}

# A line for each call of a client, on the terminal that serves the site.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"call": {"format": "{asctime} {mcp_client}: {message}", "style": "{"}},
    "handlers": {"calls": {"class": "logging.StreamHandler", "formatter": "call"}},
    "loggers": {"django_mcp.calls": {"handlers": ["calls"], "level": "INFO"}},
}
