"""What a client's report has to say, whatever the way it took."""

from tests.wire.client import META

from .drivers import STEPS, Report
from .inspector import CALLS, PROMPTS, READS

MODES = ("legacy", "auto", "2026-07-28")
LATEST_LEGACY, LATEST = "2025-11-25", "2026-07-28"
# Releases of the SDKs that are still around, and the revision each of them asks for.
OLD_PYTHON = {"1.9.4": "2025-03-26", "1.16.0": "2025-06-18"}
OLD_TYPESCRIPT = {"sdk-1.10.2": "2024-11-05", "sdk-1.12.3": "2025-03-26", "sdk-1.17.5": "2025-06-18"}
# What the first revision knows no sounds for.
NO_SOUND = {"content": [{"type": "text", "text": "[audio, audio/wav]"}], "isError": False}


def check_old(report: Report, revision: str) -> None:
    assert report["revision"] == revision
    if revision == "2024-11-05":
        [sound] = [number for number, step in enumerate(STEPS["calls"]) if step["name"] == "test_audio_content"]
        assert report["calls"][sound] == NO_SOUND
        report["calls"][sound] = STEPS["calls"][sound]["expected"]
    check({**report, "revision": LATEST_LEGACY}, "legacy")


def check(report: Report, mode: str) -> None:
    is_legacy = mode == "legacy"
    assert report["revision"] == (LATEST_LEGACY if is_legacy else LATEST)
    for kind, names in STEPS["listed"].items():
        known = [name for name in report["listed"][kind] if name in names]
        assert known == names, kind
    for part in ("calls", "reads", "prompts", "completions"):
        assert report[part] == [step["expected"] for step in STEPS[part]], part
    assert report["errors"] == STEPS["errors"]["legacy" if is_legacy else "modern"]


def check_typescript(report: Report, package: str, mode: str) -> None:
    if package == "client" and mode == "legacy":
        # This client turns -32002 into the modern code by itself.
        assert report["errors"].pop("resource") == -32602
        report["errors"]["resource"] = -32002
    check(report, mode)


def check_inspector(report: Report, mode: str) -> None:
    """It shows results whole, and nothing of how it came by them: only modern ones name the server."""
    for kind, names in STEPS["listed"].items():
        assert [name for name in report["listed"][kind] if name in names] == names, kind
    expected = [
        *(step["expected"] for step in CALLS),
        *({"contents": step["expected"]} for step in READS),
        *({"messages": step["expected"]} for step in PROMPTS),
    ]
    for result, part in zip(report["results"], expected, strict=True):
        assert {name: result[name] for name in part} == part
        assert (f"{META}serverInfo" in result.get("_meta", {})) == (mode != "legacy")
