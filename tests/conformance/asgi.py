"""The fixture site as an ASGI application."""

import os

from django_mcp.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.conformance.settings"

application = get_asgi_application()
