"""One reader of DATABASE_URL for the suite and for the fixture site.

sqlite://                                           a file the settings choose
sqlite:///db.sqlite3?transaction_mode=IMMEDIATE     relative; four slashes make it absolute
postgres://postgres@127.0.0.1:5432/NAME
mysql://root@127.0.0.1:3306/NAME
"""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

ENGINES = {
    "sqlite": "django.db.backends.sqlite3",
    "postgres": "django.db.backends.postgresql",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}


def database_from_url(url: str) -> dict[str, Any]:
    """The entry of DATABASES that ``url`` stands for; the query becomes its OPTIONS."""
    parts = urlsplit(url)
    if parts.scheme not in ENGINES:
        raise ValueError(f"{url!r} is no database URL. Known schemes: {', '.join(ENGINES)}.")
    entry = {
        "ENGINE": ENGINES[parts.scheme],
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(parse_qsl(parts.query)),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }
    return {key: value for key, value in entry.items() if value != ""}
