import pytest

from django_mcp.protocol.results import CACHEABLE, CacheHint, Implementation, shape
from django_mcp.protocol.versions import LEGACY, Revision

MODERN = Revision.V2026_07_28
INFO = {"name": "clinic", "version": "2.1"}


class Icon:
    def to_wire(self, revision):
        return {"src": "https://example.com/icon.png"}


class Lazy:
    def __str__(self):
        return "translated"


FULL = Implementation(
    name="clinic",
    version="2.1",
    title=Lazy(),
    description=Lazy(),
    website_url="https://example.com",
    icons=(Icon(),),
)
DETAILS = {
    "description": "translated",
    "websiteUrl": "https://example.com",
    "icons": [{"src": "https://example.com/icon.png"}],
}


@pytest.mark.parametrize(
    ("revision", "more"),
    [
        (Revision.V2024_11_05, {}),
        (Revision.V2025_03_26, {}),
        (Revision.V2025_06_18, {"title": "translated"}),
        (Revision.V2025_11_25, {"title": "translated", **DETAILS}),
        (Revision.V2026_07_28, {"title": "translated", **DETAILS}),
    ],
)
def test_the_server_is_described_as_the_revision_knows_it(revision, more):
    """S20, INIT-05, ICON-01"""
    assert FULL.to_wire(revision) == {**INFO, **more}


@pytest.mark.parametrize("revision", Revision)
def test_a_server_needs_a_name_and_a_version_only(revision):
    assert Implementation(name="clinic", version="2.1").to_wire(revision) == INFO


@pytest.mark.parametrize("ttl_ms", [-1, 1.5, True, "5", None])
def test_a_time_to_live_is_a_whole_number(ttl_ms):
    """CACHE-01"""
    with pytest.raises(ValueError, match=r"whole number of milliseconds.*\.$"):
        CacheHint(ttl_ms=ttl_ms)


@pytest.mark.parametrize("scope", ["shared", "PUBLIC", None])
def test_a_scope_is_private_or_public(scope):
    """CACHE-01"""
    with pytest.raises(ValueError, match=rf"scope={scope!r}.*\.$"):
        CacheHint(scope=scope)


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("result", [{}, {"tools": []}, {"_meta": {"x": 1}}])
def test_legacy_results_stay_as_they_are(revision, result):
    """RPC-16"""
    before = {**result}

    assert shape("tools/list", result, revision, INFO, CacheHint(ttl_ms=5)) == before


@pytest.mark.parametrize("method", sorted(CACHEABLE))
def test_cacheable_results_carry_their_hint(method):
    """CACHE-01, RPC-15, META-06"""
    assert shape(method, {"a": 1}, MODERN, INFO, CacheHint(ttl_ms=5, scope="public")) == {
        "resultType": "complete",
        "a": 1,
        "ttlMs": 5,
        "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    }


def test_without_a_hint_nothing_may_be_kept_or_shared():
    """CACHE-04"""
    shaped = shape("tools/list", {}, MODERN, None, None)

    assert shaped == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def test_a_hint_of_the_handler_wins():
    result = {"ttlMs": 9, "cacheScope": "public"}

    assert shape("resources/read", result, MODERN, None, None) == {"resultType": "complete", **result}


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete", "x/y"])
def test_other_results_carry_no_hint(method):
    """CACHE-02, PRM-08"""
    assert shape(method, {}, MODERN, None, CacheHint(ttl_ms=5)) == {"resultType": "complete"}


def test_a_question_carries_no_hint():
    """CACHE-02, MRTR-18"""
    result = {"resultType": "input_required", "requestState": "s"}

    assert shape("resources/read", result, MODERN, None, CacheHint(ttl_ms=5)) == result


def test_the_meta_of_the_handler_stays():
    """META-13"""
    result = {"_meta": {"com.example/x": 1}}

    shaped = shape("tools/call", result, MODERN, INFO, None)

    assert shaped["_meta"] == {"io.modelcontextprotocol/serverInfo": INFO, "com.example/x": 1}
    assert result == {"_meta": {"com.example/x": 1}}
