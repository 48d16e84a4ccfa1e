"""The fixture site as a WSGI application: its endpoints are views that answer in JSON."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.conformance.view_settings"

application = get_wsgi_application()
