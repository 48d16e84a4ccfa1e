"""The endpoint where both suites look for it, and one for the rows of the bug log."""

from django.urls import include, path

from tests.conformance.bugs import bugs

urlpatterns = [path("mcp", include("django_mcp.urls")), path("bugs", bugs.urls)]
