"""A floor: a Django view without middleware that parses the request and answers the same JSON."""

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, SECRET_KEY="benchmark", MIDDLEWARE=[])
django.setup()

from .bare import answer  # noqa: E402  # which would take the settings for its own


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(answer(request.body), content_type="application/json")


async def async_view(request: HttpRequest) -> HttpResponse:
    return view(request)


urlpatterns = [path("mcp", view), path("async", async_view)]
wsgi = get_wsgi_application()
asgi = get_asgi_application()
