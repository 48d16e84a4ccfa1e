"""Autodiscovery of ``mcp.py`` modules."""

import sys
import types

import pytest
from django.apps import AppConfig, apps

from django_mcp import all_servers, default_server
from django_mcp.apps import MCPConfig, SimpleMCPConfig
from django_mcp.discovery import autodiscover


def app(tmp_path, monkeypatch, label, source):
    """An installed app with this ``mcp.py``, or without one."""
    folder = tmp_path / label
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    if source is not None:
        (folder / "mcp.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in (label, f"{label}.mcp"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    module = types.ModuleType(label)
    module.__path__ = [str(folder)]
    module.__file__ = str(folder / "__init__.py")
    config = AppConfig(label, module)
    monkeypatch.setitem(sys.modules, label, module)
    return config


@pytest.fixture
def installed(monkeypatch):
    """Replaces the installed apps, and takes back what their modules register."""

    def install(*configs):
        monkeypatch.setattr(apps, "get_app_configs", lambda: configs)

    before = default_server.registry.snapshot()
    yield install
    default_server.registry.restore(before)


TOOL = "from django_mcp import tool\n\n@tool\ndef {name}() -> str:\n    'A tool.'\n    return 'x'\n"


def test_every_app_with_a_module_is_discovered(tmp_path, monkeypatch, installed):
    """BL-034: an app without one is no error."""
    installed(
        app(tmp_path, monkeypatch, "disco_one", TOOL.format(name="disco_one_tool")),
        app(tmp_path, monkeypatch, "disco_two", None),
        app(tmp_path, monkeypatch, "disco_three", TOOL.format(name="disco_three_tool")),
    )
    autodiscover()
    assert {"disco_one_tool", "disco_three_tool"} <= set(default_server.registry.tools)
    autodiscover()


def test_a_broken_module_names_its_app_and_registers_nothing(tmp_path, monkeypatch, installed):
    """BL-034: an import error inside the module is not a missing module."""
    before = dict(default_server.registry.tools)
    source = TOOL.format(name="half") + "\nfrom django_mcp import MCPServer\nMCPServer('half')\nimport no_such_module\n"
    installed(app(tmp_path, monkeypatch, "disco_broken", source))
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as caught:
        autodiscover()
    assert "disco_broken.mcp" in caught.value.__notes__[0]
    assert dict(default_server.registry.tools) == before
    assert "half" not in [server.name for server in all_servers()]


def test_a_module_that_was_imported_before_counts_as_discovered(tmp_path, monkeypatch, installed):
    config = app(tmp_path, monkeypatch, "disco_early", TOOL.format(name="early"))
    installed(config)
    __import__("disco_early.mcp")
    autodiscover()
    assert "early" in default_server.registry.tools


def test_the_default_configuration_discovers_and_the_simple_one_does_not(monkeypatch):
    calls = []
    monkeypatch.setattr("django_mcp.discovery.autodiscover", lambda: calls.append(1))
    module = sys.modules["django_mcp"]
    SimpleMCPConfig("django_mcp", module).ready()
    assert calls == []
    MCPConfig("django_mcp", module).ready()
    assert calls == [1]
