import pytest

from django_mcp.protocol.capabilities import Offer, client_supports, missing, to_wire
from django_mcp.protocol.versions import Revision

EVERYTHING = Offer(
    tools=True,
    prompts=True,
    resources=True,
    completions=True,
    logging=True,
    list_changed=True,
    subscribe=True,
    extensions={"io.modelcontextprotocol/ui": {}},
    experimental={"com.example/x": {}},
)


@pytest.mark.parametrize("revision", Revision)
def test_what_is_not_offered_is_not_advertised(revision):
    """INIT-06, DISC-05"""
    assert to_wire(Offer(), revision) == {}


@pytest.mark.parametrize("revision", Revision)
def test_capabilities_without_notifications_are_empty_objects(revision):
    assert to_wire(Offer(tools=True, prompts=True, resources=True), revision) == {
        "tools": {},
        "prompts": {},
        "resources": {},
    }


def test_a_modern_revision_sees_everything():
    """DISC-06"""
    assert to_wire(EVERYTHING, Revision.V2026_07_28) == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
        "logging": {},
        "experimental": {"com.example/x": {}},
        "extensions": {"io.modelcontextprotocol/ui": {}},
    }


def test_legacy_revisions_have_no_extensions():
    assert "extensions" not in to_wire(EVERYTHING, Revision.V2025_11_25)


def test_the_first_revision_has_no_completions_capability():
    """CMP-01"""
    assert "completions" not in to_wire(EVERYTHING, Revision.V2024_11_05)
    assert "completions" in to_wire(EVERYTHING, Revision.V2025_03_26)


def test_subscribing_and_list_changes_are_independent():
    """RES-01"""
    assert to_wire(Offer(resources=True, subscribe=True), Revision.V2025_11_25) == {"resources": {"subscribe": True}}


@pytest.mark.parametrize(
    ("declared", "required", "lacking"),
    [
        ({}, {}, {}),
        ({"sampling": {}}, {"sampling": {}}, {}),
        ({"sampling": {}, "roots": {"listChanged": True}, "x": 1}, {"roots": {}}, {}),
        ({}, {"sampling": {}}, {"sampling": {}}),
        ({"sampling": {}}, {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": {"context": {}}}, {"sampling": {"tools": {}}}, {"sampling": {"tools": {}}}),
        ({"sampling": None}, {"sampling": {}}, {"sampling": {}}),
        ({"sampling": True}, {"sampling": {}}, {"sampling": {}}),
        ({"sampling": {}}, {"sampling": {}, "roots": {}}, {"roots": {}}),
        (
            {"extensions": {"com.example/x": {}}},
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        ),
        ({"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}, {}),
        ({"roots": {"listChanged": False}}, {"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}),
        # ELI-02: without a mode it is form, url alone is not form.
        ({"elicitation": {}}, {"elicitation": {"form": {}}}, {}),
        ({"elicitation": {}}, {"elicitation": {}}, {}),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}, {}),
        ({"elicitation": {}}, {"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}, {"elicitation": {"form": {}}}),
        ({}, {"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": []}, {"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}, "form": {}}}, {"elicitation": {"form": {}, "url": {}}}, {}),
    ],
)
def test_what_the_client_did_not_declare_is_missing(declared, required, lacking):
    """S51, META-07, META-08"""
    assert missing(declared, required) == lacking


def test_a_capability_is_asked_for_by_its_path():
    declared: dict[str, dict] = {"sampling": {"tools": {}}, "elicitation": {}}

    assert client_supports(declared, "sampling")
    assert client_supports(declared, "sampling", "tools")
    assert not client_supports(declared, "sampling", "context")
    assert not client_supports(declared, "roots")
    assert client_supports(declared, "elicitation", "form")
    assert not client_supports(declared, "elicitation", "url")
