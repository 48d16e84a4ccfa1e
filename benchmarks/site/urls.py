from django.urls import include, path

from django_mcp import get_server

urlpatterns = [
    path("mcp", include("django_mcp.urls")),
    path("token", get_server("token").urls),
    path("catalogue", get_server("catalogue").urls),
]
