from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class HelpdeskConfig(AppConfig):
    name = "example_project.helpdesk"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("help desk")
