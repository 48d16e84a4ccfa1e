"""Those of the suite, as far as they do not name its own apps."""

from tests.settings import (  # noqa: F401
    ALLOWED_HOSTS,
    DJANGO_MCP,
    MIDDLEWARE,
    SECRET_KEY,
    SILENCED_SYSTEM_CHECKS,
    STATIC_URL,
    TEMPLATES,
    USE_TZ,
)

ROOT_URLCONF = "tests.urls"
AUTH_USER_MODEL = "people.Person"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django_mcp",
    "tests.people",
]
