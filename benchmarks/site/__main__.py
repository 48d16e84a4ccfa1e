"""Makes the database of BENCHMARK_DATABASE and prints an access token."""

import django
from django.core.management import call_command

django.setup()

from django.contrib.auth.models import User  # noqa: E402  # the apps have to be ready

from django_mcp.models import AccessToken  # noqa: E402

call_command("migrate", verbosity=0)
_, value = AccessToken.objects.issue(User.objects.create(username="load"), name="load")
print(value)
