"""W003 and W004."""

from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core import management
from django.core.checks import WARNING
from django.test import override_settings

from django_mcp.checks.asgi import SECURITY, check_runserver, check_skipped_middleware
from tests.checks.messages import only

ASGI = "mysite.asgi.application"


def skipped(*middleware, **options):
    with override_settings(**{"ASGI_APPLICATION": ASGI, "MIDDLEWARE": list(middleware), **options}):
        return check_skipped_middleware()


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("django_tenants.middleware.main.TenantMainMiddleware", "chooses the tenant"),
        ("mysite.middleware.TenantMiddleware", "chooses the tenant"),
        ("django_hosts.middleware.HostsRequestMiddleware", "chooses the site by its host"),
        ("iprestrict.middleware.IPRestrictMiddleware", "keeps addresses out"),
        ("mysite.middleware.IPAllowListMiddleware", "keeps addresses out"),
        ("mysite.middleware.ip_filter", "keeps addresses out"),
        ("mysite.middleware.AllowlistMiddleware", "keeps addresses out"),
        ("mysite.middleware.GeoBlocking", "keeps addresses out"),
        ("maintenance_mode.middleware.MaintenanceModeMiddleware", "closes the site"),
        ("auditlog.middleware.AuditlogMiddleware", "notes who changes what"),
        ("simple_history.middleware.HistoryRequestMiddleware", "notes who changes what"),
        ("crum.CurrentRequestUserMiddleware", "notes who changes what"),
    ],
)
def test_a_middleware_that_matters_is_told(path, effect):
    warning = only(skipped("django.middleware.common.CommonMiddleware", path))
    assert (warning.id, warning.level) == ("django_mcp.W003", WARNING)
    assert warning.msg == f"The consumer does not run {path}, which {effect}."
    name = path.rpartition(".")[2]
    assert f'DJANGO_MCP = {{"CONSUMER_MIDDLEWARE": ["mysite.asgi.{name}"]}}' in warning.hint
    assert 'SILENCED_SYSTEM_CHECKS = ["django_mcp.W003"]' in warning.hint


@pytest.mark.parametrize(
    "path",
    [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        "corsheaders.middleware.CorsMiddleware",
        "mysite.middleware.SkipFilterMiddleware",
        "mysite.middleware.clip_access",
        SECURITY,
    ],
)
def test_other_middleware_is_silent(path):
    assert skipped(path) == []


def test_the_redirect_to_https_is_told():
    warning = only(skipped(SECURITY, SECURE_SSL_REDIRECT=True))
    assert "which redirects to https (SECURE_SSL_REDIRECT)" in warning.msg


def test_without_asgi_or_with_an_own_middleware_of_the_consumer_nothing_is_told():
    path = "mysite.middleware.TenantMiddleware"
    assert skipped(path, ASGI_APPLICATION=None) == []
    assert skipped(path, DJANGO_MCP={"CONSUMER_MIDDLEWARE": ["mysite.asgi.TenantMiddleware"]}) == []


@pytest.fixture
def runserver(monkeypatch):
    def check(owner, *installed, **options):
        monkeypatch.setattr(management, "get_commands", lambda: {"runserver": owner})
        monkeypatch.setattr(apps, "get_app_configs", lambda: [SimpleNamespace(name=name) for name in installed])
        with override_settings(**{"DEBUG": True, "ASGI_APPLICATION": ASGI, **options}):
            return check_runserver()

    return check


WHITENOISE = "whitenoise.runserver_nostatic"
STATIC = "django.contrib.staticfiles"


@pytest.mark.parametrize(
    ("owner", "installed"),
    [
        ("django.core", ()),
        (STATIC, (STATIC, "daphne")),
        (WHITENOISE, (WHITENOISE,)),
        (WHITENOISE, (WHITENOISE, STATIC, "daphne")),
        (WHITENOISE, ("daphne_of_mine", WHITENOISE, STATIC)),
    ],
)
def test_a_wsgi_runserver_is_told_where_daphne_belongs(runserver, owner, installed):
    warning = only(runserver(owner, *installed))
    assert (warning.id, warning.level) == ("django_mcp.W004", WARNING)
    assert "runserver serves WSGI" in warning.msg
    assert warning.hint == 'Write "daphne" first in INSTALLED_APPS: INSTALLED_APPS = ["daphne", ...].'


@pytest.mark.parametrize(
    ("owner", "installed"),
    [("daphne", ("daphne", STATIC)), (WHITENOISE, (WHITENOISE, "daphne", STATIC)), ("mysite.own", ("mysite.own",))],
)
def test_an_asgi_runserver_is_silent(runserver, owner, installed):
    assert runserver(owner, *installed) == []


def test_without_asgi_or_in_production_runserver_does_not_matter(runserver):
    assert runserver("django.core", ASGI_APPLICATION=None) == []
    assert runserver("django.core", DEBUG=False) == []
