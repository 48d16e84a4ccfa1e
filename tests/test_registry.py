"""The registry: unique keys, the order of registration, and a way back."""

import functools
import threading
import types
from typing import Any, cast

import pytest

from django_mcp.exceptions import AlreadyRegistered, InvalidPrimitive, NotRegistered
from django_mcp.primitives.prompts import PromptDefinition
from django_mcp.primitives.resources import ResourceDefinition, ResourceTemplateDefinition
from django_mcp.primitives.tools import ToolAnnotations, ToolDefinition
from django_mcp.registry import Kind, Registry
from tests.primitives.values import numbered


def add(a: int, b: int): ...
def greet(name: str): ...
def hours(): ...
def ticket(pk: int): ...


def everything():
    return [
        ToolDefinition.from_function(add),
        PromptDefinition.from_function(greet),
        ResourceDefinition.from_function(hours, uri="help://hours"),
        ResourceTemplateDefinition.from_function(ticket, uri_template="help://{pk}"),
    ]


def filled():
    registry = Registry()
    for primitive in everything():
        registry.register(primitive)
    return registry


def test_primitives_are_kept_by_kind_and_key():
    registry = filled()

    assert list(registry.tools) == ["add"]
    assert list(registry.prompts) == ["greet"]
    assert list(registry.resources) == ["help://hours"]
    assert list(registry.templates) == ["help://{pk}"]
    assert registry.find_tool("add") is registry.tools["add"]
    assert registry.find_prompt("greet") is registry.prompts["greet"]
    assert registry.find_tool("greet") is registry.find_prompt("add") is None


def test_registration_order_is_listing_order():
    """TOOL-04."""
    registry = Registry()
    for name in ("b", "c", "a"):
        registry.register(ToolDefinition.from_function(add, name=name))

    assert list(registry.tools) == ["b", "c", "a"]


def test_register_gives_the_primitive_back():
    tool = ToolDefinition.from_function(add)

    assert Registry().register(tool) is tool


def test_a_uri_finds_its_resource_before_a_template():
    """RES-04."""
    registry = filled()

    assert registry.find_resource("help://hours") == (registry.resources["help://hours"], {})
    assert registry.find_resource("help://5") == (registry.templates["help://{pk}"], {"pk": "5"})
    assert registry.find_resource("note://5") is None


def test_the_first_template_that_fits_is_found():
    registry = filled()
    registry.register(ResourceTemplateDefinition.from_function(lambda rest: 0, name="x", uri_template="help://{+rest}"))

    assert registry.find_resource("help://5")[1] == {"pk": "5"}
    assert registry.find_resource("help://5/6")[1] == {"rest": "5/6"}


def test_the_same_primitive_twice_is_harmless():
    """BL-035."""
    registry = filled()
    before = registry.version, registry.tools["add"]

    for primitive in everything():
        registry.register(primitive)

    assert (registry.version, registry.tools["add"]) == before


SOURCE = """
def permission(context): ...

def add(a: int): ...
"""


def run_module(name, source=SOURCE):
    module = types.ModuleType(name)
    exec(compile(source, "/site/mcp.py", "exec"), module.__dict__)  # noqa: S102
    return module


def test_a_module_that_runs_twice_is_harmless():
    """BL-035: a double import, or a reload."""
    registry = Registry()
    for name in ("shop.mcp", "site.shop.mcp"):
        module = run_module(name)
        registry.register(ToolDefinition.from_function(module.add, permission=module.permission, timeout=5))

    assert len(registry.tools) == 1


def test_another_function_under_the_same_name_is_refused():
    """BL-035: the message names both places."""
    registry = Registry()
    registry.register(ToolDefinition.from_function(run_module("shop.mcp").add))

    with pytest.raises(AlreadyRegistered) as caught:
        registry.register(ToolDefinition.from_function(run_module("stock.mcp", "\n" + SOURCE).add))
    assert str(caught.value) == (
        "The tool 'add' is registered by shop.mcp.add (/site/mcp.py:4) and again by "
        "stock.mcp.add (/site/mcp.py:5). Every tool has its own name: change one of the two."
    )
    assert registry.tools["add"].origin == "shop.mcp.add"


def test_the_same_function_with_other_options_is_refused():
    """A permission must not get lost."""
    registry = Registry()
    registry.register(ToolDefinition.from_function(add, permission="shop.add_item"))

    for options in ({}, {"permission": bool}, {"permission": "shop.add_item", "annotations": ToolAnnotations()}):
        with pytest.raises(AlreadyRegistered):
            registry.register(ToolDefinition.from_function(add, **options))


def test_functions_that_differ_in_what_they_close_over_are_two():
    def make(number):
        def number_tool():
            return number

        return number_tool

    one, two = make(1), make(2)
    registry = Registry()
    registry.register(ToolDefinition.from_function(one))

    assert one() != two()
    with pytest.raises(AlreadyRegistered):
        registry.register(ToolDefinition.from_function(two))


def test_methods_of_two_objects_are_two():
    class Counter:
        def count(self): ...

    counter = Counter()
    registry = Registry()
    registry.register(ToolDefinition.from_function(counter.count))
    registry.register(ToolDefinition.from_function(counter.count))

    with pytest.raises(AlreadyRegistered):
        registry.register(ToolDefinition.from_function(Counter().count))


def test_objects_without_code_are_compared_by_identity():
    registry = Registry()
    registry.register(ToolDefinition.from_function(functools.partial(add, a=1)))

    with pytest.raises(AlreadyRegistered):
        registry.register(ToolDefinition.from_function(functools.partial(add, a=1)))


def test_subclasses_of_a_tool_are_other_tools():
    class Special(ToolDefinition):
        __slots__ = ()

    registry = filled()
    with pytest.raises(AlreadyRegistered):
        registry.register(Special.from_function(add))


def test_a_resource_conflict_speaks_of_uris():
    class Reader:
        def __call__(self): ...

    registry = filled()
    with pytest.raises(
        AlreadyRegistered, match=r"again by tests.test_registry.*Reader. Every resource has its own URI"
    ):
        registry.register(ResourceDefinition.from_function(Reader(), uri="help://hours"))


def test_other_objects_cannot_be_registered():
    with pytest.raises(InvalidPrimitive, match=r"5 cannot be registered.*@register above a class, or @tool above"):
        Registry().register(cast(Any, 5))


def test_unregistering_names_what_is_known():
    """S26."""
    registry = filled()
    registry.unregister(Kind.TOOL, "add")

    assert registry.find_tool("add") is None
    with pytest.raises(NotRegistered, match=r"There is no tool 'add'. Registered: nothing"):
        registry.unregister(Kind.TOOL, "add")
    with pytest.raises(NotRegistered, match=r"There is no prompt 'gret'. Registered: greet"):
        registry.unregister(Kind.PROMPT, "gret")
    with pytest.raises(NotRegistered, match=r"There is no resource template 'x'. Registered: help://{pk}"):
        registry.unregister(Kind.TEMPLATE, "x")


def test_every_change_grows_the_version():
    registry = Registry()
    seen = [registry.version]
    for change in (
        lambda: registry.register(ToolDefinition.from_function(add)),
        lambda: registry.unregister(Kind.TOOL, "add"),
        lambda: registry.restore(filled().snapshot()),
    ):
        change()
        seen.append(registry.version)

    assert seen == sorted(set(seen))


def test_restoring_undoes_everything_at_once():
    """A module that fails half-way leaves nothing behind."""
    registry = filled()
    before = registry.snapshot()
    tools = registry.tools

    registry.register(ToolDefinition.from_function(add, name="other"))
    registry.register(PromptDefinition.from_function(greet, name="other"))
    registry.unregister(Kind.RESOURCE, "help://hours")
    registry.restore(before)

    assert registry.snapshot() is before
    assert registry.tools is tools
    assert list(registry.prompts) == ["greet"]
    assert list(registry.resources) == ["help://hours"]


def test_restoring_without_changes_changes_nothing():
    registry = filled()
    version = registry.version
    registry.restore(registry.snapshot())

    assert registry.version == version


def test_override_ends_with_its_block():
    registry = filled()

    with registry.override() as inside:
        inside.register(ToolDefinition.from_function(add, name="other"))
        assert "other" in registry.tools
    assert "other" not in registry.tools


def test_override_ends_with_an_error():
    registry = filled()

    with pytest.raises(NotRegistered), registry.override():
        _change_and_fail(registry)
    assert list(registry.tools) == ["add"]


def _change_and_fail(registry):
    registry.register(ToolDefinition.from_function(add, name="other"))
    registry.unregister(Kind.TOOL, "missing")


def test_mappings_cannot_be_changed_and_stay_as_they_were():
    registry = filled()
    tools = registry.tools

    with pytest.raises(TypeError):
        tools["x"] = None
    registry.register(ToolDefinition.from_function(add, name="other"))
    assert list(tools) == ["add"]


@pytest.mark.parametrize(
    ("primitives", "expected"),
    numbered(
        ([], False),
        (everything(), False),
        ([PromptDefinition.from_function(greet, complete={"name": ["Ada"]})], True),
        ([ResourceTemplateDefinition.from_function(ticket, uri_template="a:{pk}", complete={"pk": ["1"]})], True),
    ),
)
def test_completers_are_known(primitives, expected):
    registry = Registry()
    for primitive in primitives:
        registry.register(primitive)

    assert registry.has_completers is expected


def test_kinds_know_their_class():
    assert [kind.primitive for kind in Kind] == [
        ToolDefinition,
        PromptDefinition,
        ResourceDefinition,
        ResourceTemplateDefinition,
    ]


def test_threads_register_without_losing_anything():
    registry = Registry()

    def register(start):
        for number in range(start, start + 50):
            registry.register(ToolDefinition.from_function(add, name=f"tool{number}"))

    threads = [threading.Thread(target=register, args=(start,)) for start in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(registry.tools) == 200
    assert registry.version == 200


def test_the_same_function_with_another_schema_is_another_tool():
    """Which of the two would be published must not depend on the order of imports."""

    def save(**fields: object) -> str:
        return "saved"

    assert save(name="x") == "saved"
    registry = Registry()
    properties = {"type": "object", "properties": {"name": {"type": "string"}}}
    registry.register(ToolDefinition.from_function(save, input_schema=properties))
    registry.register(ToolDefinition.from_function(save, input_schema=properties))
    with pytest.raises(AlreadyRegistered):
        registry.register(ToolDefinition.from_function(save, input_schema={"type": "object"}))
    with pytest.raises(AlreadyRegistered):
        registry.register(ToolDefinition.from_function(save, input_schema=properties, output_schema={"type": "object"}))
