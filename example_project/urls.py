"""The pages for people, the REST API for programs and the MCP endpoint for models."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from rest_framework.routers import SimpleRouter

from .helpdesk import refunds
from .helpdesk.api import TicketViewSet

router = SimpleRouter()
router.register("tickets", TicketViewSet, basename="ticket")

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/", include(router.urls)),
    path("i18n/", include("django.conf.urls.i18n")),
    path("refunds/", refunds.refund, name="refund"),
    path("refunds/done/", refunds.done, name="refund-done"),
    path("mcp", include("django_mcp.urls")),
]
