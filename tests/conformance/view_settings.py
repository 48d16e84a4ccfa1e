"""The fixture site behind the middleware that sites have. ATOMIC_REQUESTS=1 is honoured."""

import os

from .settings import *  # noqa: F403
from .settings import DATABASES

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
DATABASES["default"]["ATOMIC_REQUESTS"] = os.environ.get("ATOMIC_REQUESTS") == "1"
