"""A URLconf that cannot be read."""

urlpatterns = 5
