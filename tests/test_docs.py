"""What the documentation says is so: its blocks run, and its tables and signatures are those of the code."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from django.core.management import load_command_class
from django.utils.module_loading import import_string

import django_mcp
from django_mcp.conf import _KINDS, MCPSettings, known_keys
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.tools import ToolDefinition
from django_mcp.protocol.errors import ABSENT
from django_mcp.protocol.versions import Revision
from django_mcp.server import options
from django_mcp.server.server import Server
from tests.documents import DOCS, PAGES, run, run_test_cases, table_rows

PACKAGE = Path(django_mcp.__file__).parent
CODE = re.compile(r"`([^`]+)`")
SIGNATURE = re.compile(r"^```\{py:(?:class|decorator|function)\} ([\w.]+)(\(.*\))$", re.MULTILINE)

# Decorators take their options on to these.
DECORATED: dict[str, tuple[Any, Any]] = {
    "django_mcp.tool": (ToolDefinition, options.ToolOptions),
    "django_mcp.prompt": (PromptDefinition, options.PromptOptions),
    "django_mcp.resource": (ResourceDefinition, options.ResourceOptions),
    "django_mcp.resource_template": (ResourceTemplateDefinition, options.ResourceTemplateOptions),
}

FEATURES = {
    "tool annotations": "has_annotations",
    "audio content": "has_audio",
    "capability `completions`": "has_completions_capability",
    "batches": "has_batches",
    "titles": "has_titles",
    "`structuredContent` and output schemas": "has_output_schema",
    "resource links": "has_resource_links",
    "`lastModified`": "has_last_modified",
    "`_meta` of definitions and content": "has_item_meta",
    "values chosen before, in completions": "has_completion_context",
    "icons": "has_icons",
    "description and website of the server": "has_server_details",
    "forms with a mode, titled choices, defaults": "has_form_modes",
    "structured values other than objects": "has_any_structured",
    "arguments in headers": "has_param_headers",
    "error -32021 for a capability the client lacks": "has_capability_error",
    "server info in results": "has_server_info",
    "ids of the events of a call's stream": "has_event_ids",
    "stream events without data, which say where a client is": "has_priming",
}


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page):
    """S264."""
    with run(page):
        pass


# A TestCase closes its connection behind itself, and with it a transaction that is around it.
@pytest.mark.django_db(transaction=True)
def test_the_test_cases_pass():
    with run(DOCS / "testing.md") as namespace:
        assert run_test_cases(namespace) == 11


def code_rows(page: str) -> dict[str, list[str]]:
    """The rows that begin with one name in code marks, by the name."""
    return {match[1]: row[1:] for row in table_rows(page) if (match := CODE.fullmatch(row[0]))}


def test_every_setting_is_told_with_its_default_and_its_values():
    rows = code_rows("settings.md")
    assert sorted(rows) == list(known_keys())
    for key, (value, default, _meaning) in rows.items():
        assert value == shown_kind(_KINDS[key].allowed, value), key
        if default != "computed":
            shown = ast.literal_eval(default.strip("`"))
            assert getattr(MCPSettings(), key.lower()) == (tuple(shown) if isinstance(shown, list) else shown), key


def shown_kind(allowed: str, shown: str) -> str:
    """How the page says what a key takes, from the words of the error message."""
    optional = "None or " if allowed.startswith("None or ") else ""
    allowed = allowed.removeprefix("None or ")
    if match := re.fullmatch(r"a whole number of at least (\d)", allowed):
        unit = "bytes" if shown.startswith("bytes") else "whole number"
        return f"{optional}{unit}, at least {match[1]}"
    if match := re.match(r"a number of seconds or a timedelta, (more than|at least) zero", allowed):
        return f"{optional}seconds, {match[1]} 0"
    if match := re.match(r"a list of (origins|dotted paths)", allowed):
        return f"list of {match[1]}"
    if match := re.fullmatch(r"one of (.*)", allowed):
        return "one of " + ", ".join(f"`{choice}`" for choice in match[1].split(", "))
    if allowed == "the dotted path of a function":
        return f"{optional}dotted path"
    if allowed.startswith("the dotted path of an authentication class"):
        return "dotted path, class or object, or a list of them"
    return f"{optional}URL" if "URL" in allowed else allowed


def test_every_check_is_told():
    source = "".join(path.read_text() for path in (PACKAGE / "checks").glob("*.py"))
    assert set(code_rows("checks.md")) == set(re.findall(r'id="(django_mcp\.[EW]\d{3})"', source))


def test_every_logger_is_told():
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(code_rows("logging.md")) == set(re.findall(r'getLogger\("([\w.]+)"\)', source))


@pytest.mark.parametrize("name", [path.stem for path in (PACKAGE / "management" / "commands").glob("mcp_*.py")])
def test_every_command_is_told_with_its_options(name):
    parser = load_command_class("django_mcp", name).create_parser("manage.py", name)
    base = {"help", "version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color"}
    own = [action for action in parser._actions if action.dest not in {*base, "skip_checks"}]
    text = (DOCS / "commands.md").read_text()
    section = text.partition(f"## `{name}`")[2].partition("\n## ")[0]
    options = re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)
    assert options == [action.option_strings[0] if action.option_strings else action.dest for action in own]


def test_every_attribute_of_the_context_is_told():
    rows = {name.removesuffix("()") for row in table_rows("context.md")[1:] for name in CODE.findall(row[0])}
    rows |= {f"a{name}" for name in rows if name.startswith("notify_")}
    mapping = {"get", "items", "keys", "values", "fill", "attach"}
    assert rows == {name for name in dir(django_mcp.Context) if not name.startswith("_")} - mapping


def test_every_public_name_is_told():
    names = [name for row in table_rows("api.md")[1:] for name in CODE.findall(row[0])]
    assert sorted(names) == sorted(django_mcp.__all__)


def test_what_a_revision_may_see_is_what_the_table_says():
    rows = {row[0].partition(" (older")[0]: row[1:] for row in table_rows("protocol.md") if len(row) == 6}
    assert rows.pop("feature") == [str(revision) for revision in Revision]
    assert rows.keys() == FEATURES.keys()
    for feature, cells in rows.items():
        assert [cell == "yes" for cell in cells] == [getattr(one, FEATURES[feature]) for one in Revision], feature


def shown_signatures() -> list[tuple[str, str]]:
    return [match for page in PAGES for match in SIGNATURE.findall(page.read_text())]


@pytest.mark.parametrize(("name", "shown"), shown_signatures(), ids=lambda text: text.partition("(")[0])
def test_signatures_are_those_of_the_code(name, shown):
    namespace: dict[str, Any] = {"ABSENT": ABSENT}
    exec(f"def documented{shown}: ...", namespace)  # noqa: S102 - it is our own page
    assert parameters(inspect.signature(namespace["documented"])) == real_parameters(name)


def parameters(signature: inspect.Signature, *, without: str = "") -> dict[str, tuple[str, Any]]:
    return {
        name: (parameter.kind.description, parameter.default)
        for name, parameter in signature.parameters.items()
        if name not in (without, "_")
    }


def real_parameters(name: str) -> dict[str, tuple[str, Any]]:
    if name in DECORATED:
        kind, taken_options = DECORATED[name]
        made = parameters(inspect.signature(kind.from_function), without="function")
        taken = inspect.signature(import_string(name)).parameters
        first = [one for one in made if one in taken]
        assert {*made} == {*get_type_hints(taken_options), *first}
        return {one: (taken[one].kind.description, what[1]) if one in first else what for one, what in made.items()}
    module, _, attribute = name.rpartition(".")
    found = parameters(inspect.signature(getattr(import_module(module), attribute)))
    if found.pop("options", None):  # of MCPServer, which takes those of its base
        found = {**parameters(inspect.signature(Server), without="services"), **found}
    return found
