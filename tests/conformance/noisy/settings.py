"""The fixture site with an app that prints, and with logs on standard output."""

import os

from tests.conformance.settings import *  # noqa: F403
from tests.conformance.settings import INSTALLED_APPS

if "PYTHONUNBUFFERED" not in os.environ or not os.environ["PYTHONUNBUFFERED"]:
    # Without a buffer this is out before any code of ours runs.
    print("stray: settings")
DEBUG = True
INSTALLED_APPS = [*INSTALLED_APPS, "tests.conformance.noisy"]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"}},
    "root": {"handlers": ["console"], "level": "DEBUG"},
}
