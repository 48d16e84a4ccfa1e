"""django-mcpz with the sync tool of benchmarks/site/mcp.py, in a site set up as ours is.

Run as a program it makes the database of BENCHMARK_DATABASE and prints an access token.
"""

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path

from benchmarks.site import settings as site

if not settings.configured:
    settings.configure(
        SECRET_KEY=site.SECRET_KEY,
        ALLOWED_HOSTS=site.ALLOWED_HOSTS,
        ROOT_URLCONF="benchmarks.apps.mcpz",
        MIDDLEWARE=[],
        DATABASES=site.DATABASES,
        DEFAULT_AUTO_FIELD=site.DEFAULT_AUTO_FIELD,
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django_mcpz.bearer_tokens"],
        USE_TZ=True,
    )
django.setup()

import msgspec  # noqa: E402  # as these read settings and models
from django.contrib.auth.models import User  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django_mcpz.bearer_tokens.auth import token_auth  # noqa: E402
from django_mcpz.bearer_tokens.models import Token  # noqa: E402
from django_mcpz.server import MCPServer, public  # noqa: E402

from .catalogue import DESCRIPTION, NAMES, count  # noqa: E402

server = MCPServer(name="benchmark", version="1", auth=public)
with_token = MCPServer(name="token", version="1", auth=token_auth)
hundred = MCPServer(name="catalogue", version="1", auth=public)


class Numbers(msgspec.Struct):
    a: int
    b: int


class Total(msgspec.Struct):
    result: int


class Query(msgspec.Struct):
    query: str
    limit: int = 10
    archived: bool = False


def add_sync(request: HttpRequest, params: Numbers) -> Total:
    return Total(params.a + params.b)


def count_entries(request: HttpRequest, params: Query) -> Total:
    return Total(count(params.query, params.limit, params.archived))


for each in (server, with_token):
    each.tool(description="Add two numbers.")(add_sync)
for name in NAMES:
    hundred.tool(name=name, description=DESCRIPTION)(count_entries)

urlpatterns = [path("mcp", server), path("token", with_token), path("catalogue", hundred)]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    _, value = Token.create(name="load", user=User.objects.create(username="load"))
    print(value)
else:
    wsgi = get_wsgi_application()
    asgi = get_asgi_application()
