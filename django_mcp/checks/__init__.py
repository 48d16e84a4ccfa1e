"""System checks: what is wrong with a site's set-up, each with the line that puts it right.

No check raises, whatever the settings are, and none but ``check_tables`` touches a database. What
keeps a check from looking is reported by Django itself or by ``django_mcp.E002``.
"""

from django.core.checks import Tags, register

from django_mcp.checks.asgi import check_runserver, check_skipped_middleware
from django_mcp.checks.configuration import check_open_servers, check_settings
from django_mcp.checks.databases import check_connections, check_sqlite, check_tables
from django_mcp.checks.layers import check_layer_reach, check_redis_timeout
from django_mcp.checks.mounts import check_language_mounts, check_slash_mounts
from django_mcp.checks.offers import check_offers, check_pages, check_prompt_templates, check_tool_names
from django_mcp.checks.packages import check_commands, check_foreign_package, check_foreign_readers

TAG = "django_mcp"

CHECKS = (
    check_commands,
    check_connections,
    check_foreign_package,
    check_foreign_readers,
    check_language_mounts,
    check_layer_reach,
    check_offers,
    check_open_servers,
    check_pages,
    check_prompt_templates,
    check_redis_timeout,
    check_runserver,
    check_settings,
    check_skipped_middleware,
    check_slash_mounts,
    check_sqlite,
    check_tool_names,
)


def register_checks() -> None:
    """For ``AppConfig.ready``. ``manage.py check --tag django_mcp`` runs these alone."""
    for check in CHECKS:
        register(check, TAG)
    register(check_tables, TAG, Tags.database)
