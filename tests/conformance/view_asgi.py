"""The fixture site as an ASGI application of Django's own: its endpoints are views."""

import os

from django.core.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.conformance.view_settings"

application = get_asgi_application()
