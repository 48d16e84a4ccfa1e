"""The lists of requirements agree with each other and with what tests cite."""

import subprocess
import sys

from tests.spec.ids import SPEC, ids_in, read_citations, read_groups, read_not_applicable, texts_of
from tests.spec.report import report


def known() -> list[str]:
    return [id for group in read_groups() for id in group.ids]


def test_every_id_is_there_once():
    ids = known()
    assert len(ids) == len(set(ids))
    sizes: dict[str, int] = {}
    for group in read_groups():
        sizes[group.part] = sizes.get(group.part, 0) + len(group.ids)
    assert sizes == {"checklist": 479, "ruby": 372, "bugs": 94}


def test_tests_cite_no_unknown_ids():
    cited = read_citations()
    assert {id: cited[id] for id in sorted(set(cited) - set(known()))} == {}


def test_what_does_not_apply_is_known_and_not_covered_and_has_a_reason():
    reasons = read_not_applicable()
    assert set(reasons) <= set(known())
    assert sorted(set(reasons) & set(read_citations())) == []
    assert all(len(reason) > 10 for reason in reasons.values())


def test_ids_are_found_in_docstrings_and_comments_with_their_ranges():
    source = '"""RPC-04, PAG-01..03 and S9-S11, but not UTF-16 or W001."""\nx = "RPC-05"  # VER-03 to VER-04\n' + (
        "y = 1  # " + "noqa: S608\n"
    )
    found = [id for text in texts_of(source) for id in ids_in(text, {"RPC-", "PAG-", "VER-", "S", "W"})]
    assert found == ["RPC-04", "PAG-01", "PAG-02", "PAG-03", "S9", "S10", "S11", "VER-03", "VER-04"]


def test_the_report_has_a_line_for_every_id_and_adds_up():
    lines = report()
    states = {line[:10].strip(): line[10:26].strip() for line in lines[: len(known())]}
    assert list(states) == known()
    assert states["RPC-04"] == "covered"
    assert states["C1"] == "not applicable"
    opened = report("open")
    assert opened[: opened.index("")] == [line for line in lines if line[10:26].strip() == "open"]
    assert [line.split()[:2] for line in lines[-3:]] == [["checklist", "479"], ["ruby", "372"], ["bugs", "94"]]


def test_it_runs_as_a_script():
    run = subprocess.run(
        [sys.executable, SPEC / "report.py", "open"], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.splitlines()[-1].startswith("bugs ")
