"""Other packages that take our names: the package, the commands, and the ``mcp.py`` of the apps."""

from __future__ import annotations

import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.core import management
from django.core.checks import CheckMessage, Error, Warning
from django.utils.module_loading import module_has_submodule

PACKAGE = "django_mcp"
HOME = Path(__file__).resolve().parents[1]
# Only ours has this file, whatever name it is distributed under.
OURS = Path(__file__).resolve().relative_to(HOME)

_LISTED = re.compile(rf"^{PACKAGE}/", re.MULTILINE)

# Apps that import every app's mcp.py as well: their name, a module that tells them from others of that
# name, and the distribution. A fourth one, django-mcp, is called django_mcp: E001.
READERS = (
    ("django_native_mcp", None, "django-native-mcp"),
    ("django_stateless_mcp", None, "django-stateless-mcp"),
    ("mcp_server", "djangomcp", "django-mcp-server"),
)


def check_foreign_package(**_kwargs: Any) -> list[CheckMessage]:
    """E001: two packages of one name overwrite each other's files, or hide each other."""
    foreign = sorted(_foreign_distributions())
    installed = {place for _name, place in foreign}
    return [
        *(
            Error(
                f"The distribution {name!r} installs a package {PACKAGE!r} too: the files of both are mixed.",
                hint=(
                    f"Run pip uninstall {name} django-mcp-sdk && pip install django-mcp-sdk: "
                    "removing only one takes files of the other along."
                ),
                id="django_mcp.E001",
            )
            for name, _place in foreign
        ),
        *(
            Error(
                f"There is another {PACKAGE!r} at {place}. Which of the two is imported depends on sys.path.",
                hint=f"Rename it, or take its folder out of sys.path: mv {place} {place.with_name('my_mcp')}.",
                id="django_mcp.E001",
            )
            for place in _foreign_copies()
            if place not in installed
        ),
    ]


def _foreign_distributions() -> Iterator[tuple[str, Path]]:
    """Each with the place of its package."""
    for distribution in distributions():
        files = _file_list(distribution)
        if _LISTED.search(files) and f"{PACKAGE}/{OURS.as_posix()}" not in files:
            yield str(distribution.name), Path(str(distribution.locate_file(PACKAGE))).resolve()


def _file_list(distribution: Distribution) -> str:
    """As text: parsing the lists of all distributions takes three times as long."""
    try:
        return distribution.read_text("RECORD") or distribution.read_text("SOURCES.txt") or ""
    except (OSError, ValueError):
        return ""


def _foreign_copies() -> Iterator[Path]:
    """Packages and modules of our name elsewhere on ``sys.path``. A second copy of ours is no stranger."""
    seen = {HOME}
    for entry in sys.path:
        spec = PathFinder.find_spec(PACKAGE, [entry])
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin).resolve()
        place = origin.parent if spec.submodule_search_locations else origin
        if place not in seen and not os.path.exists(place / OURS):
            seen.add(place)
            yield place


def check_commands(**_kwargs: Any) -> list[CheckMessage]:
    """W009: the app that comes first in ``INSTALLED_APPS`` gives a command its code."""
    owners = management.get_commands()
    ours = [module.name for module in pkgutil.iter_modules([str(HOME / "management" / "commands")])]
    return [
        Warning(
            f"manage.py {command} runs the command of {owners[command]!r}, which hides ours.",
            hint=f'Write "{PACKAGE}" above "{owners[command]}" in INSTALLED_APPS.',
            id="django_mcp.W009",
        )
        for command in ours
        if owners.get(command, PACKAGE) != PACKAGE
    ]


def check_foreign_readers(**_kwargs: Any) -> list[CheckMessage]:
    """W010: the same file would have to suit two packages that share nothing else."""
    return [
        Warning(
            f"{config.name!r} ({distribution}) imports the mcp.py of every app, as we do: "
            "what such a file registers with the one is not offered by the other.",
            hint=f'Take "{config.name}" out of INSTALLED_APPS once its tools have moved to @django_mcp.tool.',
            obj=config.name,
            id="django_mcp.W010",
        )
        for config in apps.get_app_configs()
        for name, telling_module, distribution in READERS
        if config.name == name and _has(config, telling_module)
    ]


def _has(config: AppConfig, module: str | None) -> bool:
    return module is None or (config.module is not None and module_has_submodule(config.module, module))
