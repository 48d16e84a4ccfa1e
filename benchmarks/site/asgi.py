from django.core.asgi import get_asgi_application as get_django_application

from django_mcp.asgi import get_asgi_application

application = get_asgi_application()
# Django's own, so that the view serves
view = get_django_application()
