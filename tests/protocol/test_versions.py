import pytest

from django_mcp.protocol import versions
from django_mcp.protocol.versions import Era, Revision, negotiate

# The rows of the feature matrix (checklist section 33) that are yes or no: 24, 03, 06, 11, M.
FEATURES = {
    "is_modern": "00001",
    "has_batches": "01000",
    "has_annotations": "01111",
    "has_audio": "01111",
    "has_progress_message": "01111",
    "has_completions_capability": "01111",
    "has_titles": "00111",
    "has_item_meta": "00111",
    "has_resource_links": "00111",
    "has_last_modified": "00111",
    "has_output_schema": "00111",
    "has_completion_context": "00111",
    "has_icons": "00011",
    "has_server_details": "00011",
    "has_form_modes": "00011",
    "has_event_ids": "01110",
    "has_priming": "00010",
    "has_any_structured": "00001",
    "has_param_headers": "00001",
    "has_capability_error": "00001",
    "has_server_info": "00001",
}


@pytest.mark.parametrize(("name", "expected"), FEATURES.items())
def test_features_follow_the_matrix(name, expected):
    assert [getattr(revision, name) for revision in Revision] == [flag == "1" for flag in expected]


def test_every_feature_is_in_the_matrix():
    flags = {name for name in Revision.__annotations__ if name != "era"}

    assert flags == set(FEATURES)


def test_a_revision_is_its_name():
    assert isinstance(Revision.V2025_06_18, str)
    assert str(Revision.V2025_06_18) == "2025-06-18"
    assert Revision("2025-06-18") is Revision.V2025_06_18


def test_eras_split_the_revisions():
    assert [revision.era for revision in versions.LEGACY] == [Era.LEGACY] * 4
    assert [revision.era for revision in versions.MODERN] == [Era.MODERN]
    assert versions.LEGACY + versions.MODERN == versions.ALL
    assert versions.LATEST_LEGACY is Revision.V2025_11_25
    assert versions.LATEST is Revision.V2026_07_28


def test_requests_that_name_no_version_are_read_as_2025_03_26():
    """VER-09"""
    assert versions.DEFAULT_LEGACY is Revision.V2025_03_26


@pytest.mark.parametrize("text", ["", "2025-06-18 ", "2025-6-18", "latest", "V2025_06_18"])
def test_only_exact_names_are_found(text):
    assert Revision.find("2025-06-18") is Revision.V2025_06_18
    assert Revision.find(text) is None


@pytest.mark.parametrize("revision", versions.LEGACY)
def test_a_supported_legacy_version_is_echoed(revision):
    """INIT-03, BL-047"""
    assert negotiate(revision.value) is revision


@pytest.mark.parametrize("requested", ["2026-07-28", "9999-12-31", "abc", ""])
def test_what_has_no_handshake_is_answered_by_the_newest_that_has(requested):
    """INIT-03, VER-12, BL-047"""
    assert negotiate(requested) is Revision.V2025_11_25
