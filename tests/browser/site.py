"""The help desk as one ASGI application with the admin's styles, which a site's web server would serve."""

from typing import Any

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler

from example_project.asgi import application as desk

_desk: Any = desk
application = ASGIStaticFilesHandler(_desk)
