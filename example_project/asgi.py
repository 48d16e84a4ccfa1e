"""The help desk as an ASGI application: Django's own, with the MCP endpoint in front."""

import os

from django_mcp.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "example_project.settings")

application = get_asgi_application()
