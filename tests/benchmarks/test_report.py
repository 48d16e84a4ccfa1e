"""What a run has found, as a table and as JSON."""

import json

import pytest

from benchmarks.environments import MCPZ, SDK
from benchmarks.probes import MILLISECONDS
from benchmarks.report import BEGIN, END, PAGE, as_json, as_markdown, processor, write_page
from benchmarks.targets import FLOOR, OURS
from tests.benchmarks.fakes import fake_row

REPORT = {
    "python": "3.13.0",
    "processor": "some processor",
    "versions": {OURS: {"django": "6.1", "uvicorn": "0.54"}},
    "uvicorn": "--loop uvloop",
    "pinned": True,
    "load": "wrk",
    "connections": 16,
    "rounds": 3,
    "seconds": 2.0,
}


def table(*rows):
    return [line for line in as_markdown(rows, REPORT).splitlines() if line.startswith("|")]


def test_a_row_shows_medians_the_spread_and_how_many_times_as_fast_ours_is():
    ours = fake_row(samples=[(3900, 110.0), (4000, 100.0), (4300, 90.0)])
    peer = fake_row("group/sdk", product=SDK, samples=[(1000, 500.0)] * 3)
    floor = fake_row("group/floor", product=FLOOR, how="ASGI", samples=[(8000, None)] * 3)
    assert table(ours, peer, floor)[2:] == [
        "| group | django-mcp-sdk, uvicorn | 4,000 | ±5% | 100 |  |  |",
        "|  | Python SDK 2.3.0, uvicorn | 1,000 | ±0% | 500 | 4.0x | 5.0x |",
        "|  | floor, ASGI | 8,000 | ±0% | - | 0.50x |  |",
    ]


def test_a_row_without_numbers_shows_why():
    absent = fake_row("group/mcpz", product=MCPZ, absent="has no stdio")
    assert table(fake_row(samples=[(1, 1.0)]), absent)[-1] == "|  | django-mcpz 1.2.0: has no stdio | - |  |  |  |  |"


def test_without_a_row_of_ours_nothing_is_compared():
    assert table(fake_row(product=SDK, samples=[(1000, 400.0)]))[-1].endswith("| 400 |  |  |")


def test_what_takes_milliseconds_has_a_table_of_its_own_where_less_is_better():
    calls = fake_row(group="calls", samples=[(100, 1.0)])
    ours = fake_row(group="start", unit=MILLISECONDS, samples=[(400, 350_000.0)])
    peer = fake_row("start/sdk", group="start", product=SDK, unit=MILLISECONDS, samples=[(1000, 900_000.0)])
    lines = table(calls, ours, peer)
    assert [line.split(" | ")[2] for line in lines if line.startswith("| what")] == ["calls/s", "ms"]
    assert lines[-1] == "|  | Python SDK 2.3.0, uvicorn | 1,000 | ±0% | 900 | 2.5x | 2.6x |"


def test_the_table_says_how_it_was_measured():
    text = as_markdown([fake_row(samples=[(1, 1.0)])], REPORT)
    assert "Medians of 3 rounds of 2 s, 16 connections of wrk.\nPython 3.13.0, django 6.1, uvicorn 0.54;\n" in text
    assert text.endswith("some processor, a core for each side.\n")
    assert "cores not pinned" in as_markdown([], {**REPORT, "pinned": False})


def test_the_json_holds_every_round():
    rows = [fake_row(samples=[(10.04, 1.26), (20, None)]), fake_row("group/mcpz", product=MCPZ, absent="no")]
    report = json.loads(json.dumps(as_json(rows, 2, 1.0)))
    measured, absent = report["rows"]
    assert measured["rounds"] == [10.0, 20]
    assert measured["cpu_microseconds"] == [1.3, None]
    assert measured["unit"] == "calls/s"
    assert absent == {
        "name": "group/mcpz",
        "group": "group",
        "server": "django-mcpz 1.2.0",
        "how": "uvicorn",
        "absent": "no",
    }
    assert report["versions"].keys() == {OURS}
    assert "django" in report["versions"][OURS]


def test_the_page_takes_the_table_between_its_marks_again_and_again(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    for new in ("| first |\n", "| second |\n"):
        write_page(new, page)
    assert page.read_text() == f"before\n\n{BEGIN}\n\n| second |\n\n{END}\n\nafter\n"


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_a_page_without_its_marks_is_left_alone(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=r"page\.md needs one line '<!-- benchmarks: begin -->'"):
        write_page("new", page)
    assert page.read_text() == text


def test_the_page_of_the_documentation_has_the_marks(tmp_path):
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text())
    write_page("| new |", copy)
    assert "| new |" in copy.read_text()


def test_the_processor_has_the_name_that_the_system_gives_it(tmp_path):
    told = tmp_path / "cpuinfo"
    told.write_text("processor\t: 0\nmodel name\t: Fast 3000\n")
    assert processor(told) == "Fast 3000"
    told.write_text("processor\t: 0\n")
    assert processor(told) == processor(tmp_path / "missing") != ""
