"""E001, W009 and W010."""

import sys
import types
from pathlib import Path

import pytest
from django.apps import AppConfig, apps
from django.core import management
from django.core.checks import ERROR, WARNING

from django_mcp.checks import packages
from django_mcp.checks.packages import check_commands, check_foreign_package, check_foreign_readers
from tests.checks.messages import only


@pytest.fixture
def site_packages(tmp_path, monkeypatch):
    """A folder at the end of ``sys.path`` with a package, and perhaps the record of who installed it."""

    def install(files, *, distribution=None, listed=None, listing="RECORD"):
        for name in files:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("")
        if distribution is not None:
            info = tmp_path / f"{distribution.replace('-', '_')}-1.0.{'dist' if listing == 'RECORD' else 'egg'}-info"
            info.mkdir()
            for metadata in ("METADATA", "PKG-INFO"):
                (info / metadata).write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
            (info / listing).write_text("".join(f"{name},,\n" for name in listed or files))
        return tmp_path

    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return install


def test_our_package_alone_is_silent():
    assert check_foreign_package() == []


@pytest.mark.parametrize("listing", ["RECORD", "SOURCES.txt"])
def test_another_distribution_of_our_package_is_named(site_packages, listing):
    site_packages(["django_mcp/__init__.py", "django_mcp/loader.py"], distribution="django-mcp", listing=listing)
    error = only(check_foreign_package())
    assert (error.id, error.level) == ("django_mcp.E001", ERROR)
    assert "The distribution 'django-mcp' installs a package 'django_mcp' too" in error.msg
    assert "pip uninstall django-mcp django-mcp-sdk && pip install django-mcp-sdk" in error.hint


@pytest.mark.parametrize("file", ["django_mcp/__init__.py", "django_mcp.py"])
def test_a_stray_package_or_module_is_named(site_packages, file):
    folder = site_packages([file])
    error = only(check_foreign_package())
    place = folder / Path(file).parts[0]
    assert error.msg.startswith(f"There is another 'django_mcp' at {place}.")
    assert f"mv {place} {folder / 'my_mcp'}" in error.hint


def test_a_place_on_the_path_twice_is_named_once(site_packages, monkeypatch):
    folder = site_packages(["django_mcp/__init__.py"])
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    assert len(check_foreign_package()) == 1


def test_a_second_copy_of_ours_and_a_plain_folder_are_no_strangers(site_packages, monkeypatch, tmp_path_factory):
    site_packages(["django_mcp/__init__.py", "django_mcp/checks/packages.py"], distribution="our-fork")
    plain = tmp_path_factory.mktemp("plain")
    (plain / "django_mcp").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(plain)])
    assert check_foreign_package() == []


def test_other_distributions_are_silent(site_packages):
    site_packages(["other/django_mcp/x.py"], distribution="other")
    site_packages(["bare.py"], distribution="bare", listing="top_level.txt")
    assert check_foreign_package() == []


def test_a_file_list_that_cannot_be_read_is_passed_over(site_packages):
    folder = site_packages(["django_mcp_plus/x.py"], distribution="odd")
    (folder / "odd-1.0.dist-info" / "RECORD").write_bytes(b"\xff\xfe\xfd")
    assert check_foreign_package() == []


def test_our_commands_are_our_own():
    management.get_commands.cache_clear()  # type: ignore[attr-defined]
    assert check_commands() == []


def test_a_hidden_command_is_told_with_the_app_that_hides_it(monkeypatch):
    commands = {"mcp_token": "django_mcp", "mcp_clear": "django_admin_mcp", "migrate": "django.core"}
    monkeypatch.setattr(management, "get_commands", lambda: commands)
    warning = only(check_commands())
    assert (warning.id, warning.level) == ("django_mcp.W009", WARNING)
    assert warning.msg == "manage.py mcp_clear runs the command of 'django_admin_mcp', which hides ours."
    assert warning.hint == 'Write "django_mcp" above "django_admin_mcp" in INSTALLED_APPS.'


@pytest.fixture
def install(tmp_path, monkeypatch):
    """The one installed app, with these modules."""

    def install(name, *modules):
        module = types.ModuleType(name)
        module.__path__ = [str(tmp_path)]
        for each in modules:
            (tmp_path / f"{each}.py").write_text("")
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(apps, "get_app_configs", lambda: [AppConfig(name, module)])

    return install


@pytest.mark.parametrize(
    ("name", "modules", "distribution"),
    [
        ("mcp_server", ["djangomcp"], "django-mcp-server"),
        ("django_native_mcp", [], "django-native-mcp"),
        ("django_stateless_mcp", [], "django-stateless-mcp"),
    ],
)
def test_an_app_that_reads_the_same_file_is_named(install, name, modules, distribution):
    install(name, *modules)
    warning = only(check_foreign_readers())
    assert (warning.id, warning.level, warning.obj) == ("django_mcp.W010", WARNING, name)
    assert f"{name!r} ({distribution}) imports the mcp.py of every app" in warning.msg
    assert warning.hint == f'Take "{name}" out of INSTALLED_APPS once its tools have moved to @django_mcp.tool.'


def test_another_app_of_the_same_name_and_our_own_apps_are_silent(install):
    """mcp-django-server is called mcp_server too, and reads mcp_tools.py."""
    assert check_foreign_readers() == []
    install("mcp_server", "registry")
    assert check_foreign_readers() == []


def test_our_file_is_where_it_is_said_to_be():
    assert (packages.HOME / packages.OURS).samefile(packages.__file__)
